package a2a_test

import (
	"testing"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/a2a/internal/operation"
	"a2a-server/task/engine"
)

// A server that serves only 1.0 has no methods of 0.3.
func TestOldGRPCIsOff(t *testing.T) {
	t.Parallel()
	srv := start(t, func(c *a2a.Config) { c.OnlyV1 = true })
	s, _ := srv.Config.Handler.(*a2a.Server)
	_, at := serveGRPC(t, s, a2a.GRPCConfig{})
	_, err := oldpb.NewA2AServiceClient(dialGRPC(t, at)).GetTask(t.Context(), &oldpb.GetTaskRequest{Name: "tasks/x"})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("GetTask() = %v", err)
	}
}

// Every operation of the table has its method in gRPC, every method of both services is
// served, and as a stream if the operation is one.
func TestEveryOperationIsServedOverGRPC(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) { c.Push = &a2a.Push{} })
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{})
	conn := dialGRPC(t, at)
	asked := func(service protoreflect.ServiceDescriptor, method string) codes.Code {
		stream, err := conn.NewStream(as(t.Context(), "alice"), &grpc.StreamDesc{ServerStreams: true}, "/"+string(service.FullName())+"/"+method, grpc.ForceCodecV2(bytesCodec{}))
		if err == nil {
			if err = stream.SendMsg(wire{}); err == nil {
				err = stream.CloseSend()
			}
		}
		if err == nil {
			var out wire
			err = stream.RecvMsg(&out)
		}
		return status.Code(err)
	}
	now, old := a2apb.File_a2av1_proto.Services().ByName("A2AService"), oldpb.File_a2a_proto.Services().ByName("A2AService")
	for _, op := range operation.Table() {
		m := now.Methods().ByName(protoreflect.Name(op.Name))
		if m == nil || m.IsStreamingServer() != (op.Stream != nil) {
			t.Errorf("%s: the method is %v", op.Name, m)
			continue
		}
		if code := asked(now, op.Name); code == codes.Unimplemented || code == codes.Internal || code == codes.Unknown {
			t.Errorf("%s is answered with %v", op.Name, code)
		}
	}
	if n, want := now.Methods().Len(), len(operation.Table()); n != want {
		t.Errorf("the service has %d methods, the table %d operations", n, want)
	}
	for i := range old.Methods().Len() {
		name := string(old.Methods().Get(i).Name())
		if code := asked(old, name); code == codes.Unimplemented || code == codes.Internal || code == codes.Unknown {
			t.Errorf("%s of 0.3 is answered with %v", name, code)
		}
	}
	if code := asked(now, "Other"); code != codes.Unimplemented {
		t.Errorf("an unknown method is answered with %v", code)
	}
}
