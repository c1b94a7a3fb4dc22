package a2a

import (
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
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
