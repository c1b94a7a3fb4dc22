package a2a_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"a2a-server/a2a"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// parked makes a task that waits for approval, and returns its id.
func parked(t *testing.T, url string) string {
	t.Helper()
	_, body := post(t, url+"/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"/transfer {\"amount\":5,\"to\":\"bob\"}"}]}}`)
	_, rest, _ := strings.Cut(body, `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if len(id) != 36 {
		t.Fatalf("no task in %s", body)
	}
	return id
}

// A stream that has nothing new to say begins at once.
func TestResumeWithNothingNew(t *testing.T) {
	t.Parallel()
	url := start(t, func(c *a2a.Config) { c.Beat = time.Hour }).URL
	stream := url + "/tasks/" + parked(t, url) + ":subscribe"
	id, err := bufio.NewReader(open(t, stream).Body).ReadString('\n') //nolint:bodyclose // it is closed with the test
	if err != nil {
		t.Fatal(err)
	}
	resp := open(t, stream, "Last-Event-ID", strings.TrimSpace(strings.TrimPrefix(id, "id: "))) //nolint:bodyclose // likewise
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
	resp := open(t, url+"/tasks/"+parked(t, url)+":subscribe") //nolint:bodyclose // it is closed with the test
	r := bufio.NewReader(resp.Body)
	if _, err := r.ReadString('\n'); err != nil { // the stream has begun
		t.Fatal(err)
	}
	shutdown(httpd.ErrStopping)
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
	synctest.Test(t, func(t *testing.T) {
		r := startRoomy(t, func(_ *engine.Config, c *a2a.Config) { c.WriteTimeout = time.Second })
		_, whole := r.response(r.request(http.MethodPost, "/message:stream", text("m", "/pour n=500 size=1000", ""))) //nolint:bodyclose // response reads and closes it
		ids, data := frames(t, whole)
		_, rest, _ := strings.Cut(data[0], `"id":"`)
		subscribe := func() net.Conn {
			return r.request(http.MethodGet, "/tasks/"+rest[:36]+":subscribe", "", "Last-Event-ID: "+ids[0])
		}
		stalled := subscribe()
		for range 3 {
			_, body := r.response(subscribe()) //nolint:bodyclose // response reads and closes it
			if got, _ := frames(t, body); len(got) != len(ids)-1 {
				t.Errorf("beside a stalled reader: %d frames, want %d", len(got), len(ids)-1)
			}
		}
		time.Sleep(2 * time.Second)
		if got, err := io.ReadAll(stalled); err != nil || len(got) > len(whole)/2 {
			t.Errorf("%d bytes can be read after having stalled, of %d (%v); want it cut off", len(got), len(whole), err)
		}
	})
}

// A client that goes away leaves its task running.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startRoomy(t)
		conn := r.request(http.MethodPost, "/message:stream", text("m", "/pour n=500 size=1000", ""))
		lines := bufio.NewScanner(conn)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
		}
		_, rest, _ := strings.Cut(lines.Text(), `"id":"`)
		_ = conn.Close()
		synctest.Wait()
		_, task := r.response(r.request(http.MethodGet, "/tasks/"+rest[:36], "")) //nolint:bodyclose // response reads and closes it
		if !strings.Contains(task, "TASK_STATE_COMPLETED") || len(task) < 500*1000 {
			t.Errorf("the task after a disconnect is not whole: %.300s", task)
		}
	})
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
		w := &broken{ResponseRecorder: httptest.NewRecorder()}
		s.Config.Handler.ServeHTTP(w, newRequest(t, http.MethodPost, "/", body))
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
		s := start(t, func(c *a2a.Config) { c.Streams, c.Beat = 1, time.Hour })
		task := parked(t, s.URL)
		w, ended := &panicking{ResponseRecorder: httptest.NewRecorder()}, make(chan any)
		w.writes.Store(writes)
		go func() {
			defer func() { ended <- recover() }()
			s.Config.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/tasks/"+task+":subscribe", nil))
		}()
		if writes > 0 {
			soon(t, "the stream begins", func() bool { return w.writes.Load() == 0 })
			post(t, s.URL+"/tasks/"+task+":cancel", "{}")
		}
		if got := <-ended; got != http.ErrAbortHandler { //nolint:errorlint // the value itself is what net/http compares with
			t.Fatalf("after %d writes the stream ends with %v", writes, got)
		}
		again := open(t, s.URL+"/tasks/"+task+":subscribe") //nolint:bodyclose // 200, or 400 because it was canceled
		if again.StatusCode == http.StatusServiceUnavailable {
			t.Errorf("after %d writes the place is not free: %s", writes, again.Status)
		}
	}
}
