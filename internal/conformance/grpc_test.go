package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// spoken makes calls of gRPC as one caller (§10; 0.3: §3.2.2), with the generated messages of the
// SDKs, which ProtoJSON reads and writes.
type spoken struct {
	conn *grpc.ClientConn
	by   caller
	form
	service    protoreflect.ServiceDescriptor
	extensions string // the key of extensions
}

func connectGRPC(w *world, by caller, f form) carrier {
	if f.old {
		return &spoken{w.conn, by, f, oldpb.File_a2a_proto.Services().ByName("A2AService"), "x-a2a-extensions"}
	}
	return &spoken{w.conn, by, f, pb.File_a2av1_proto.Services().ByName("A2AService"), "a2a-extensions"}
}

// made returns a message of a type.
func made(d protoreflect.MessageDescriptor) proto.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic(err) // both packages are imported
	}
	return t.New().Interface()
}

// message returns a call's method, its message, and the type of the answer.
func (c *spoken) message(r request) (method string, in proto.Message, out protoreflect.MessageDescriptor, err error) {
	name, params := operations[r.op].grpc, maps.Clone(r.params)
	if name == "" || !c.old {
		name = r.op
	}
	if params == nil {
		params = map[string]any{}
	}
	push := strings.Contains(r.op, "Push")
	switch resource := "tasks/" + r.task; {
	case r.task == "":
	case !c.old && push:
		params["taskId"] = r.task
		put(params, "id", r.config)
	case !c.old:
		params["id"] = r.task
	case push && r.config == "":
		params["parent"] = resource
	case push:
		params["name"] = resource + "/pushNotificationConfigs/" + r.config
	default:
		params["name"] = resource
	}
	for _, since := range []string{"statusTimestampAfter", "lastUpdatedTime"} {
		text, is := params[since].(string)
		if _, err := time.Parse(time.RFC3339, text); is && err != nil {
			return "", nil, nil, errNotOffered // it cannot be said
		}
	}
	m := c.service.Methods().ByName(protoreflect.Name(name))
	in = made(m.Input())
	if err := protojson.Unmarshal(encode(params), in); err != nil {
		return "", nil, nil, fmt.Errorf("encode %s: %w", name, err)
	}
	return "/" + string(c.service.FullName()) + "/" + name, in, m.Output(), nil
}

// jsonOf returns a message as ProtoJSON. It may have no fields that its type does not have.
func jsonOf(m proto.Message) (json.RawMessage, error) {
	if err := unheard(m.ProtoReflect()); err != nil {
		return nil, err
	}
	return protojson.Marshal(m)
}

// unheard returns an error if a message has fields that its type does not have.
func unheard(m protoreflect.Message) (err error) {
	if raw := m.GetUnknown(); len(raw) > 0 {
		return fmt.Errorf("%s has unknown fields: %x", m.Descriptor().FullName(), raw)
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := 0; i < v.List().Len() && err == nil; i++ {
				err = unheard(v.List().Get(i).Message())
			}
		case !f.IsMap():
			err = unheard(v.Message())
		case f.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				err = unheard(v.Message())
				return err == nil
			})
		}
		return err == nil
	})
	return err
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
	if len(details) == 0 && s.Code() == codes.ResourceExhausted {
		return &fault{Name: "REQUEST_TOO_LARGE"} // likewise
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
	if f, is := err.(*fault); is && c.old {
		return f.ofProto03()
	}
	return err
}

func (c *spoken) call(ctx context.Context, r request) ([]byte, error) {
	method, in, to, err := c.message(r)
	if err != nil {
		return nil, err
	}
	var header metadata.MD
	out := made(to)
	err = c.conn.Invoke(c.says(ctx), method, in, out, grpc.Header(&header))
	c.heard(header)
	if err != nil {
		return nil, c.fault(err)
	}
	return jsonOf(out)
}

func (c *spoken) follow(ctx context.Context, r request, _ string, read func([]byte) (*event, error)) *stream {
	method, req, to, err := c.message(r)
	if err != nil {
		return broken(err)
	}
	ctx, cancel := context.WithCancel(c.says(ctx))
	in, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err == nil {
		err = in.SendMsg(req)
	}
	if err == nil {
		err = in.CloseSend()
	}
	if err != nil {
		cancel()
		return broken(c.fault(err))
	}
	first := true
	return &stream{
		next: func() (*event, error) {
			got := made(to)
			err := in.RecvMsg(got)
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
			raw, err := jsonOf(got)
			if err != nil {
				return nil, err
			}
			return read(raw)
		},
		close: cancel,
	}
}

func (c *spoken) garbled(ctx context.Context, r request, how garble) error {
	var raw []byte
	if how == notEncoded || how == cut {
		raw = []byte{0x12, 0x7f, 0x0a}
	} else if how != unknownCall {
		return errNotOffered // protobuf cannot say it
	}
	var out []byte
	return c.fault(c.conn.Invoke(c.says(ctx), "/"+string(c.service.FullName())+"/"+r.op, &raw, &out, grpc.ForceCodec(asIs{})))
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
