package e2e_test

import (
	"bufio"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
)

// A stream that waits has a stack of a few KiB, however much its request has needed: 8, and
// 2 of net/http's goroutine that reads. With the race detector it is twice that, and the
// runtime begins with larger stacks where others were large; the next step would be 36.
func TestIdleStreamsHaveSmallStacks(t *testing.T) { //nolint:paralleltest // it measures all goroutines
	in := start(t, load(t, map[string]string{"store": "memory", "limits.grace": "50ms"}))
	parked := in.send(t, "m1", "/transfer_money amount=5 to=bob")
	rpc := request(t, "SubscribeToTask", map[string]any{"id": parked.ID})
	var open idleStreams
	defer open.close()
	overRPC := open.measure(t, in.server.Addr(), fmt.Sprintf("POST / HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: %d", len(rpc)), rpc)
	overREST := open.measure(t, in.server.Addr(), "GET /tasks/"+parked.ID+":subscribe HTTP/1.1", "")
	if most := uint64(28 << 10); overRPC > most || overREST > most {
		t.Errorf("an idle stream has %d bytes of stacks over JSON-RPC and %d over HTTP+JSON", overRPC, overREST)
	}
}

// idleStreams are connections whose streams wait.
type idleStreams []net.Conn

func (s *idleStreams) close() {
	for _, c := range *s {
		_ = c.Close()
	}
}

// measure opens streams, and returns the bytes of stacks for each.
func (s *idleStreams) measure(t *testing.T, at net.Addr, first, body string) uint64 {
	t.Helper()
	const streams = 200
	before := stacks()
	for range streams {
		c, err := net.Dial(at.Network(), at.String())
		if err != nil {
			t.Fatal(err)
		}
		*s = append(*s, c)
		if _, err := fmt.Fprintf(c, "%s\r\nHost: %s\r\nA2A-Version: 1.0\r\n\r\n%s", first, at, body); err != nil {
			t.Fatal(err)
		}
		for read := bufio.NewScanner(c); !strings.HasPrefix(read.Text(), "data: "); {
			if !read.Scan() {
				t.Fatalf("the stream does not begin: %v", read.Err())
			}
		}
	}
	return (stacks() - before) / streams
}

// stacks returns the bytes of all stacks. The garbage collector halves those of which little
// is used.
func stacks() uint64 {
	for range 5 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.StackInuse
}
