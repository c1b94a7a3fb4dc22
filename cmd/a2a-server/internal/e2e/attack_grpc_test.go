package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	_ "github.com/a2aproject/a2a-go/a2apb" // the messages of A2A 0.3
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"a2a-server/auth"
)

// overGRPC is the method of a request that is a call of gRPC: its path is the method, and its
// body the message in JSON.
const overGRPC = "GRPC"

// unsent is the body of a call whose message is never sent.
const unsent = "unsent"

func putGRPC(op attackOperation, task string) (method, path, body string) {
	return overGRPC, "/lf.a2a.v1.A2AService/" + op.name, strings.ReplaceAll(op.params, "{id}", task)
}

// oldNames are the methods of A2A 0.3 that have another name in gRPC.
var oldNames = map[string]string{
	"SubscribeToTask": "TaskSubscription", "ListTaskPushNotificationConfigs": "ListTaskPushNotificationConfig", "GetExtendedAgentCard": "GetAgentCard",
}

func putOldGRPC(op attackOperation, task string) (method, path, body string) {
	name := op.name
	if other := oldNames[name]; other != "" {
		name = other
	}
	switch {
	case strings.HasPrefix(op.name, "Create"):
		op.params = `{"parent":"tasks/{id}","config":{"pushNotificationConfig":{"url":"https://example.com/hook"}}}`
	case strings.HasPrefix(op.name, "ListTaskPush"):
		op.params = `{"parent":"tasks/{id}"}`
	case op.action == auth.Push:
		op.params = `{"name":"tasks/{id}/pushNotificationConfigs/c"}`
	case strings.HasPrefix(op.name, "Send"):
		op.params = strings.NewReplacer(`{"data":{`, `{"data":{"data":{`, `]}}]}}`, `]}}}]}}`).Replace(op.params)
	case op.params == `{"id":"{id}"}`:
		op.params = `{"name":"tasks/{id}"}`
	case op.name == "ListTasks":
		op.params = strings.ReplaceAll(op.params, "statusTimestampAfter", "lastUpdatedTime")
	}
	return overGRPC, "/a2a.v1.A2AService/" + name, strings.ReplaceAll(op.params, "{id}", task)
}

// httpStatuses are the codes of gRPC that the attackers are answered with, as statuses of HTTP.
var httpStatuses = map[codes.Code]int{
	codes.OK:              200,
	codes.Unauthenticated: 401, codes.PermissionDenied: 403, codes.Unavailable: 503, codes.NotFound: 404,
	codes.InvalidArgument: 400, codes.FailedPrecondition: 400, codes.Unimplemented: 404, codes.ResourceExhausted: 429,
}

// openGRPC makes a call, and returns it as a response: its messages are events, and an error
// is their last.
func (w *attacked) openGRPC(ctx context.Context, header http.Header, path, body string) (*http.Response, error) {
	service, name, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + name))
	if err != nil {
		return nil, err
	}
	method, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, errors.New("not a method")
	}
	made := func(d protoreflect.MessageDescriptor) proto.Message {
		kind, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
		if err != nil {
			panic(err)
		}
		return kind.New().Interface()
	}
	in := made(method.Input())
	if body == unsent {
		in = nil
	} else if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(body), in); err != nil {
		return nil, err
	}
	md := metadata.MD{}
	for name, values := range header {
		md.Append(name, values...)
	}
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(ctx, md))
	stream, err := w.grpc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, path)
	if err == nil && in != nil {
		if err = stream.SendMsg(in); err == nil || errors.Is(err, io.EOF) {
			err = stream.CloseSend()
		}
	}
	if err != nil {
		cancel()
		return nil, err
	}
	first := made(method.Output())
	err = stream.RecvMsg(first)
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}}
	if err != nil && !errors.Is(err, io.EOF) {
		resp.StatusCode = httpStatuses[status.Code(err)]
	}
	for _, md := range []func() metadata.MD{func() metadata.MD { md, _ := stream.Header(); return md }, func() metadata.MD {
		if err == nil {
			return nil // it follows
		}
		return stream.Trailer()
	}} {
		for name, values := range md() {
			if name != "grpc-status-details-bin" { // it is the body
				resp.Header[http.CanonicalHeaderKey(name)] = values
			}
		}
	}
	text := func(m proto.Message) []byte {
		raw, err := protojson.Marshal(m)
		if err != nil {
			panic(err)
		}
		var compact bytes.Buffer // protojson adds spaces as it likes
		if err := json.Compact(&compact, raw); err != nil {
			panic(err)
		}
		return compact.Bytes()
	}
	fault := func(err error) []byte { return text(status.Convert(err).Proto()) }
	if err != nil {
		cancel()
		resp.Body = http.NoBody
		if !errors.Is(err, io.EOF) {
			resp.Body = io.NopCloser(bytes.NewReader(fault(err)))
		}
		return resp, nil
	}
	r, out := io.Pipe()
	resp.Body = struct {
		io.Reader
		io.Closer
	}{r, closer(func() error { cancel(); return r.Close() })}
	go func() {
		defer cancel()
		for m := first; ; {
			if _, err := out.Write(append(append([]byte("data: "), text(m)...), "\n\n"...)); err != nil {
				return
			}
			m = made(method.Output())
			if err := stream.RecvMsg(m); err != nil {
				if !errors.Is(err, io.EOF) {
					_, _ = out.Write(fault(err))
				}
				_ = out.Close()
				return
			}
		}
	}()
	return resp, nil
}

type closer func() error

func (c closer) Close() error { return c() }
