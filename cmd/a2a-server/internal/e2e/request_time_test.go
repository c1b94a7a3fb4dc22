package e2e_test

import (
	"io"
	"net/http"
	"testing"
)

// Connections whose requests never come to their end do not hold a shutdown up, and are
// no failure of it.
func TestShutdownWithUnreadBodies(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory", "limits.grace": "50ms"}))
	for i := range 20 {
		in.dial(t).write([]string{
			"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
			"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: localhost\r\n",
		}[i%4])
	}
	if status, _ := in.get(t, "/livez"); status != http.StatusOK { // by now all of them are there
		t.Errorf("GET /livez = %d", status)
	}
	in.halt(t)
	in.checkSteps(t)
}

// A request that stops coming is given up, whatever it is for.
func TestRequestsComeInTime(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory", "limits.read_timeout": "3s"}))
	silent := in.dial(t) // a header that never comes
	asked := map[string]*line{}
	for _, head := range []string{
		"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		"POST /message:send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
		"POST /tasks/x:cancel HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n",
	} {
		asked[head] = in.dial(t)
		asked[head].write(head)
	}
	for head, l := range asked {
		if status, body, closed := l.ask(); status != http.StatusRequestTimeout || !closed {
			t.Errorf("%q = %d %s, closed %t, want 408 and closed", head, status, body, closed)
		}
	}
	if _, err := io.ReadAll(silent); err != nil {
		t.Errorf("a connection that says nothing: %v", err)
	}
}
