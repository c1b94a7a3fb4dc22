package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"a2a-server/a2a"
)

// serveGRPC serves our operations over gRPC, on a port of its own.
func serveGRPC(handler http.Handler) (addr string, stop func(), err error) {
	s, ok := handler.(*a2a.Server)
	if !ok {
		return "", nil, fmt.Errorf("the handler is a %T", handler)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	g := s.GRPC(a2a.GRPCConfig{})
	go func() { _ = g.Serve(l) }() // until it is stopped
	return l.Addr().String(), func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		g.EndCalls()
		g.Stop(ctx)
	}, nil
}

// callers is a way to ask over gRPC: connections, of which each request takes one.
type callers struct {
	free chan *grpc.ClientConn
}

func dialGRPC(b *testing.B, s *server, n int) *callers {
	b.Helper()
	c := &callers{make(chan *grpc.ClientConn, n)}
	for range n {
		conn, err := grpc.NewClient(s.hello.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close() })
		c.free <- conn
	}
	return c
}

func toolCall(name string, args map[string]any) (*structpb.Value, *structpb.Struct) {
	s, err := structpb.NewStruct(map[string]any{"tool": name, "args": args})
	if err != nil {
		panic(err)
	}
	return structpb.NewStructValue(s), s
}

// do runs a workload of [spoken] over gRPC.
func (c *callers) do(version, workload, task string) error {
	conn := <-c.free
	defer func() { c.free <- conn }()
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	defer cancel()
	id := fmt.Sprintf("%d-%d", messages.run, messages.last.Add(1))
	value, object := toolCall("stream", map[string]any{"n": 100})
	n := 0
	switch {
	case workload == "get" && version == "1.0":
		got, err := a2apb.NewA2AServiceClient(conn).GetTask(ctx, &a2apb.GetTaskRequest{Id: task})
		if err == nil && got.GetId() != task {
			err = fmt.Errorf("the answer is not the task: %v", got)
		}
		return err
	case workload == "get":
		got, err := oldpb.NewA2AServiceClient(conn).GetTask(ctx, &oldpb.GetTaskRequest{Name: "tasks/" + task})
		if err == nil && got.GetId() != task {
			err = fmt.Errorf("the answer is not the task: %v", got)
		}
		return err
	case version == "1.0":
		stream, err := a2apb.NewA2AServiceClient(conn).SendStreamingMessage(ctx, &a2apb.SendMessageRequest{Message: &a2apb.Message{
			MessageId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{{Content: &a2apb.Part_Data{Data: value}}},
		}})
		for err == nil {
			var e *a2apb.StreamResponse
			if e, err = stream.Recv(); err == nil && e.GetArtifactUpdate() != nil {
				n++
			}
		}
		return chunksOf(n, err)
	}
	stream, err := oldpb.NewA2AServiceClient(conn).SendStreamingMessage(ctx, &oldpb.SendMessageRequest{Request: &oldpb.Message{
		MessageId: id, Role: oldpb.Role_ROLE_USER, Parts: []*oldpb.Part{{Part: &oldpb.Part_Data{Data: &oldpb.DataPart{Data: object}}}},
	}})
	for err == nil {
		var e *oldpb.StreamResponse
		if e, err = stream.Recv(); err == nil && e.GetArtifactUpdate() != nil {
			n++
		}
	}
	return chunksOf(n, err)
}

func chunksOf(n int, err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	if n < 100 {
		return fmt.Errorf("%d chunks came, want 100", n)
	}
	return nil
}

// BenchmarkGRPC reads a task and streams 100 chunks over JSON-RPC and over gRPC, in both
// versions. The figures are of one chunk where it streams. A GetTask over gRPC may cost twice
// what one over JSON-RPC costs, and a chunk 8 µs.
func BenchmarkGRPC(b *testing.B) {
	const conns = 16
	for _, workload := range []string{"get", "stream"} {
		per := map[string]int{"get": 1, "stream": 100}[workload]
		rpc, s := versions()[0], startSpec(b, spec{Kind: ours})
		id := ownTask(b, s, noCredential, rpc.send(0, ""))
		over := dialGRPC(b, s, conns)
		compare(b, workload, conns, per, []*way{
			{name: "JSON-RPC 1.0", s: s, do: func(c *conn, i int) error { return rpc.do(c.speaking("1.0"), workload, i, id) }},
			{name: "gRPC 1.0", s: s, do: func(*conn, int) error { return over.do("1.0", workload, id) }},
			{name: "gRPC 0.3", s: s, do: func(*conn, int) error { return over.do("0.3", workload, id) }},
		})
	}
}

// BenchmarkGRPCIdle opens streams of a task that waits, and measures the memory of the server
// for each: on few connections, as behind a proxy, and with one each. One may take 40 KiB.
func BenchmarkGRPCIdle(b *testing.B) {
	const streams = 1000
	for _, conns := range []int{4, streams} {
		b.Run(fmt.Sprintf("conns=%d", conns), func(b *testing.B) {
			s := startSpec(b, spec{Kind: ours})
			conn := <-dialGRPC(b, s, 1).free
			value, _ := toolCall("park", map[string]any{"text": "waits"})
			sent, err := a2apb.NewA2AServiceClient(conn).SendMessage(b.Context(), &a2apb.SendMessageRequest{Message: &a2apb.Message{
				MessageId: fmt.Sprint(messages.run), Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{{Content: &a2apb.Part_Data{Data: value}}},
			}})
			if err != nil || sent.GetTask().GetStatus().GetState() != a2apb.TaskState_TASK_STATE_INPUT_REQUIRED {
				b.Fatalf("%v, %v", sent, err)
			}
			var grown float64
			for range b.N {
				// The first has to ask for the most: what it leaves is used again.
				grown = max(grown, idleOverGRPC(b, s, sent.GetTask().GetId(), streams, conns))
			}
			b.ReportMetric(grown, "KiB/stream")
			figures.note(fmt.Sprintf("idle streams of gRPC, %d on %d connections", streams, conns), "%.1f KiB each", grown)
		})
	}
}

// idleOverGRPC returns by how many KiB a stream of a task makes the memory of a server grow.
func idleOverGRPC(b *testing.B, s *server, task string, streams, conns int) float64 {
	b.Helper()
	all := make([]*grpc.ClientConn, conns)
	grown := s.grown(func() {
		for i := range streams {
			if i < conns {
				var err error
				if all[i], err = grpc.NewClient(s.hello.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
					b.Fatal(err)
				}
			}
			stream, err := a2apb.NewA2AServiceClient(all[i%conns]).SubscribeToTask(b.Context(), &a2apb.SubscribeToTaskRequest{Id: task})
			if err == nil {
				_, err = stream.Recv()
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, conn := range all {
		_ = conn.Close()
	}
	return grown / float64(streams)
}
