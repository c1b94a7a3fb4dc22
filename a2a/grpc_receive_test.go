package a2a_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/rs/zerolog"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"a2a-server/a2a"
	"a2a-server/task/engine"
)

// rawClient is a client of HTTP/2 that sends the bytes that it is told to send.
type rawClient struct {
	t      *testing.T
	at     string
	frames *http2.Framer
	next   uint32
}

func newRawClient(t *testing.T, at string, settings ...http2.Setting) *rawClient {
	t.Helper()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	c := &rawClient{t: t, at: at, frames: http2.NewFramer(conn, conn), next: 1}
	c.frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_, err = io.WriteString(conn, http2.ClientPreface)
	c.must(err)
	c.must(c.frames.WriteSettings(settings...))
	return c
}

func (c *rawClient) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// call begins a call of a method with some data, and returns its stream. Who reads notices that
// the connection is closed.
func (c *rawClient) call(method string, data []byte, end bool, more ...string) (id uint32) {
	c.t.Helper()
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	all := append([]string{
		":method", "POST", ":scheme", "http", ":path", method, ":authority", c.at,
		"content-type", "application/grpc", "te", "trailers", "authorization", "Bearer alice",
	}, more...)
	for i := 0; i < len(all); i += 2 {
		c.must(e.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]}))
	}
	id = c.next
	c.next += 2
	_ = c.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true})
	_ = c.frames.WriteData(id, end, data)
	return id
}

// read reads a frame, and answers settings and pings.
func (c *rawClient) read() (http2.Frame, error) {
	f, err := c.frames.ReadFrame()
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			_ = c.frames.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			_ = c.frames.WritePing(true, f.Data)
		}
	}
	return f, err
}

// closed waits until the server closes the connection.
func (c *rawClient) closed() {
	c.t.Helper()
	var err error
	for err == nil {
		_, err = c.read()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Error("the connection is still open")
	}
}

// ended returns the error that a stream ends with; 0: the next one that ends.
func (c *rawClient) ended(id uint32) error {
	c.t.Helper()
	for {
		f, err := c.read()
		c.must(err)
		end, is := f.(*http2.MetaHeadersFrame)
		if !is || id != 0 && end.StreamID != id || !end.StreamEnded() {
			continue
		}
		st := &spb.Status{}
		for _, h := range end.RegularFields() {
			switch h.Name {
			case "grpc-status":
				code, err := strconv.Atoi(h.Value)
				c.must(err)
				st.Code = int32(code)
			case "grpc-status-details-bin":
				b, err := base64.RawStdEncoding.DecodeString(h.Value)
				c.must(err)
				c.must(proto.Unmarshal(b, st))
			}
		}
		return status.ErrorProto(st)
	}
}

// prefixed returns a message after its length, or after another one.
func prefixed(m []byte, length int) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(length)), m...)
}

// The library refuses what is too large or malformed, with codes of its own; the connection
// stays.
func TestRefusedMessagesOfGRPC(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) { c.MaxBody = 1 << 20; c.Bodies = 4 << 20 })
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{})
	m, err := proto.Marshal(&a2apb.SendMessageRequest{Message: textMessage("m", "x")})
	if err != nil {
		t.Fatal(err)
	}
	compressed := prefixed(m, len(m))
	compressed[0] = 1
	for name, tc := range map[string]struct {
		data []byte
		end  bool
		code codes.Code
	}{
		"too large":        {prefixed(nil, 1<<20+1), false, codes.ResourceExhausted},
		"larger than any":  {prefixed(nil, 1<<32-1), false, codes.ResourceExhausted},
		"compressed":       {compressed, true, codes.Internal},
		"unknown flags":    {append([]byte{2}, compressed[1:]...), true, codes.Internal},
		"no message":       {nil, true, codes.Internal},
		"half a length":    {prefixed(nil, 0)[:3], true, codes.Internal},
		"half a message":   {prefixed(m, len(m))[:9], true, codes.Internal},
		"a second message": {append(prefixed(m, len(m)), prefixed(m, len(m))...), true, codes.Internal},
		"a second, large":  {append(prefixed(m, len(m)), prefixed(nil, 1<<30)...), true, codes.ResourceExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newRawClient(t, at)
			if err := c.ended(c.call(a2apb.A2AService_SendMessage_FullMethodName, tc.data, tc.end)); status.Code(err) != tc.code {
				t.Errorf("the call ended with %v, want %v", err, tc.code)
			}
			if err := c.ended(c.call(a2apb.A2AService_SendMessage_FullMethodName, prefixed(m, len(m)), true, "a2a-version", "1.0")); err != nil {
				t.Errorf("the next call of the connection: %v", err)
			}
		})
	}
	t.Run("no room", func(t *testing.T) {
		t.Parallel()
		c := newRawClient(t, at)
		for range 4 { // a caller may have one at a time
			c.call(a2apb.A2AService_SendMessage_FullMethodName, prefixed(nil, 1<<20), false)
		}
		for range 3 {
			wantStatus(t, "a message for which there is no memory", c.ended(0), codes.Unavailable, "UNAVAILABLE")
		}
	})
}
