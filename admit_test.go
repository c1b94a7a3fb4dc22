package a2aserver_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	a2aserver "a2a-server"
)

// line is a connection that a test writes requests to.
type line struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func (in *instance) dial(t *testing.T) *line {
	t.Helper()
	return lineTo(t, in.server.Addr(), nil)
}

// inTime gives what follows on a connection a minute.
func (l *line) inTime() {
	l.t.Helper()
	if err := l.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		l.t.Fatal(err)
	}
}

// answer reads the answer to a request of a method.
func (l *line) answer(method string) (a answered, closes bool) {
	l.t.Helper()
	resp, err := http.ReadResponse(l.r, &http.Request{Method: method})
	if err == nil {
		a, err = answerOf(resp)
	}
	if err != nil {
		l.t.Fatalf("the answer to a %s: %v", method, err)
	}
	return a, resp.Close
}

// ask sends texts one after the other and returns the answer, and whether the server
// closes the connection after it.
func (l *line) ask(texts ...string) (status int, body string, closed bool) {
	l.t.Helper()
	for _, text := range texts {
		l.write(text)
	}
	a, closed := l.answer(http.MethodPost)
	if closed {
		if _, err := l.r.ReadByte(); errors.Is(err, os.ErrDeadlineExceeded) {
			l.t.Errorf("%q: the connection stays", texts)
		}
	}
	return a.Status, a.Body, closed
}

// list is a request that is answered with 200, without the end of its header and its
// body of 46 bytes.
const (
	list     = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	listBody = `{"jsonrpc":"2.0","id":1,"method":"ListTasks" }`
)

func chunkedBody() string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(listBody), listBody) }

// A request that says twice how long it is is refused, in whatever way it comes, and its
// connection closed; what says it once is served.
func TestLengthIsSaidOnce(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory"}))
	const chunked, length = "Transfer-Encoding: chunked\r\n", "Content-Length: 46\r\n"
	good := []string{list + length + "\r\n" + listBody}
	for name, tc := range map[string]struct {
		before []string // requests on the same connection, each answered with 200
		ask    []string
		status int
	}{
		"both":                      {nil, []string{list + length + chunked + "\r\n" + chunkedBody()}, 400},
		"both, the other way":       {nil, []string{list + chunked + length + "\r\n" + chunkedBody()}, 400},
		"both, in other letters":    {nil, []string{list + "content-LENGTH:46\r\ntransfer-ENCODING:  Chunked\r\n\r\n" + chunkedBody()}, 400},
		"both, in HTTP/1.0":         {nil, []string{strings.Replace(list, "1.1", "1.0", 1) + length + chunked + "\r\n" + listBody}, 400},
		"both, to a probe":          {nil, []string{"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n" + chunked + "\r\n0\r\n\r\n"}, 400},
		"both, in pieces":           {nil, strings.SplitAfter(list+length+chunked+"\r\n"+chunkedBody(), "e"), 400},
		"both, after a good one":    {good, []string{list + length + chunked + "\r\n" + chunkedBody()}, 400},
		"both, after a chunked one": {[]string{list + chunked + "\r\n" + chunkedBody()}, []string{list + length + chunked + "\r\n" + chunkedBody()}, 400},
		"chunked":                   {nil, []string{list + chunked + "\r\n", chunkedBody()}, 200},
		"chunked, in pieces":        {nil, strings.SplitAfter(list+chunked+"\r\n"+chunkedBody(), "e"), 200},
		"chunked, after others":     {[]string{good[0], list + chunked + "\r\n" + chunkedBody(), "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"}, []string{list + chunked + "\r\n" + chunkedBody()}, 200},
		"once":                      {nil, good, 200},
		"names that only begin so":  {nil, []string{list + "Content-Lengthy: 46\r\n" + chunked + "\r\n" + chunkedBody()}, 200},
		"long lines":                {nil, []string{list + "X: " + strings.Repeat("content-length: 5 ", 1000) + "\r\n" + chunked + "\r\n" + chunkedBody()}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := in.dial(t)
			for _, request := range tc.before {
				if status, body, closed := l.ask(request); status != http.StatusOK || closed {
					t.Fatalf("%q = %d %s, closed %t", request, status, body, closed)
				}
			}
			status, body, closed := l.ask(tc.ask...)
			if status != tc.status || closed != (tc.status == http.StatusBadRequest) {
				t.Errorf("%d %s, closed %t, want %d", status, body, closed, tc.status)
			}
		})
	}
}

// What the server refuses at the URL of JSON-RPC is an error of JSON-RPC also where that
// URL has a path, which a proxy passes on (K1).
func TestRefusedBelowAPath(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory", "public_url": "http://localhost/agent"}))
	for _, path := range []string{"/", "/agent", "/agent/"} {
		request := "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 46\r\nTransfer-Encoding: chunked\r\n\r\n"
		if status, body, _ := in.dial(t).ask(request + chunkedBody()); status != http.StatusBadRequest || !strings.HasPrefix(body, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`) {
			t.Errorf("POST %s = %d %s, want 400 and an error of JSON-RPC", path, status, body)
		}
	}
}

// The probes are found below the path of public_url, too: the page names them there, and
// so does whoever gives that URL to the command health.
func TestProbesBelowAPath(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory", "public_url": "http://localhost/agent"}))
	for path, want := range map[string]int{"/readyz": 200, "/agent/readyz": 200, "/agent/livez": 200, "/agents/readyz": 404, "/agent/readyz/": 404} {
		if status, body := in.get(t, path); status != want {
			t.Errorf("GET %s = %d %s, want %d", path, status, body, want)
		}
	}
	for method, want := range map[string]int{http.MethodHead: 200, http.MethodPost: 405} {
		if status, body := in.do(t, method, "/agent/readyz", ""); status != want {
			t.Errorf("%s /agent/readyz = %d %s, want %d", method, status, body, want)
		}
	}
}

// A body may have whatever lines: the header of the next request begins after it.
func TestBodyIsNoHeader(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory"}))
	body := "{\n\n\"jsonrpc\":\"2.0\",\n\"id\":1,\r\n\r\n\"method\":\n\"ListTasks\"\n}\r\n"
	l := in.dial(t)
	for range 3 {
		if status, text, closed := l.ask(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", list, len(body), body)); status != http.StatusOK || closed {
			t.Fatalf("%d %s, closed %t", status, text, closed)
		}
		if status, text, closed := l.ask(list + "Transfer-Encoding: chunked\r\n\r\n" + chunkedBody()); status != http.StatusOK || closed {
			t.Fatalf("%d %s, closed %t", status, text, closed)
		}
	}
	if status, _, _ := l.ask(list + "Content-Length: 46\r\nTransfer-Encoding: chunked\r\n\r\n" + chunkedBody()); status != http.StatusBadRequest {
		t.Errorf("both = %d, want 400", status)
	}
}

// Of a request that comes with the one before it the beginning may not have been seen:
// its length is not believed when it is chunked.
func TestChunkedBehindAnother(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory"}))
	first := list + "Content-Length: 46\r\n\r\n" + listBody
	for name, second := range map[string]string{
		"whole":    list + "Transfer-Encoding: chunked\r\n\r\n" + chunkedBody(),
		"smuggled": list + "Content-Length: 46\r\nTransfer-Encoding: chunked\r\n\r\n" + chunkedBody(),
	} {
		l := in.dial(t)
		if status, body, _ := l.ask(first + second); status != http.StatusOK {
			t.Fatalf("%s: the first = %d %s", name, status, body)
		}
		if status, body, closed := l.ask(); status != http.StatusBadRequest || !closed {
			t.Errorf("%s: the second = %d %s, closed %t, want 400 and closed", name, status, body, closed)
		}
	}
	l := in.dial(t)
	l.ask(first + list + "Content-Length: 46\r\n")
	if status, body, closed := l.ask("Transfer-Encoding: chunked\r\n\r\n" + chunkedBody()); status != http.StatusBadRequest || !closed {
		t.Errorf("one that has begun before: %d %s, closed %t, want 400 and closed", status, body, closed)
	}
	l = in.dial(t)
	l.ask(first + first)
	if status, body, closed := l.ask(); status != http.StatusOK || closed {
		t.Errorf("a second one with a length = %d %s, closed %t", status, body, closed)
	}
}

const probe, read = "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /tasks HTTP/1.1\r\nHost: localhost\r\n\r\n"

// Beyond the limit of connections probes are answered, and everything else is refused.
func TestConnectionsBeyondTheLimit(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory", "limits.connections": "4"}))
	var taken []*line
	for range 4 {
		l := in.dial(t)
		if status, body, closed := l.ask(read); status != http.StatusOK || closed {
			t.Fatalf("within the limit: %d %s, closed %t", status, body, closed)
		}
		taken = append(taken, l)
	}
	check := func() {
		t.Helper()
		if status, body, closed := in.dial(t).ask(read); status != http.StatusServiceUnavailable || !closed || !strings.Contains(body, "too many open connections") {
			t.Errorf("beyond the limit: %d %s, closed %t, want 503 and closed", status, body, closed)
		}
		if status, body, closed := in.dial(t).ask(probe); status != http.StatusOK || !closed || body != "ok\n" {
			t.Errorf("a probe beyond the limit: %d %s, closed %t, want it answered, and closed", status, body, closed)
		}
	}
	check()
	for range 50 {
		in.dial(t) // and says nothing
	}
	check()
	if status, body, closed := taken[0].ask(read); status != http.StatusOK || closed {
		t.Errorf("within the limit: %d %s, closed %t", status, body, closed)
	}
	_ = taken[1].Close()
	for deadline := time.Now().Add(time.Minute); ; { // until the server has noticed
		if status, _, _ := in.dial(t).ask(read); status == http.StatusOK {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("a connection that was closed is counted")
		}
	}
	if len(in.log.find("connections beyond limits.connections are refused, except for probes")) != 1 {
		t.Error("the log does not say once that the limit was met")
	}
}

// Requests are counted over all connections; a stream is one. Probes do not count.
func TestRequestsBeyondTheLimit(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			in := start(t, load(t, map[string]string{"store": "memory", "limits.grace": "50ms"}).WithLimits(func(l *a2aserver.Limits) { l.Requests = 2 }))
			if protocol == "HTTP/2.0" {
				in.useHTTP2(t)
			}
			parked := in.send(t, "m1", "/transfer_money amount=5 to=bob")
			in.follow(t, request(t, "SubscribeToTask", map[string]any{"id": parked.ID}))
			if status, body := in.get(t, "/tasks"); status != http.StatusOK {
				t.Errorf("within the limit: %d %s", status, body)
			}
			// half begins a request whose body does not end. ended is closed when it is answered.
			half := func() (more *io.PipeWriter, ended chan struct{}) {
				held, more := io.Pipe()
				ended = make(chan struct{})
				go func() {
					defer close(ended)
					defer held.Close() // the transport reads on after an early answer
					r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, in.url, held)
					if err != nil {
						t.Error(err)
						return
					}
					r.Header.Set("Content-Type", "application/json")
					if resp, err := in.client.Do(r); err == nil {
						_ = resp.Body.Close()
					}
				}()
				_, _ = more.Write([]byte("{")) // fails when the request is refused before
				return more, ended
			}
			more, ended := half()
			refused := false
			for deadline := time.Now().Add(time.Minute); !refused && time.Now().Before(deadline); {
				select {
				case <-ended: // the list before it still had its place
					more, ended = half()
				default:
				}
				resp := in.open(t, http.MethodGet, "/tasks", "")
				body, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				refused = resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "" && strings.Contains(string(body), "too many requests")
			}
			if !refused {
				t.Error("a request beyond the limit is answered")
			}
			if status, body := in.get(t, "/livez"); status != http.StatusOK {
				t.Errorf("a probe: %d %s", status, body)
			}
			_ = more.CloseWithError(io.ErrUnexpectedEOF)
			<-ended
		})
	}
}

// The log says which limits do not fit.
func TestLimitsThatDoNotFit(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory", "limits.connections": "8", "limits.streams": "8"}))
	in.get(t, "/livez") // the log comes before answers
	lines := in.log.find("limits.connections or limits.streams are lowered: raise the limit of open files (ulimit -n), or set limits that fit")
	if len(lines) != 1 || lines[0]["connections"] != 8.0 || lines[0]["streams"] != 6.0 {
		t.Errorf("the log says %v", lines)
	}
}

// What the operator has to know is logged before the first request is answered.
func TestLogComesBeforeAnswers(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"store": "memory"})
	var probe *http.Request
	answered := make(chan error, 1)
	c.Log = zerolog.New(writer(func(line []byte) {
		if !bytes.Contains(line, []byte(`"message":"listening"`)) {
			return
		}
		client := &http.Client{Timeout: 300 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(probe)
		if err == nil {
			_ = resp.Body.Close()
		}
		answered <- err
	}))
	s, err := a2aserver.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if probe, err = http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr().String()+"/livez", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	if err := <-answered; err == nil {
		t.Error("a request is answered before the log is written")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
