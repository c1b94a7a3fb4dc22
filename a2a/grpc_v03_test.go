package a2a_test

import (
	"errors"
	"testing"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	oldgrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/task/engine"
)

// oldClient returns the official client for gRPC in A2A 0.3.
func oldClient(t testing.TB, at string) *a2aclient.Client {
	t.Helper()
	i := sdk.NewAgentInterface(at, sdk.TransportProtocolGRPC)
	i.ProtocolVersion = "0.3"
	c, err := a2aclient.NewFromEndpoints(t.Context(), []*sdk.AgentInterface{i}, oldgrpc.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Destroy() })
	return c
}

// The official client for A2A 0.3 over gRPC: question, answer, result, list, cancel.
func TestOldOfficialClientOverGRPC(t *testing.T) {
	t.Parallel()
	srv := start(t, nil)
	s, _ := srv.Config.Handler.(*a2a.Server)
	_, at := serveGRPC(t, s, a2a.GRPCConfig{})
	c := oldClient(t, at)
	result, err := c.SendMessage(t.Context(), &sdk.SendMessageRequest{Message: call("transfer", map[string]any{"amount": 5, "to": "bob"})})
	if err != nil {
		t.Fatal(err)
	}
	parked, ok := result.(*sdk.Task)
	if !ok || parked.Status.State != sdk.TaskStateInputRequired {
		t.Fatalf("SendMessage() = %+v, want a task that waits for input", result)
	}
	yes := sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart("yes"))
	yes.TaskID = parked.ID
	if result, err = c.SendMessage(t.Context(), &sdk.SendMessageRequest{Message: yes}); err != nil {
		t.Fatal(err)
	}
	if done, ok := result.(*sdk.Task); !ok || done.Status.State != sdk.TaskStateCompleted || len(done.Artifacts) != 1 {
		t.Fatalf("SendMessage() = %+v, want a completed task", result)
	}
	zero := 0
	got, err := c.GetTask(t.Context(), &sdk.GetTaskRequest{ID: parked.ID, HistoryLength: &zero})
	if err != nil || len(got.History) == 0 {
		t.Errorf("GetTask() = %+v, %v; 0 is no limit in 0.3", got, err)
	}
	if _, err := c.CancelTask(t.Context(), &sdk.CancelTaskRequest{ID: parked.ID}); !errors.Is(err, sdk.ErrTaskNotCancelable) {
		t.Errorf("CancelTask() of a completed task = %v", err)
	}
	if _, err := c.GetTask(t.Context(), &sdk.GetTaskRequest{ID: "nothing"}); !errors.Is(err, sdk.ErrTaskNotFound) {
		t.Errorf("GetTask() of nothing = %v", err)
	}
	if list, err := c.ListTasks(t.Context(), &sdk.ListTasksRequest{}); err != nil || len(list.Tasks) != 1 {
		t.Errorf("ListTasks() = %+v, %v", list, err)
	}
	events := 0
	for e, err := range c.SendStreamingMessage(t.Context(), &sdk.SendMessageRequest{Message: call("stream", map[string]any{"n": 50})}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.(*sdk.TaskArtifactUpdateEvent); ok {
			events++
		}
	}
	if events < 50 {
		t.Errorf("streamed %d chunks, want 50", events)
	}
	if _, err := c.GetTaskPushConfig(t.Context(), &sdk.GetTaskPushConfigRequest{TaskID: parked.ID, ID: "x"}); !errors.Is(err, sdk.ErrPushNotificationNotSupported) {
		t.Errorf("GetTaskPushConfig() = %v", err)
	}
}

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
	for _, op := range a2a.Operations() {
		m := now.Methods().ByName(protoreflect.Name(op.Name))
		if m == nil || m.IsStreamingServer() != op.Streams {
			t.Errorf("%s: the method is %v", op.Name, m)
			continue
		}
		if code := asked(now, op.Name); code == codes.Unimplemented || code == codes.Internal || code == codes.Unknown {
			t.Errorf("%s is answered with %v", op.Name, code)
		}
	}
	if n, want := now.Methods().Len(), len(a2a.Operations()); n != want {
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
