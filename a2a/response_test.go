package a2a_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/auth"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// pipes is a listener whose connections hold nothing: what is written has been read.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	close(l.ended)
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.IPAddr{} }

// roomy is a server with tasks of any size, for a bubble.
type roomy struct {
	*wireServer
	t     *testing.T
	pipes *pipes
}

type poured struct {
	N    int `json:"n"`
	Size int `json:"size"`
}

func startRoomy(t *testing.T, changes ...wireChange) *roomy {
	t.Helper()
	pour := functiontool.Must(functiontool.NewStreaming(functiontool.Config{Name: "pour", Annotations: tool.Annotations{ReadOnly: true}},
		func(_ tool.Context, p poured) iter.Seq2[*tool.Result, error] {
			return func(yield func(*tool.Result, error) bool) {
				text := strings.Repeat("x", p.Size)
				for range p.N {
					if !yield(&tool.Result{Content: text, Streaming: true}, nil) {
						return
					}
				}
			}
		}))
	r := &roomy{t: t, pipes: &pipes{make(chan net.Conn), make(chan struct{})}}
	r.wireServer = startWireServer(t, zerolog.Nop(), append([]wireChange{usual, func(e *engine.Config, c *a2a.Config) {
		e.Tools, c.Card.URL = tool.NewRegistry(tool.NewToolset("test", pour)), "http://test"
	}}, changes...)...)
	srv, ended := &http.Server{Handler: r.handler}, make(chan error)
	go func() { ended <- srv.Serve(r.pipes) }()
	t.Cleanup(func() {
		_ = srv.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return r
}

// pour makes a task with n chunks of size bytes.
func (r *roomy) pour(n, size int) string {
	r.t.Helper()
	m := sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart(fmt.Sprintf("/pour n=%d size=%d", n, size)))
	sent, err := r.engine.Send(r.t.Context(), engine.Send{By: auth.Anonymous(), Message: m})
	if err != nil {
		r.t.Fatal(err)
	}
	a := r.engine.ReserveRead(auth.Anonymous())
	defer a.Release()
	if v, err := a.Await(r.t.Context(), sent); err != nil || v.State() != sdk.TaskStateCompleted {
		r.t.Fatalf("Await() = %v, %v", v, err)
	}
	return sent.Task.String()
}

// dial opens a connection.
func (r *roomy) dial() net.Conn {
	near, far := net.Pipe()
	r.pipes.conns <- far
	r.t.Cleanup(func() { _ = near.Close() })
	return near
}

// request sends a request, with more lines of its header, on a connection of its own and returns
// that.
func (r *roomy) request(method, path, body string, header ...string) net.Conn {
	r.t.Helper()
	near := r.dial()
	version := "1.0"
	if strings.Contains(body, `"message/send"`) {
		version = "0.3"
	}
	header = append(header, "Host: test", "Connection: close", "A2A-Version: "+version, "Content-Type: application/json", fmt.Sprint("Content-Length: ", len(body)))
	if _, err := fmt.Fprintf(near, "%s %s HTTP/1.1\r\n%s\r\n\r\n%s", method, path, strings.Join(header, "\r\n"), body); err != nil {
		r.t.Fatal(err)
	}
	return near
}

// response reads an answer whole.
func (r *roomy) response(c net.Conn) (*http.Response, string) {
	r.t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = resp.Body.Close()
	_ = c.Close()
	return resp, string(body)
}

// Who reads an answer slower than 64 KiB a second is cut off, and what the answer had
// taken is given back; who reads faster gets all of it, however long that takes.
func TestSlowReaderIsCutOff(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		rate  int // bytes a second
		whole bool
	}{{"slow", 48 << 10, false}, {"fast enough", 80 << 10, true}, {"not at all", 0, false}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := startRoomy(t)
				id := r.pour(80, 60<<10) // 4.7 MiB
				began := time.Now()
				c := r.request(http.MethodGet, "/tasks/"+id, "")
				got := 0
				var err error
				for buf := make([]byte, max(tc.rate, 1)); err == nil && tc.rate > 0; {
					var n int
					n, err = io.ReadFull(c, buf)
					if got += n; tc.whole && got > 80*60<<10 {
						break
					}
					time.Sleep(time.Second)
				}
				if tc.rate == 0 {
					time.Sleep(answerTime + time.Second)
				}
				synctest.Wait()
				took := time.Since(began)
				if tc.whole && (got < 80*60<<10 || took < 50*time.Second) {
					t.Errorf("%d bytes came in %v (%v), want all of it", got, took, err)
				}
				if !tc.whole && (got > 2<<20 || took > time.Minute) {
					t.Errorf("%d bytes came in %v, want that it is cut off before", got, took)
				}
				if n := r.engine.Taken(); n != 0 {
					t.Errorf("the answer still takes %d bytes", n)
				}
				_ = c.Close()
			})
		})
	}
}

const answerTime = 10 * time.Second

// An answer takes its memory until it has been written to the socket. Beyond the limit
// there is 503 with Retry-After for whatever only reads, in every binding.
func TestUnreadAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = 8 << 20
		r := startRoomy(t, func(c *engine.Config, _ *a2a.Config) { c.Answers, c.Page = limit, 1<<20 })
		id := r.pour(10, 60<<10) // 600 KiB, of which each answer takes 2.4 MiB
		var unread []net.Conn
		for range 40 {
			unread = append(unread, r.request(http.MethodGet, "/tasks/"+id, ""))
			synctest.Wait()
			if n := r.engine.Taken(); n == 0 || n > limit/2 {
				t.Fatalf("%d bytes are taken, want some, and at most half of %d for one caller", n, limit)
			}
		}
		taken := r.engine.Taken()
		get := func(method, path, body string) (*http.Response, string) {
			t.Helper()
			resp, text := r.response(r.request(method, path, body))
			if r.engine.Taken() != taken {
				t.Errorf("%s %s: %d bytes are taken afterwards, %d before", method, path, r.engine.Taken(), taken)
			}
			return resp, text
		}
		for _, path := range []string{"/tasks/" + id, "/tasks?includeArtifacts=true"} {
			if resp, body := get(http.MethodGet, path, ""); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "UNAVAILABLE") || !strings.Contains(body, "try again") { //nolint:bodyclose // it has been read, or is closed with the test
				t.Errorf("GET %s = %d %.300s, want 503 UNAVAILABLE with Retry-After", path, resp.StatusCode, body)
			}
		}
		for _, call := range []string{`"GetTask","params":{"id":"` + id + `"}`, `"ListTasks","params":{"includeArtifacts":true}`} {
			if _, body := get(http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":`+call+`}`); !strings.Contains(body, `"code":-32603`) || !strings.Contains(body, "UNAVAILABLE") { //nolint:bodyclose // it has been read, or is closed with the test
				t.Errorf("%s = %.300s, want UNAVAILABLE", call, body)
			}
		}
		// What costs nothing continues, and what is done is answered.
		if resp, body := get(http.MethodGet, "/tasks", ""); resp.StatusCode != http.StatusOK || !strings.Contains(body, id) || strings.Contains(body, task.Omitted) { //nolint:bodyclose // it has been read, or is closed with the test
			t.Errorf("a list = %d %.300s, want it", resp.StatusCode, body)
		}
		resp, body := get(http.MethodPost, "/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"/pour n=10 size=61440"}]}}`) //nolint:bodyclose // it has been read, or is closed with the test
		if resp.StatusCode != http.StatusOK || !strings.Contains(body, "TASK_STATE_COMPLETED") || !strings.Contains(body, `"`+task.Omitted+`":["artifacts"]`) || len(body) > 4<<10 {
			t.Errorf("a send = %d %.600s, want the task without its artifacts", resp.StatusCode, body)
		}
		for _, c := range unread {
			_ = c.Close()
		}
		synctest.Wait()
		if n := r.engine.Taken(); n != 0 {
			t.Fatalf("%d bytes are taken when nobody reads", n)
		}
		if resp, body := r.response(r.request(http.MethodGet, "/tasks/"+id, "")); resp.StatusCode != http.StatusOK || len(body) < 600<<10 { //nolint:bodyclose // it has been read, or is closed with the test
			t.Errorf("GET = %d, %d bytes; want the whole task", resp.StatusCode, len(body))
		}
	})
}

// What an answer has taken is given back when it has been sent, in every binding.
func TestSentAnswersGiveBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startRoomy(t)
		id := r.pour(10, 60<<10)
		send := `{"message":{"messageId":"m%d","role":"ROLE_USER","parts":[{"text":"/pour n=10 size=61440"}]}}`
		for i, c := range []struct{ method, path, body string }{
			{http.MethodGet, "/tasks/" + id, ""},
			{http.MethodGet, "/tasks?includeArtifacts=true", ""},
			{http.MethodPost, "/message:send", fmt.Sprintf(send, 1)},
			{http.MethodPost, "/message:stream", fmt.Sprintf(send, 2)},
			{http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"` + id + `"}}`},
			{http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"includeArtifacts":true}}`},
			{http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + fmt.Sprintf(send, 3) + `}`},
			{http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":` + fmt.Sprintf(send, 4) + `}`},
		} {
			if resp, body := r.response(r.request(c.method, c.path, c.body)); resp.StatusCode != http.StatusOK || len(body) < 600<<10 { //nolint:bodyclose // it has been read, or is closed with the test
				t.Errorf("%d: %s %s = %d, %d bytes; want all of it", i, c.method, c.path, resp.StatusCode, len(body))
			}
			synctest.Wait()
			if n := r.engine.Taken(); n != 0 {
				t.Fatalf("%d: %s %s has not given %d bytes back", i, c.method, c.path, n)
			}
		}
	})
}

// Small answers and errors are cut off, too, when nobody reads them:
// a client that asks for many of them on few connections would hold them all.
func TestSmallAnswersAreReadInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startRoomy(t)
		id := r.pour(1, 50<<10)
		for _, tc := range []struct{ method, path, body string }{
			{http.MethodGet, "/tasks/" + id, ""},
			{http.MethodGet, "/tasks/nothing", ""},
			{http.MethodGet, "/nothing", ""},
			{http.MethodGet, "/.well-known/agent-card.json", ""},
			{http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":"ListTasks"}`},
			{http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":"Nothing"}`},
		} {
			c := r.request(tc.method, tc.path, tc.body)
			time.Sleep(time.Minute)
			synctest.Wait()
			_ = c.SetReadDeadline(time.Now().Add(time.Minute))
			if text, err := io.ReadAll(c); err != nil || len(text) > 0 {
				t.Errorf("%s %s %s: a minute later %d bytes can be read (%v), want that its connection is closed", tc.method, tc.path, tc.body, len(text), err)
			}
		}
	})
}

// The time for one answer is not that for the next, on the same connection.
func TestTimeOfAnAnswerEndsWithIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startRoomy(t)
		id := r.pour(1, 50<<10)
		near := r.dial()
		in := bufio.NewReader(near)
		for range 3 {
			for _, path := range []string{"/tasks/" + id, "/tasks/nothing", "/.well-known/agent-card.json"} {
				if _, err := fmt.Fprintf(near, "GET %s HTTP/1.1\r\nHost: test\r\n\r\n", path); err != nil {
					t.Fatal(err)
				}
				next(t, in) //nolint:bodyclose // next closes it
				time.Sleep(20 * time.Second)
			}
		}
	})
}
