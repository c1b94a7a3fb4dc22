package a2a_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"a2a-server/a2a"
)

// parked makes a task that waits for approval, and returns its id.
func parked(t *testing.T, url string) string {
	t.Helper()
	_, body := post(t, url+"/message:send", "application/json", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"/transfer {\"amount\":5,\"to\":\"bob\"}"}]}}`)
	_, rest, _ := strings.Cut(body, `{"task":{"id":"`)
	id, _, ok := strings.Cut(rest, `"`)
	if !ok {
		_, rest, _ = strings.Cut(body, `"id":"`)
		id, _, _ = strings.Cut(rest, `"`)
	}
	if len(id) != 36 {
		t.Fatalf("no task in %s", body)
	}
	return id
}

// open begins to read a stream.
func open(t *testing.T, url string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// An idle stream says that it lives, and keeps saying it.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	url := start(t, func(c *a2a.Config) { c.Heartbeat = 5 * time.Millisecond }).URL
	resp := open(t, url+"/tasks/"+parked(t, url)+":subscribe")
	defer func() { _ = resp.Body.Close() }()
	beats := 0
	for lines := bufio.NewScanner(resp.Body); beats < 3 && lines.Scan(); {
		if lines.Text() == ": still here" {
			beats++
		}
	}
	if beats != 3 {
		t.Errorf("%d heartbeats, want 3", beats)
	}
}

func TestResumeWithNothingNew(t *testing.T) {
	t.Parallel()
	url := start(t, func(c *a2a.Config) { c.Heartbeat = time.Hour }).URL
	r := mustGet(t, url+"/tasks/"+parked(t, url)+":subscribe")
	first := open(t, r.URL.String())
	id, err := bufio.NewReader(first.Body).ReadString('\n')
	_ = first.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Last-Event-ID", strings.TrimSpace(strings.TrimPrefix(id, "id: ")))
	resp, err := http.DefaultClient.Do(r) // returns when the header is there
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status = %d", resp.StatusCode)
	}
}

// At shutdown a stream ends with a comment and in order, not by a cut connection.
func TestShutdownEndsStreams(t *testing.T) {
	t.Parallel()
	base, shutdown := context.WithCancelCause(context.Background())
	defer shutdown(nil)
	url := start(t, nil, func(s *http.Server) { s.BaseContext = func(net.Listener) context.Context { return base } }).URL
	resp := open(t, url+"/tasks/"+parked(t, url)+":subscribe")
	defer func() { _ = resp.Body.Close() }()
	r := bufio.NewReader(resp.Body)
	if _, err := r.ReadString('\n'); err != nil { // the stream has begun
		t.Fatal(err)
	}
	shutdown(a2a.ErrShutdown)
	rest, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("the stream was cut: %v", err)
	}
	if !strings.HasSuffix(string(rest), ": the server is shutting down; continue with Last-Event-ID\n\n") {
		t.Errorf("the stream ended with %q", rest)
	}
}

// A client that reads nothing is cut off when a write has taken too long, and
// everybody else gets everything meanwhile.
func TestStalledReader(t *testing.T) {
	t.Parallel()
	url := start(t, func(c *a2a.Config) { c.WriteTimeout = time.Second }).URL
	_, body := post(t, url+"/message:stream", "application/json", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"/stream n=5000"}]}}`)
	ids, data := frames(t, body)
	if len(ids) < 5000 {
		t.Fatalf("%d frames", len(ids))
	}
	_, rest, _ := strings.Cut(data[0], `"id":"`)
	id := rest[:36]

	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		t.Fatalf("a %T", conn)
	}
	if err := tcp.SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	// Many requests for the whole stream, none of whose answers is read: more than
	// the buffers between us hold.
	request := fmt.Sprintf("GET /tasks/%s:subscribe HTTP/1.1\r\nHost: x\r\nLast-Event-ID: %s\r\n\r\n", id, ids[0])
	if _, err := io.WriteString(conn, strings.Repeat(request, 64)); err != nil {
		t.Fatal(err)
	}
	// Meanwhile another reader gets all of it, again and again.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/tasks/"+id+":subscribe", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Last-Event-ID", ids[0])
	for range 5 {
		answer := do(t, r)
		if got, _ := frames(t, answer.body); answer.status != 200 || len(got) != len(ids)-1 {
			t.Fatalf("beside a stalled reader: %d, %d frames, want %d", answer.status, len(got), len(ids)-1)
		}
	}
	// The stalled one is cut off: its connection ends, before all answers came.
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	got := 0
	buf := make([]byte, 1<<20)
	for {
		n, err := conn.Read(buf)
		got += n
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("the server still writes to a reader that had stopped")
			}
			break
		}
	}
	if all := 64 * (len(body) - len(data[0])); got >= all {
		t.Errorf("read %d bytes after having stalled, of %d in all; want it cut off", got, all)
	}
}

// A client that goes away leaves its task running.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	url := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/message:stream",
		strings.NewReader(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"/stream n=2000"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(resp.Body)
	first := ""
	for !strings.HasPrefix(first, "data: ") {
		if first, err = reader.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	_ = resp.Body.Close()
	_, rest, _ := strings.Cut(first, `"id":"`)
	again := open(t, url+"/tasks/"+rest[:36]+":subscribe")
	defer func() { _ = again.Body.Close() }()
	body, err := io.ReadAll(again.Body)
	if err != nil {
		t.Fatal(err)
	}
	ended := again.StatusCode == http.StatusBadRequest // it was quicker than we were
	if !ended && !strings.Contains(string(body), "TASK_STATE_COMPLETED") {
		t.Errorf("the stream after a disconnect = %d, ends without completion", again.StatusCode)
	}
	task := do(t, mustGet(t, url+"/tasks/"+rest[:36])).body
	if !strings.Contains(task, "TASK_STATE_COMPLETED") || !strings.Contains(task, "chunk 1999") {
		t.Errorf("the task after a disconnect is not whole: %.300s", task)
	}
}

func mustGet(t *testing.T, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// broken is the writer of a response whose connection fails while it writes. As in HTTP/2,
// what is written may still be read after that.
type broken struct {
	*httptest.ResponseRecorder
	reads []byte
}

func (w *broken) Write(p []byte) (int, error) {
	w.reads = p
	return 0, io.ErrClosedPipe
}

// What a stream could not write does not become what another one writes.
func TestFailedWriteKeepsItsBytes(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	id := parked(t, s.URL)
	fail := func(request int) *broken {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"SubscribeToTask","params":{"id":%q}}`, request, id)
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := &broken{ResponseRecorder: httptest.NewRecorder()}
		s.Config.Handler.ServeHTTP(w, r)
		return w
	}
	for i := range 100 {
		w := fail(2 * i)
		was := string(w.reads)
		if !strings.Contains(was, id) {
			t.Fatalf("the stream begins with %q", was)
		}
		fail(2*i + 1)
		if got := string(w.reads); got != was {
			t.Fatalf("it is read as\n%s\nand was\n%s", got, was)
		}
	}
}

// panicking is the writer of a response that panics when it has written a number of times.
type panicking struct {
	*httptest.ResponseRecorder
	writes atomic.Int64
}

func (w *panicking) Write(p []byte) (int, error) {
	if w.writes.Add(-1) < 0 {
		panic("no more")
	}
	return len(p), nil
}

// A stream that panics, at its beginning or later, gives its place back.
func TestPanicGivesPlaceBack(t *testing.T) {
	t.Parallel()
	for _, writes := range []int64{0, 1} {
		// A heartbeat would panic, too, in a goroutine of its own.
		s := start(t, func(c *a2a.Config) { c.Streams, c.Heartbeat = 1, time.Hour })
		task := parked(t, s.URL)
		w, ended := &panicking{ResponseRecorder: httptest.NewRecorder()}, make(chan any)
		w.writes.Store(writes)
		go func() {
			defer func() { ended <- recover() }()
			s.Config.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/tasks/"+task+":subscribe", nil))
		}()
		if writes > 0 {
			soon(t, "the stream begins", func() bool { return w.writes.Load() == 0 })
			post(t, s.URL+"/tasks/"+task+":cancel", "application/json", "{}")
		}
		if got := <-ended; got != http.ErrAbortHandler { //nolint:errorlint // the value itself is what net/http compares with
			t.Fatalf("after %d writes the stream ends with %v", writes, got)
		}
		again := open(t, s.URL+"/tasks/"+task+":subscribe") // 200, or 400 because it was canceled
		if again.StatusCode == http.StatusServiceUnavailable {
			t.Errorf("after %d writes the place is not free: %s", writes, again.Status)
		}
		_ = again.Body.Close()
	}
}
