package a2a_test

import (
	"errors"
	"io"
	"testing"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"a2a-server/a2a"
	"a2a-server/a2a/operation"
	"a2a-server/auth"
	"a2a-server/approval/dialect"
	"a2a-server/store/storetest"
	"a2a-server/task/engine"
)

// callAny calls a method with a request that has these fields, and returns the headers and
// the error of the first answer.
func callAny(t *testing.T, conn *grpc.ClientConn, method string, fields map[string]string, md ...string) (metadata.MD, error) {
	t.Helper()
	service := a2apb.File_a2av1_proto.Services().ByName("A2AService")
	m := service.Methods().ByName(protoreflect.Name(method))
	req := dynamicpb.NewMessage(m.Input())
	for name, value := range fields {
		if f := m.Input().Fields().ByName(protoreflect.Name(name)); f != nil {
			req.Set(f, protoreflect.ValueOfString(value))
		}
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), md...)
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/"+string(service.FullName())+"/"+method)
	if err != nil {
		t.Fatal(err)
	}
	// Whoever is refused before the message finds the stream closed.
	if err := stream.SendMsg(req); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	err = stream.RecvMsg(dynamicpb.NewMessage(m.Output()))
	header, wrong := stream.Header()
	if wrong != nil {
		t.Fatal(wrong)
	}
	return header, err
}

// A tenant in a message is the caller's or nobody's, in every method.
func TestGRPCTenant(t *testing.T) {
	t.Parallel()
	var counted *storetest.Counted
	s := startWireServer(t, zerolog.Nop(), func(e *engine.Config, c *operation.Config) {
		counted = &storetest.Counted{Handle: e.Store}
		e.Store, c.Authenticator, c.Push = counted, auth.Func(callerOf), &operation.Push{}
	})
	awaitSweep(t, counted.Handle)
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{})
	conn := dialGRPC(t, at)
	const id = "019b7c00-0000-7000-8000-0000ffffffff"
	for _, op := range operation.Table() {
		ask := func(tenant, role string) error {
			_, err := callAny(t, conn, op.Name, map[string]string{"tenant": tenant, "id": id, "task_id": id, "url": "https://hook.example"}, "x-who", "acme|me|"+role)
			return err
		}
		if op.Action == auth.Create {
			continue // they need a message: below
		}
		before := counted.Calls.Load()
		for _, other := range []string{"umbrella", "nobody", "ACME"} {
			wantStatus(t, op.Name+" in "+other, ask(other, auth.RoleRequester), codes.NotFound, "NOT_FOUND")
		}
		wantStatus(t, op.Name+" without a role", ask("umbrella", "ops"), codes.PermissionDenied, "PERMISSION_DENIED")
		if n := counted.Calls.Load() - before; n != 0 {
			t.Errorf("%s of another tenant asks the store %d times", op.Name, n)
		}
		if plain, own := ask("", auth.RoleRequester), ask("acme", auth.RoleRequester); (plain == nil) != (own == nil) || plain != nil && plain.Error() != own.Error() {
			t.Errorf("%s: %v without a tenant, %v with the caller's", op.Name, plain, own)
		}
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-who", "acme|me|"+auth.RoleRequester)
	message := func(tenant string) *a2apb.SendMessageRequest {
		return &a2apb.SendMessageRequest{Tenant: tenant, Message: &a2apb.Message{
			MessageId: "m", TaskId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "hi"}}},
		}}
	}
	client := service(t, at)
	for tenant, reason := range map[string]string{"": "TASK_NOT_FOUND", "acme": "TASK_NOT_FOUND", "umbrella": "NOT_FOUND"} {
		_, err := client.SendMessage(ctx, message(tenant))
		wantStatus(t, "SendMessage in "+tenant, err, codes.NotFound, reason)
		stream, err := client.SendStreamingMessage(ctx, message(tenant))
		if err == nil {
			_, err = stream.Recv()
		}
		wantStatus(t, "SendStreamingMessage in "+tenant, err, codes.NotFound, reason)
	}
}

// A required extension is required here, too, and what is active is in the header of every
// answer.
func TestGRPCExtensions(t *testing.T) {
	t.Parallel()
	w := newExtensionWorld(t)
	_, at := serveGRPC(t, w.wireServer.handler, a2a.GRPCConfig{})
	conn := dialGRPC(t, at)
	const me = "acme|me|" + auth.RoleRequester
	for _, op := range operation.Table() {
		before := w.store.Calls.Load()
		for name, lines := range map[string][]string{"none": nil, "another": {"a2a-extensions", dialect.URI}, "its beginning": {"a2a-extensions", ownExtension[:10]}} {
			_, err := callAny(t, conn, op.Name, nil, append(lines, "x-who", me)...)
			wantStatus(t, op.Name+" with "+name, err, codes.FailedPrecondition, "EXTENSION_SUPPORT_REQUIRED")
		}
		if n := w.store.Calls.Load() - before; n != 0 {
			t.Errorf("%s asks the store %d times", op.Name, n)
		}
		header, err := callAny(t, conn, op.Name, nil, "a2a-extensions", "urn:unknown,"+dialect.KagentURI, "a2a-extensions", ownExtension, "x-who", me)
		if _, infos, _ := details(err); len(infos) > 0 && infos[0].GetReason() == "EXTENSION_SUPPORT_REQUIRED" {
			t.Errorf("%s with it: %v", op.Name, err)
		}
		if got := header.Get("a2a-extensions"); len(got) != 1 || got[0] != dialect.KagentURI+", "+ownExtension {
			t.Errorf("%s: active %q", op.Name, got)
		}
	}
	old := oldpb.NewA2AServiceClient(conn)
	for names, refused := range map[string]bool{dialect.URI: true, ownExtension: false} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-who", me, "x-a2a-extensions", names)
		_, err := old.GetTask(ctx, &oldpb.GetTaskRequest{Name: "tasks/" + w.tasks["missing"]})
		if _, infos, _ := details(err); len(infos) == 0 || (infos[0].GetReason() == "EXTENSION_SUPPORT_REQUIRED") != refused {
			t.Errorf("GetTask of 0.3 with %s: %v", names, err)
		}
	}
	if _, err := callAny(t, conn, "ListTasks", nil, "x-a2a-extensions", ownExtension, "x-who", me); err != nil {
		t.Errorf("as 0.3 names it: %v", err)
	}
}
