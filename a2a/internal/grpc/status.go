package grpc

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"a2a-server/a2a/internal/wire"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// maxStatus is how large the details of an error may be over gRPC, in bytes. They are in
// the metadata, of which several clients accept no more than 8 KiB, and a half more is
// added by their encoding.
const maxStatus = 4 << 10

// codeOf returns the code of an error.
func codeOf(e *wire.Error) codes.Code {
	var c codes.Code
	if c.UnmarshalJSON([]byte(strconv.Quote(e.GRPC))) != nil {
		return codes.Internal
	}
	return c
}

// statusOf returns the error of a call: with the same details as in the other bindings, but
// fewer of them if they are too large for metadata.
func statusOf(e *wire.Error) *status.Status {
	e = e.Limited()
	if text := []rune(e.Message); len(text) > maxStatus/8 {
		e.Message = string(text[:maxStatus/8]) + "…"
	}
	for {
		st := status.New(codeOf(e), e.Message).Proto()
		for _, d := range protoDetails(e) {
			in := &anypb.Any{}
			// Equal errors have equal bytes.
			if err := anypb.MarshalFrom(in, d, proto.MarshalOptions{Deterministic: true}); err != nil { // cannot happen: its strings are valid
				return status.New(codes.Internal, wire.ErrInternal.Message)
			}
			st.Details = append(st.Details, in)
		}
		if proto.Size(st) <= maxStatus || !drop(e) {
			return status.FromProto(st)
		}
	}
}

// drop removes the least useful detail, and reports whether there was a detail.
func drop(e *wire.Error) bool {
	if n := len(e.Violations); n > 1 {
		e.Violations = e.Violations[:n/2]
		return true
	}
	longest := ""
	for name, value := range e.Metadata {
		if len(value) > len(e.Metadata[longest]) || longest == "" {
			longest = name
		}
	}
	if longest != "" {
		delete(e.Metadata, longest)
		return true
	}
	had := len(e.Violations) > 0
	e.Violations = nil
	return had
}

// protoDetails returns the details of every binding as messages, and when to retry. A2A's ErrorInfo is
// the last of its kind: the SDK for Go takes the last, whatever its domain, and other SDKs
// look for A2A's domain or reasons.
func protoDetails(e *wire.Error) []proto.Message {
	var all []proto.Message
	for _, d := range e.Details() {
		switch d := d.(type) {
		case wire.ErrorInfo:
			all = slices.Insert(all, 0, proto.Message(&errdetails.ErrorInfo{Reason: d.Reason, Domain: d.Domain, Metadata: d.Metadata}))
		case wire.BadRequest:
			b := &errdetails.BadRequest{}
			for _, v := range d.FieldViolations {
				b.FieldViolations = append(b.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: v.Field, Description: v.Description})
			}
			all = append(all, b)
		}
	}
	if e.Retries() {
		all = append(all, &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Duration(max(1, e.After)) * time.Second)})
	}
	return all
}

// refuse returns the status of a call that fails with err, and sets its challenges.
func (c *rpc) refuse(err error) error {
	switch cause := context.Cause(c.ctx); {
	case errors.Is(cause, httpd.ErrEnded):
		err = c.service.Requests.Ended()
	case c.opened && (errors.Is(cause, httpd.ErrStopping) || errors.Is(err, httpd.ErrStopping) || errors.Is(err, engine.ErrBusy)):
		err = errResume
	case c.ctx.Err() == nil || errors.As(err, new(*wire.Error)) || errors.As(err, new(*engine.RecordedError)), errors.Is(err, httpd.ErrStopping) && errors.Is(err, engine.ErrUncertain):
	case errors.Is(cause, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, "the deadline of the call has passed")
	case errors.Is(cause, context.Canceled):
		return status.Error(codes.Canceled, "the call was canceled")
	case errors.Is(cause, httpd.ErrStopping):
		err = httpd.ErrStopping
	}
	w := c.service.WireError(c.ctx, err, c.method)
	if len(w.Challenges) > 0 {
		c.ss.SetTrailer(metadata.MD{"www-authenticate": w.Challenges})
	}
	return statusOf(w).Err()
}
