package grpc

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	"a2a-server/a2a/internal/wire"
)

// The details of an error fit into the metadata that clients accept: the first mistakes and
// the reasons are kept. The SDK for Go takes the kind of an error from the last ErrorInfo, whatever
// its domain.
func TestErrorFitsIntoMetadata(t *testing.T) {
	t.Parallel()
	wrong := wire.ErrInvalidParams.Saying(strings.Repeat("語", 3000))
	wrong.Own = "APPROVAL_UNKNOWN"
	wrong.Metadata = map[string]string{"large": strings.Repeat("語", 3000), "small": "x"}
	for i := range 100 {
		wrong.Violations = append(wrong.Violations, wire.Violation{Field: fmt.Sprint("field", i), Description: strings.Repeat("語", 500)})
	}
	st := statusOf(wrong)
	if size := proto.Size(st.Proto()); size > maxStatus || size < maxStatus/2 {
		t.Errorf("the error has %d bytes, want most of %d", size, maxStatus)
	}
	infos, fields, last := 0, 0, &errdetails.ErrorInfo{}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			infos, last = infos+1, d
		case *errdetails.BadRequest:
			fields = len(d.GetFieldViolations())
			if first := d.GetFieldViolations()[0].GetField(); first != "field0" {
				t.Errorf("the first mistake is in %s", first)
			}
		}
	}
	if infos != 2 || fields == 0 || last.GetReason() != "INVALID_PARAMS" || last.GetDomain() != "a2a-protocol.org" {
		t.Errorf("%d reasons and %d mistakes are left, and the last reason is %v", infos, fields, last)
	}
}
