package a2a_test

import (
	"testing"
	"time"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"golang.org/x/net/http2"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	"a2a-server/a2a"
	"a2a-server/task/engine"
)

// newDeafClient returns a client that gives no window: it reads no message.
func newDeafClient(t *testing.T, at string) *rawClient {
	t.Helper()
	return newRawClient(t, at, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
}

// ask makes a call, whose answer is not read.
func (c *rawClient) ask(method string, m proto.Message) {
	c.t.Helper()
	body, err := proto.Marshal(m)
	c.must(err)
	c.call(method, prefixed(body, len(body)), true)
}

// A client that leaves what it asked for unread loses its connection, however small each
// answer is and however many streams have ended: what is not read takes memory.
func TestUnreadMessagesOfGRPC(t *testing.T) {
	t.Parallel()
	r := startRoomy(t, func(_ *engine.Config, c *a2a.Config) {
		c.WriteTimeout, c.ReadRate = 300*time.Millisecond, 100<<20
	})
	id := r.pour(1, 50_000)
	_, at := serveGRPC(t, r.handler, a2a.GRPCConfig{})
	large := &a2apb.SendMessageRequest{Message: textMessage("large", "/pour n=1 size=100000")}
	if _, err := service(t, at).SendMessage(t.Context(), large); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		method string
		m      proto.Message
	}{
		"answers": {a2apb.A2AService_GetTask_FullMethodName, &a2apb.GetTaskRequest{Id: id}}, // each has 10 s
		"streams": {a2apb.A2AService_SendStreamingMessage_FullMethodName, large},
	} {
		t.Run(name, func(t *testing.T) { // not parallel: it would begin after all other tests
			deaf := newDeafClient(t, at)
			deaf.ask(healthpb.Health_Watch_FullMethodName, &healthpb.HealthCheckRequest{}) // the connection has another use
			for range 100 {
				deaf.ask(c.method, c.m)
			}
			deaf.closed()
		})
	}
}

// A stream of small events that nobody reads ends, however little of it the transport takes:
// its sender is never stuck there.
func TestUnreadEventsOfGRPC(t *testing.T) {
	t.Parallel()
	r := startRoomy(t, func(_ *engine.Config, c *a2a.Config) { c.WriteTimeout = 300 * time.Millisecond })
	_, at := serveGRPC(t, r.handler, a2a.GRPCConfig{})
	deaf := newDeafClient(t, at)
	deaf.ask(a2apb.A2AService_SendStreamingMessage_FullMethodName, &a2apb.SendMessageRequest{Message: textMessage("m", "/pour n=1000 size=1000")})
	deaf.closed() // nobody else uses the connection
}
