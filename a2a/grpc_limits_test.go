package a2a_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"a2a-server/a2a"
	"a2a-server/auth"
	"a2a-server/task/engine"
)

// wire is a message as it is.
type wire []byte

// bytesCodec sends messages as they are.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }
func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	b, _ := v.(wire)
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}
func (bytesCodec) Unmarshal(mem.BufferSlice, any) error { return nil }

// sends calls SendMessage with a message as it is.
func sends(ctx context.Context, conn *grpc.ClientConn, m wire) error {
	var out wire
	return conn.Invoke(ctx, a2apb.A2AService_SendMessage_FullMethodName, m, &out, grpc.ForceCodecV2(bytesCodec{}))
}

// dataMessage returns a SendMessageRequest with a data part, whose value is on the wire.
func dataMessage(value wire) wire {
	m, err := proto.Marshal(&a2apb.Message{MessageId: "m", Role: a2apb.Role_ROLE_USER})
	if err != nil {
		panic(err)
	}
	return field(2, append(m, field(5, field(4, value...)...)...)...)
}

// emptyParts returns a SendMessageRequest with parts that have no content.
func emptyParts(t *testing.T, n int) wire {
	t.Helper()
	b, err := proto.Marshal(&a2apb.SendMessageRequest{Message: &a2apb.Message{MessageId: "m", Role: a2apb.Role_ROLE_USER, Parts: slices.Repeat([]*a2apb.Part{{}}, n)}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// field returns a field of a message whose value is bytes.
func field(n protowire.Number, value ...byte) wire {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), value)
}

func valueOf(t *testing.T, v any) wire {
	t.Helper()
	pb, err := structpb.NewValue(v)
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(pb)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A message that no other binding would accept is refused here, too, and before it takes the memory that
// it would take.
func TestHostileMessagesOfGRPC(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) { c.MaxBody = 4 << 20 })
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{})
	conn := dialGRPC(t, at)
	null := wire{1 << 3, 0}
	list := func(element wire, n int) wire { return field(6, bytes.Repeat(field(1, element...), n)...) }
	deep := null
	for range 100 {
		deep = list(deep, 1)
	}
	parts := field(2, bytes.Repeat(field(5, field(4, null...)...), 1025)...)
	const data = "/message/parts/0/data"
	for name, c := range map[string]struct {
		m      wire
		reason string
		field  string
	}{
		"a million nulls":   {dataMessage(list(null, 1_000_000)), "INVALID_PARAMS", ""},
		"a million nothing": {dataMessage(list(nil, 1_000_000)), "INVALID_PARAMS", ""},
		"too many parts":    {parts, "INVALID_PARAMS", "message.parts"},
		"deep":              {dataMessage(deep), "INVALID_PARAMS", data + strings.Repeat("/0", 59)},
		"no kind":           {dataMessage(nil), "INVALID_PARAMS", ""},
		"not a number":      {dataMessage(valueOf(t, []any{math.NaN()})), "INVALID_PARAMS", ""},
		"infinite":          {dataMessage(valueOf(t, map[string]any{"a/b": math.Inf(-1)})), "INVALID_PARAMS", ""},
		"a large integer":   {dataMessage(valueOf(t, float64(1<<53))), "INVALID_PARAMS", data},
		"no protobuf":       {wire("{}"), "PARSE_ERROR", ""},
		"cut off":           {dataMessage(valueOf(t, "text"))[:20], "PARSE_ERROR", ""},
		"invalid UTF-8":     {field(1, 0xff), "PARSE_ERROR", ""},
		"nothing":           {nil, "INVALID_PARAMS", "message"},
		"many mistakes":     {emptyParts(t, 1000), "INVALID_PARAMS", "message.parts[0]"},

		"no kind, an unknown field":               {dataMessage(field(99, 1)), "INVALID_PARAMS", ""},
		"no kind, text with the number of null":   {dataMessage(field(1, 'x')), "INVALID_PARAMS", ""},
		"no kind, a number in the field of texts": {dataMessage(protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), 1)), "INVALID_PARAMS", ""},
		"no kind, an entry without a value":       {dataMessage(field(5, field(1, field(1, 'k')...)...)), "INVALID_PARAMS", ""},
		"no kind, an element":                     {dataMessage(field(6, field(1, field(99, 1)...)...)), "INVALID_PARAMS", ""},
	} {
		err := sends(as(t.Context(), "alice"), conn, c.m)
		code, infos, fields := details(err)
		if code != codes.InvalidArgument || len(infos) == 0 || c.reason != "" && infos[0].GetReason() != c.reason {
			t.Errorf("%s: %v, %v", name, err, infos)
			continue
		}
		if c.field != "" && (len(fields) == 0 || !strings.HasPrefix(fields[0], c.field[:min(len(c.field), 60)])) {
			t.Errorf("%s: the fields are %q, want %s", name, fields, c.field)
		}
		if size := proto.Size(status.Convert(err).Proto()); size > 4<<10 {
			t.Errorf("%s: the error has %d bytes", name, size)
		}
	}
	err := sends(as(t.Context(), "alice"), conn, make(wire, 4<<20+1))
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a message that is too large: %v", err)
	}
	if err := sends(as(t.Context(), "alice"), conn, dataMessage(valueOf(t, []any{1e300, -1.5, float64(1<<53 - 1), strings.Repeat("x", 100_000)}))); err != nil {
		t.Errorf("what is allowed: %v", err)
	}
}

// A call whose message does not come ends, and until then counts as a large one.
func TestHalfOpenCalls(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) { c.MaxBody = 64 << 10; c.Bodies = 256 << 10 })
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{ReadTimeout: 5 * time.Second})
	conn := dialGRPC(t, at)
	begin := func() grpc.ClientStream {
		stream, err := conn.NewStream(as(t.Context(), "alice"), &grpc.StreamDesc{ClientStreams: true}, a2apb.A2AService_GetTask_FullMethodName)
		if err != nil {
			t.Fatal(err)
		}
		return stream
	}
	outcome := map[codes.Code]int{}
	var all []grpc.ClientStream
	for range 20 {
		all = append(all, begin())
	}
	for _, stream := range all {
		outcome[status.Code(stream.RecvMsg(&a2apb.Task{}))]++
	}
	if outcome[codes.DeadlineExceeded] != 1 || outcome[codes.Unavailable] != 19 {
		t.Errorf("20 calls without a message ended with %v, want 1 that times out, and 19 for which there is no room", outcome)
	}
	if _, err := service(t, at).GetTask(as(t.Context(), "alice"), &a2apb.GetTaskRequest{Id: "x"}); status.Code(err) != codes.NotFound {
		t.Errorf("afterwards: %v", err)
	}
}

// Calls that are made and reset at once leave nothing behind.
func TestRapidResets(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) { c.Streams = 4; c.StreamsPerCaller = 4 })
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{})
	conn := dialGRPC(t, at)
	client := a2apb.NewA2AServiceClient(conn)
	sent, err := client.SendMessage(as(t.Context(), "alice"), &a2apb.SendMessageRequest{Message: textMessage("m", "/transfer amount=1 to=bob")})
	if err != nil {
		t.Fatal(err)
	}
	id := sent.GetTask().GetId()
	for range 3000 {
		ctx, cancel := context.WithCancel(as(t.Context(), "alice"))
		if _, err := client.SubscribeToTask(ctx, &a2apb.SubscribeToTaskRequest{Id: id}); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	for {
		stream, err := client.SubscribeToTask(as(t.Context(), "alice"), &a2apb.SubscribeToTaskRequest{Id: id})
		if err != nil {
			t.Fatal(err)
		}
		_, err = stream.Recv()
		if err == nil {
			return
		}
		if status.Code(err) != codes.Unavailable { // the last ones are being ended
			t.Fatal(err)
		}
	}
}

func textMessage(id, text string) *a2apb.Message {
	return &a2apb.Message{MessageId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: text}}}}
}

// A panic is the error of its call, and the process lives.
func TestPanicOfACall(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) {
		c.Authenticator = auth.Func(func(_ context.Context, c *auth.Credentials) (auth.Principal, error) {
			if len(c.Header("X-Panic")) > 0 {
				panic("the secret")
			}
			return wireAuthenticate(context.Background(), c)
		})
	})
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{})
	client := service(t, at)
	_, err := client.ListTasks(as(t.Context(), "alice", "x-panic", "1"), &a2apb.ListTasksRequest{})
	wantStatus(t, "a call that panics", err, codes.Internal, "INTERNAL_ERROR")
	if strings.Contains(fmt.Sprint(err), "secret") {
		t.Errorf("the client sees %v", err)
	}
	if _, err := client.ListTasks(as(t.Context(), "alice"), &a2apb.ListTasksRequest{}); err != nil {
		t.Error(err)
	}
}

// A client that does not read ends its own stream: its place is free afterwards, and the
// other calls of its connection continue.
func TestSlowReaderOfGRPC(t *testing.T) {
	t.Parallel()
	r := startRoomy(t, func(_ *engine.Config, c *a2a.Config) {
		c.WriteTimeout, c.Streams, c.StreamsPerCaller = 300*time.Millisecond, 1, 1
	})
	_, at := serveGRPC(t, r.handler, a2a.GRPCConfig{})
	conn := dialGRPC(t, at)
	client := a2apb.NewA2AServiceClient(conn)
	other, err := healthpb.NewHealthClient(conn).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	slow, err := client.SendStreamingMessage(t.Context(), &a2apb.SendMessageRequest{Message: textMessage("slow", "/pour n=100 size=50000")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Recv(); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; {
		next, err := client.SendStreamingMessage(t.Context(), &a2apb.SendMessageRequest{Message: textMessage("next", "/pour n=1 size=1")})
		if err == nil {
			_, err = next.Recv()
		}
		if err == nil {
			break
		}
		if status.Code(err) != codes.Unavailable || time.Since(begun) > time.Minute {
			t.Fatalf("after %v: %v", time.Since(begun), err)
		}
	}
	if got, err := other.Recv(); err != nil || got.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("the other call: %v, %v", got, err)
	}
	for err = error(nil); err == nil; {
		_, err = slow.Recv()
	}
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "subscribe") {
		t.Errorf("the slow stream ends with %v", err)
	}
}

// Readers see the same events in the same order, and one that names the last event that it
// has seen, by the id that other bindings have for it, continues after that.
func TestReadersOfGRPC(t *testing.T) {
	t.Parallel()
	srv := start(t, nil)
	s, _ := srv.Config.Handler.(*a2a.Server)
	_, at := serveGRPC(t, s, a2a.GRPCConfig{})
	client := service(t, at)
	sent, err := client.SendMessage(t.Context(), &a2apb.SendMessageRequest{Message: textMessage("m", "/transfer amount=1 to=bob")})
	if err != nil {
		t.Fatal(err)
	}
	id := sent.GetTask().GetId()
	read := func(stream grpc.ServerStreamingClient[a2apb.StreamResponse]) (all []string) {
		for {
			e, err := stream.Recv()
			if err != nil {
				if !errors.Is(err, context.Canceled) && err.Error() != "EOF" {
					t.Error(err)
				}
				return all
			}
			all = append(all, e.String())
		}
	}
	seen := make(chan []string, 2)
	for range 2 {
		stream, err := client.SubscribeToTask(t.Context(), &a2apb.SubscribeToTaskRequest{Id: id})
		if err != nil {
			t.Fatal(err)
		}
		if first, err := stream.Recv(); err != nil || first.GetTask().GetId() != id {
			t.Fatalf("the first event is %v, %v", first, err)
		}
		go func() { seen <- read(stream) }()
	}
	yes := textMessage("yes", "yes")
	yes.TaskId = id
	if _, err := client.SendMessage(t.Context(), &a2apb.SendMessageRequest{Message: yes}); err != nil {
		t.Fatal(err)
	}
	one, other := <-seen, <-seen
	if len(one) != 3 || strings.Join(one, "\n") != strings.Join(other, "\n") {
		t.Errorf("the readers saw %q and %q", one, other)
	}
	again := textMessage("again", "/stream n=3")
	_, body := post(t, srv.URL+"/message:stream", `{"message":{"messageId":"again","role":"ROLE_USER","parts":[{"text":"/stream n=3"}]}}`)
	ids, _ := frames(t, body)
	if len(ids) < 3 {
		t.Fatalf("the stream is %s", body)
	}
	task, err := client.SendMessage(t.Context(), &a2apb.SendMessageRequest{Message: again})
	if err != nil {
		t.Fatal(err)
	}
	for n, id := range ids {
		resumed, err := client.SubscribeToTask(as(t.Context(), "x", "last-event-id", id), &a2apb.SubscribeToTaskRequest{Id: task.GetTask().GetId()})
		if err != nil {
			t.Fatal(err)
		}
		if got := read(resumed); len(got) != len(ids)-n-1 {
			t.Errorf("after event %d of %d there are %d", n+1, len(ids), len(got))
		}
	}
}
