package a2a

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
)

// The SDK for Go takes the kind of an error from the last ErrorInfo, whatever its domain.
func TestGRPCErrorEndsWithReasonOfA2A(t *testing.T) {
	t.Parallel()
	var last *errdetails.ErrorInfo
	n := 0
	wrong := errInvalidParams.saying("")
	wrong.own = "APPROVAL_UNKNOWN"
	for _, d := range wrong.protoDetails() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			last, n = info, n+1
		}
	}
	if n != 2 || last.GetReason() != "INVALID_PARAMS" || last.GetDomain() != "a2a-protocol.org" {
		t.Errorf("the last of %d ErrorInfo = %v, want A2A's", n, last)
	}
}

// The details of an error fit into the metadata that clients accept: the first mistakes and
// the reasons are kept.
func TestErrorFitsIntoMetadata(t *testing.T) {
	t.Parallel()
	wrong := errInvalidParams.saying(strings.Repeat("語", 3000))
	wrong.own = "APPROVAL_UNKNOWN"
	wrong.metadata = map[string]string{"large": strings.Repeat("語", 3000), "small": "x"}
	for i := range 100 {
		wrong.violations = append(wrong.violations, violation{fmt.Sprint("field", i), strings.Repeat("語", 500)})
	}
	st := wrong.toStatus()
	if size := proto.Size(st.Proto()); size > maxStatus || size < maxStatus/2 {
		t.Errorf("the error has %d bytes, want most of %d", size, maxStatus)
	}
	infos, fields := 0, 0
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			infos++
		case *errdetails.BadRequest:
			fields = len(d.GetFieldViolations())
			if first := d.GetFieldViolations()[0].GetField(); first != "field0" {
				t.Errorf("the first mistake is in %s", first)
			}
		}
	}
	if infos != 2 || fields == 0 {
		t.Errorf("%d reasons and %d mistakes are left", infos, fields)
	}
}
