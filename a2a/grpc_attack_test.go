package a2a_test

import (
	"context"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/timestamppb"

	"a2a-server/a2a"
	"a2a-server/task/engine"
)

// Times and numbers that no JSON has are refused.
func TestTimesThatAreNone(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop())
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{})
	client, old := service(t, at), oldpb.NewA2AServiceClient(dialGRPC(t, at))
	for _, after := range []*timestamppb.Timestamp{{Seconds: math.MaxInt64}, {Seconds: math.MinInt64}, {Nanos: -1}, {Nanos: 1e9}, {Seconds: 253402300800}} {
		_, err := client.ListTasks(as(t.Context(), "alice"), &a2apb.ListTasksRequest{StatusTimestampAfter: after})
		if code, infos, _ := details(err); code != codes.InvalidArgument || len(infos) == 0 {
			t.Errorf("1.0, %v: %v", after, err)
		}
		_, err = old.ListTasks(as(t.Context(), "alice"), &oldpb.ListTasksRequest{LastUpdatedTime: after})
		if code, infos, _ := details(err); code != codes.InvalidArgument || len(infos) == 0 {
			t.Errorf("0.3, %v: %v", after, err)
		}
	}
	for _, state := range []int32{99, -1} {
		_, err := client.ListTasks(as(t.Context(), "alice"), &a2apb.ListTasksRequest{Status: a2apb.TaskState(state)})
		wantStatus(t, "1.0", err, codes.InvalidArgument, "INVALID_PARAMS", "status")
		_, err = old.ListTasks(as(t.Context(), "alice"), &oldpb.ListTasksRequest{Status: oldpb.TaskState(state)})
		wantStatus(t, "0.3", err, codes.InvalidArgument, "INVALID_PARAMS", "status")
	}
}

// Bytes that are no message are the same error in both versions.
func TestNoMessageOf03(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop())
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{})
	conn := dialGRPC(t, at)
	for method, id := range map[string]protowire.Number{a2apb.A2AService_GetTask_FullMethodName: 2, oldpb.A2AService_GetTask_FullMethodName: 1} {
		for what, m := range map[string]wire{"not protobuf": wire("{}"), "not UTF-8": field(id, 0xff)} {
			var out wire
			err := conn.Invoke(as(t.Context(), "alice"), method, m, &out, grpc.ForceCodecV2(bytesCodec{}))
			wantStatus(t, method+", "+what, err, codes.InvalidArgument, "PARSE_ERROR")
		}
	}
}

// Strangers who watch the health, or begin to ask for it, keep no probe from its answer.
func TestProbesBesideWatchers(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop())
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{})
	strangers := dialGRPC(t, at)
	watching := 0
	for range 100 {
		stream, err := healthpb.NewHealthClient(strangers).Watch(t.Context(), &healthpb.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err == nil {
			watching++
		}
	}
	if watching != 16 {
		t.Errorf("%d watches of one address are open, want 16", watching)
	}
	var silent []grpc.ClientStream
	for range 100 {
		stream, err := strangers.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, healthpb.Health_Check_FullMethodName)
		if err != nil {
			t.Fatal(err)
		}
		silent = append(silent, stream)
	}
	probe := healthpb.NewHealthClient(dialGRPC(t, at))
	for range 10 {
		got, err := probe.Check(t.Context(), &healthpb.HealthCheckRequest{})
		if err != nil || got.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Fatalf("a probe: %v, %v", got, err)
		}
	}
	outcome := map[codes.Code]int{}
	for _, stream := range silent {
		outcome[status.Code(stream.RecvMsg(&healthpb.HealthCheckResponse{}))]++
	}
	if outcome[codes.Unavailable] < 92 || len(outcome) > 2 {
		t.Errorf("100 calls without a message ended with %v; only 8 may be open at once", outcome)
	}
}

// A caller whose deadline passes while its task runs gets its deadline, and the task.
func TestDeadlineOfACall(t *testing.T) {
	t.Parallel()
	r := startRoomy(t)
	_, at := serveGRPC(t, r.handler, a2a.GRPCConfig{})
	client := service(t, at)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for range 20 {
		if _, err := client.SendMessage(ctx, &a2apb.SendMessageRequest{Message: textMessage("late", "/pour n=3 size=10")}); err != nil && status.Code(err) != codes.DeadlineExceeded {
			t.Fatal(err)
		}
	}
	got, err := client.SendMessage(t.Context(), &a2apb.SendMessageRequest{Message: textMessage("late", "/pour n=3 size=10")})
	if err != nil || got.GetTask().GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED {
		t.Errorf("%v, %v", got, err)
	}
	if all, err := client.ListTasks(t.Context(), &a2apb.ListTasksRequest{}); err != nil || len(all.GetTasks()) != 1 {
		t.Errorf("there are %d tasks, %v", len(all.GetTasks()), err)
	}
}

// Health says at once whether the server is ready, and tells those who watch.
func TestHealthOfGRPC(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := startWireServer(t, zerolog.Nop())
	var ready atomic.Bool
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{Ready: ready.Load})
	client := healthpb.NewHealthClient(dialGRPC(t, at))
	watch, err := client.Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []healthpb.HealthCheckResponse_ServingStatus{healthpb.HealthCheckResponse_NOT_SERVING, healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING} {
		ready.Store(want == healthpb.HealthCheckResponse_SERVING)
		for _, name := range []string{"", "lf.a2a.v1.A2AService", "a2a.v1.A2AService"} {
			if got, err := client.Check(ctx, &healthpb.HealthCheckRequest{Service: name}); err != nil || got.GetStatus() != want {
				t.Errorf("Check(%s) = %v, %v, want %v", name, got, err, want)
			}
		}
		if got, err := watch.Recv(); err != nil || got.GetStatus() != want {
			t.Errorf("Watch() = %v, %v, want %v", got, err, want)
		}
	}
}

// A large message is in the memory of large requests, which calls without a message hold, too.
func TestLargeMessagesOfGRPC(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) { c.MaxBody = 1 << 20; c.Bodies = 4 << 20 })
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{})
	conn := dialGRPC(t, at)
	large := dataMessage(valueOf(t, strings.Repeat("x", 900_000)))
	if err := sends(as(t.Context(), "alice"), conn, large); err != nil {
		t.Fatal(err)
	}
	for {
		// It counts as a large one soon, unless the message below does then.
		if _, err := conn.NewStream(as(t.Context(), "alice"), &grpc.StreamDesc{ClientStreams: true}, a2apb.A2AService_GetTask_FullMethodName); err != nil {
			t.Fatal(err)
		}
		err := sends(as(t.Context(), "alice"), conn, large)
		if err == nil {
			continue
		}
		wantStatus(t, "a large message", err, codes.Unavailable, "UNAVAILABLE")
		break
	}
	if err := sends(as(t.Context(), "bob"), conn, large); err != nil {
		t.Errorf("of another caller: %v", err)
	}
}
