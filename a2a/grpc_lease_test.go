package a2a_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"a2a-server/a2a"
	"a2a-server/auth"
	"a2a-server/task/engine"
)

// revocable returns an Authenticator whose only credential is valid until it is revoked, and
// which is asked often.
func revocable(c *a2a.Config) (revoked *atomic.Bool) {
	revoked = new(atomic.Bool)
	c.Heartbeat = 20 * time.Millisecond
	c.Authenticator = challenger{auth.Func(func(context.Context, *auth.Credentials) (auth.Principal, error) {
		if revoked.Load() {
			return auth.Principal{}, &auth.Error{Code: "invalid_token", Description: "revoked"}
		}
		return leaseholder, nil
	}), []string{"Bearer", "ApiKey"}}
	return revoked
}

// wantChallenges checks that a call ended with its credential, and says how to get another.
func wantChallenges(t *testing.T, what string, err error, trailer metadata.MD) {
	t.Helper()
	wantStatus(t, what, err, codes.Unauthenticated, "UNAUTHENTICATED")
	if got := trailer["www-authenticate"]; !slices.Contains(got, "ApiKey") || len(got) != 2 {
		t.Errorf("%s: the challenges are %q", what, got)
	}
}

// A stream of events, and a call of reflection, end with the credential of their caller.
func TestStreamOfGRPCEndsWithItsCredential(t *testing.T) {
	t.Parallel()
	var revoked *atomic.Bool
	s := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) { revoked = revocable(c) })
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{Reflection: true})
	conn := dialGRPC(t, at)
	client := a2apb.NewA2AServiceClient(conn)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sent, err := client.SendMessage(ctx, &a2apb.SendMessageRequest{Message: textMessage("m", "/transfer amount=1 to=bob")})
	if err != nil {
		t.Fatal(err)
	}
	events, err := client.SubscribeToTask(ctx, &a2apb.SubscribeToTaskRequest{Id: sent.GetTask().GetId()})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := asked.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	if _, err := events.Recv(); err != nil {
		t.Fatal(err)
	}
	if got, err := asked.Recv(); err != nil || len(got.GetListServicesResponse().GetService()) == 0 {
		t.Fatalf("Recv() = %v, %v", got, err)
	}
	revoked.Store(true)
	_, err = events.Recv()
	wantChallenges(t, "events after the credential was revoked", err, events.Trailer())
	_, err = asked.Recv()
	wantChallenges(t, "reflection after the credential was revoked", err, asked.Trailer())
}

// A send that waits for its task ends with its credential.
func TestWaitingSendOfGRPCEndsWithItsCredential(t *testing.T) {
	t.Parallel()
	var revoked *atomic.Bool
	s := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) { revoked = revocable(c) })
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{})
	client := service(t, at)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var trailer metadata.MD
	ended := make(chan error, 1)
	go func() {
		_, err := client.SendMessage(ctx, &a2apb.SendMessageRequest{Message: textMessage("m", "/hold")}, grpc.Trailer(&trailer))
		ended <- err
	}()
	soon(t, "the task runs", func() bool {
		all, err := client.ListTasks(ctx, &a2apb.ListTasksRequest{Status: a2apb.TaskState_TASK_STATE_WORKING})
		return err == nil && len(all.GetTasks()) == 1
	})
	revoked.Store(true)
	wantChallenges(t, "a send whose credential was revoked", <-ended, trailer)
}

// An answer that is not read ends with its credential, too.
func TestUnreadAnswerOfGRPCEndsWithItsCredential(t *testing.T) {
	t.Parallel()
	var revoked *atomic.Bool
	r := startRoomy(t, func(_ *engine.Config, c *a2a.Config) { revoked = revocable(c) })
	left := make(chan struct{})
	_, at := serveGRPC(t, r.handler, a2a.GRPCConfig{Admit: func() (func(), error) { return func() { close(left) }, nil }})
	// As a stream, because the client of a call with one answer reads it at once.
	stream, err := dialGRPC(t, at).NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, a2apb.A2AService_SendMessage_FullMethodName, grpc.MaxCallRecvMsgSize(64<<20))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.SendMsg(&a2apb.SendMessageRequest{Message: textMessage("m", "/pour n=40 size=100000")}); err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Header(); err != nil { // it is sent together with the answer
		t.Fatal(err)
	}
	revoked.Store(true)
	select {
	case <-left:
	case <-time.After(time.Minute):
		t.Error("the call is still open")
	}
	for err = nil; err == nil; {
		err = stream.RecvMsg(&a2apb.SendMessageResponse{})
	}
	wantChallenges(t, "an answer whose credential was revoked", err, stream.Trailer())
}
