package a2a_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"a2a-server/a2a"
	"a2a-server/task/engine"
)

// Large requests that are on their way hold what has come of them. Beyond what they may
// hold together there is 503 with Retry-After, small ones are served, and what one has held is
// free when it has been answered, or its client has left.
func TestHalfSentBodiesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// One caller may hold a quarter of it: one request, but for what is free.
		r := startRoomy(t, func(_ *engine.Config, c *a2a.Config) { c.MaxBody, c.Bodies = 1<<20, 4<<20 })
		message := func(id string, size int) string {
			head, tail := `{"message":{"messageId":"`+id+`","role":"ROLE_USER","parts":[{"text":"/pour n=1 size=1"}],"metadata":{"x":"`, `"}}}`
			return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
		}
		head := "POST %s HTTP/1.1\r\nHost: test\r\nConnection: close\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
		half := func(path, body string) (net.Conn, error) {
			c := r.dial()
			_, err := fmt.Fprintf(c, head+"%s", path, len(body), body[:len(body)-1])
			return c, err
		}
		large := message("large", 900<<10)
		for _, path := range []string{"/message:send", "/"} {
			first, err := half(path, large)
			if err != nil {
				t.Fatal(err)
			}
			refused := r.dial()
			go func() { _, _ = fmt.Fprintf(refused, head+"%s", path, len(large), large) }() // nobody reads all of it
			resp, body := r.response(refused)                                               //nolint:bodyclose // response reads and closes it
			if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "large requests") {
				t.Errorf("%s: a second large request = %d %.300s, want 503 that says why", path, resp.StatusCode, body)
			}
			if resp, body := r.response(r.request(http.MethodPost, "/message:send", message("small"+fmt.Sprint(len(path)), 1<<10))); resp.StatusCode != http.StatusOK { //nolint:bodyclose // response reads and closes it
				t.Errorf("%s: a small request beside it = %d %.300s, want 200", path, resp.StatusCode, body)
			}
			_ = first.Close()
			synctest.Wait()
		}
		for i := range 3 {
			synctest.Wait() // what the one before has held is free a moment after its answer
			whole := message(fmt.Sprintf("whole-%d", i), 900<<10)
			if resp, body := r.response(r.request(http.MethodPost, "/message:send", whole)); resp.StatusCode != http.StatusOK { //nolint:bodyclose // response reads and closes it
				t.Errorf("large request %d when the others are gone = %d %.300s, want 200", i, resp.StatusCode, body)
			}
		}
	})
}

// A request of which a part is missing is not served, whatever the part that came says.
func TestCutBodies(t *testing.T) {
	t.Parallel()
	url := serve(t)
	for i, cut := range []string{"Content-Length: %d\r\n\r\n%s", "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s"} {
		for path, body := range map[string]string{
			"/message:send": `{"message":{"messageId":"cut","role":"ROLE_USER","parts":[{"text":"hi"}]}}`,
			"/":             `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"cut","role":"ROLE_USER","parts":[{"text":"hi"}]}}}`,
		} {
			c := raw(t, url, fmt.Sprintf("POST "+path+" HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n"+cut, len(body)+1, body))
			if half, ok := c.(*net.TCPConn); !ok || half.CloseWrite() != nil {
				t.Fatal("the connection cannot be closed half")
			}
			resp := next(t, bufio.NewReader(c)) //nolint:bodyclose // next closes it
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("%s, cut %d = %d, want 400", path, i, resp.StatusCode)
			}
		}
	}
	if got := get(t, url+"/tasks"); got.status != http.StatusOK || !strings.Contains(got.body, `"tasks":[]`) {
		t.Errorf("tasks afterwards = %d %s, want none", got.status, got.body)
	}
}
