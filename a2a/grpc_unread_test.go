package a2a_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"testing"
	"time"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	"a2a-server/a2a"
	"a2a-server/task/engine"
)

// deafClient is a client of HTTP/2 that answers every ping, and gives no window: it reads
// no message.
type deafClient struct {
	t      *testing.T
	frames *http2.Framer
	write  chan func() error // to the one that writes
	closed chan struct{}     // by the server
	next   uint32
}

func newDeafClient(t *testing.T, at string) *deafClient {
	t.Helper()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := &deafClient{t: t, frames: http2.NewFramer(conn, conn), write: make(chan func() error), closed: make(chan struct{}), next: 1}
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		t.Fatal(err)
	}
	if err := c.frames.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			select {
			case f := <-c.write:
				_ = f() // the reader notices
			case <-c.closed:
				return
			}
		}
	}()
	go func() {
		defer close(c.closed)
		for {
			f, err := c.frames.ReadFrame()
			if err != nil {
				return
			}
			switch f := f.(type) {
			case *http2.SettingsFrame:
				if !f.IsAck() {
					c.write <- c.frames.WriteSettingsAck
				}
			case *http2.PingFrame:
				if data := f.Data; !f.IsAck() {
					c.write <- func() error { return c.frames.WritePing(true, data) }
				}
			}
		}
	}()
	return c
}

// call makes a call, whose answer is not read.
func (c *deafClient) call(at, method string, m proto.Message) {
	c.t.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, h := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", at}, {"content-type", "application/grpc"}, {"te", "trailers"}} {
		if err := e.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
			c.t.Fatal(err)
		}
	}
	id := c.next
	c.next += 2
	select {
	case c.write <- func() error {
		if err := c.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true}); err != nil {
			return err
		}
		return c.frames.WriteData(id, true, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...))
	}:
	case <-c.closed:
	}
}

// A client that leaves what it asked for unread loses its connection, however small each
// answer is and however many streams have ended: what is not read takes memory.
func TestUnreadMessagesOfGRPC(t *testing.T) {
	t.Parallel()
	r := startRoomy(t, func(_ *engine.Config, c *a2a.Config) {
		c.WriteTimeout, c.ReadRate = 300*time.Millisecond, 100<<20
	})
	id := r.pour(1, 50_000)
	_, at := serveGRPC(t, r.server, a2a.GRPCConfig{})
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deaf := newDeafClient(t, at)
			deaf.call(at, healthpb.Health_Watch_FullMethodName, &healthpb.HealthCheckRequest{}) // the connection has another use
			for range 100 {
				deaf.call(at, c.method, c.m)
			}
			select {
			case <-deaf.closed:
			case <-time.After(time.Minute):
				t.Error("the connection is still open")
			}
		})
	}
}

// A stream of small events that nobody reads ends, however little of it the transport takes:
// its sender is never stuck there.
func TestUnreadEventsOfGRPC(t *testing.T) {
	t.Parallel()
	r := startRoomy(t, func(_ *engine.Config, c *a2a.Config) { c.WriteTimeout = 300 * time.Millisecond })
	_, at := serveGRPC(t, r.server, a2a.GRPCConfig{})
	deaf := newDeafClient(t, at)
	deaf.call(at, a2apb.A2AService_SendStreamingMessage_FullMethodName, &a2apb.SendMessageRequest{Message: textMessage("m", "/pour n=1000 size=1000")})
	select {
	case <-deaf.closed: // nobody else uses the connection
	case <-time.After(time.Minute):
		t.Error("the connection is still open")
	}
}
