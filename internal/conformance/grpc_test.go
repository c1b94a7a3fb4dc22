package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
)

// spoken makes calls of gRPC as one caller.
type spoken struct {
	conn *grpc.ClientConn
	by   caller
	// extensions is the key of extensions.
	extensions string
}

// says returns the context of a call.
func (c *spoken) says(ctx context.Context) context.Context {
	var pairs []string
	if c.by.key != "" {
		pairs = append(pairs, "x-api-key", c.by.key)
	}
	if c.by.version != nil {
		pairs = append(pairs, "a2a-version", *c.by.version)
	}
	if len(c.by.extensions) > 0 {
		pairs = append(pairs, c.extensions, strings.Join(c.by.extensions, ", "))
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

// heard tells the extensions that an answer lists.
func (c *spoken) heard(header metadata.MD) {
	if c.by.activated == nil {
		return
	}
	var active []string
	for _, line := range header.Get(c.extensions) {
		for uri := range strings.SplitSeq(line, ",") {
			active = append(active, strings.TrimSpace(uri))
		}
	}
	c.by.activated(active)
}

// faultOfStatus returns the fault that the error of a call is.
func faultOfStatus(err error) error {
	s, ok := grpcstatus.FromError(err)
	if !ok || err == nil {
		return err
	}
	var details []detail
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			details = append(details, detail{Type: "type.googleapis.com/google.rpc.ErrorInfo", Domain: d.GetDomain(), Reason: d.GetReason(), Metadata: d.GetMetadata()})
		case *errdetails.BadRequest:
			one := detail{Type: "type.googleapis.com/google.rpc.BadRequest"}
			for _, v := range d.GetFieldViolations() {
				one.FieldViolations = append(one.FieldViolations, struct {
					Field       string `json:"field"`
					Description string `json:"description"`
				}{v.GetField(), v.GetDescription()})
			}
			details = append(details, one)
		case *errdetails.RetryInfo: // as Retry-After
		default:
			return fmt.Errorf("the error %w has a detail of the type %T", err, d)
		}
	}
	if len(details) == 0 && s.Code() == codes.Unimplemented {
		return &fault{Name: "METHOD_NOT_FOUND", Message: s.Message()} // the library's own
	}
	f, wrong := faultOf(s.Message(), details)
	if wrong != nil {
		return wrong
	}
	if want := faults[f.Name].grpc; s.Code() != want {
		return fmt.Errorf("the code of %s is %s, want %s", f.Name, s.Code(), want)
	}
	return f
}

// fault returns the fault that the error of a call is.
func (c *spoken) fault(err error) error {
	err = faultOfStatus(err)
	//nolint:errorlint // the fault itself is looked for
	if f, is := err.(*fault); is && strings.HasPrefix(c.extensions, "x-") {
		return f.ofProto03()
	}
	return err
}

// asking makes a call with one answer.
func asking[Q, A any](ctx context.Context, c *spoken, call func(context.Context, *Q, ...grpc.CallOption) (*A, error), req *Q) (*A, error) {
	var header metadata.MD
	out, err := call(c.says(ctx), req, grpc.Header(&header))
	c.heard(header)
	if err != nil {
		return nil, c.fault(err)
	}
	return out, nil
}

// following makes a call that streams.
func following[Q, A any](ctx context.Context, c *spoken, call func(context.Context, *Q, ...grpc.CallOption) (grpc.ServerStreamingClient[A], error), req *Q, from func(*A) (*event, error)) *stream {
	ctx, cancel := context.WithCancel(c.says(ctx))
	in, err := call(ctx, req)
	if err != nil {
		cancel()
		return broken(c.fault(err))
	}
	first := true
	return &stream{
		next: func() (*event, error) {
			got, err := in.Recv()
			if first {
				first = false
				if header, wrong := in.Header(); wrong == nil {
					c.heard(header)
				}
			}
			if errors.Is(err, io.EOF) {
				return nil, io.EOF
			}
			if err != nil {
				return nil, c.fault(err)
			}
			return from(got)
		},
		close: cancel,
	}
}

// garbledCall sends a message that is broken.
func (c *spoken) garbledCall(ctx context.Context, service string, how garble) error {
	var raw []byte
	method := "/" + service + "/SendMessage"
	switch how {
	case unknownCall:
		method = "/" + service + "/ForgetTask"
	case notEncoded, cut:
		raw = []byte{0x12, 0x7f, 0x0a}
	case wrongType, wrongScalar, duplicateName, notUTF8, hugeNumber, notDeclared, unknownField, noRequest, wrongMethod:
		return errNotOffered // protobuf cannot say it
	}
	var out []byte
	return c.fault(c.conn.Invoke(c.says(ctx), method, &raw, &out, grpc.ForceCodec(asIs{})))
}

// asIs is the codec of messages that are bytes.
type asIs struct{}

func (asIs) Name() string { return "proto" }

func (asIs) Marshal(v any) ([]byte, error) {
	raw, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("a %T", v)
	}
	return *raw, nil
}

func (asIs) Unmarshal(data []byte, v any) error {
	raw, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("a %T", v)
	}
	*raw = data
	return nil
}
