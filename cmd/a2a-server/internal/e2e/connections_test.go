package e2e_test

import (
	"bufio"
	"bytes"
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

	"a2a-server/internal/limits"
	"a2a-server/internal/testserver"
)

// line is a connection that a test writes requests to.
type line struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func (in *instance) dial(t *testing.T) *line {
	t.Helper()
	return lineTo(t, in.server.Addr())
}

// lineTo returns a connection to an address.
func lineTo(t *testing.T, to net.Addr) *line {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	l := &line{conn, t, bufio.NewReader(conn)}
	l.inTime()
	return l
}

func (l *line) write(text string) {
	l.t.Helper()
	if _, err := io.WriteString(l, text); err != nil {
		l.t.Fatal(err)
	}
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

// A request that may have a second length is the last of its connection: a proxy in front may
// have taken the end of its body for another request. A single length leaves the connection
// open.
func TestSecondLengthEndsTheConnection(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory"}))
	const chunked, length = "Transfer-Encoding: chunked\r\n", "Content-Length: 46\r\n"
	kept := strings.Replace(list, "1.1", "1.0", 1) + "Connection: keep-alive\r\n"
	good := list + length + "\r\n" + listBody
	for name, tc := range map[string]struct {
		text  string
		stays bool
	}{
		"a length":                        {good, true},
		"chunked":                         {list + chunked + "\r\n" + chunkedBody(), false},
		"both":                            {list + length + chunked + "\r\n" + chunkedBody(), false},
		"both, the other way, in letters": {list + "transfer-ENCODING:  Chunked\r\ncontent-LENGTH:46\r\n\r\n" + chunkedBody(), false},
		"both, to a probe":                {"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + length + chunked + "\r\n0\r\n\r\n", false},
		"both in HTTP/1.0":                {kept + length + chunked + "\r\n" + listBody, false},
		"a length in HTTP/1.0":            {kept + length + "\r\n" + listBody, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := in.dial(t)
			if status, body, closed := l.ask(probe); status != http.StatusOK || closed {
				t.Fatalf("a probe before = %d %s, closed %t", status, body, closed)
			}
			l.write(tc.text + good)
			status, body, closed := l.ask()
			if status != http.StatusOK || closed == tc.stays {
				t.Fatalf("%d %s, closed %t, want 200, closed %t", status, body, closed, !tc.stays)
			}
		})
	}
}

// What the server refuses at the URL of JSON-RPC is an error of JSON-RPC also where that
// URL has a path, which a proxy passes on (K1).
func TestRefusedBelowAPath(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory", "public_url": "http://localhost/agent", "limits.connections": "1"}))
	if status, body, _ := in.dial(t).ask(probe); status != http.StatusOK {
		t.Fatalf("a probe = %d %s", status, body)
	}
	for _, path := range []string{"/", "/agent", "/agent/"} {
		status, body, _ := in.dial(t).ask("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 46\r\n\r\n" + listBody)
		if status != http.StatusServiceUnavailable || !strings.HasPrefix(body, `{"jsonrpc":"2.0","id":null,"error":{"code":-32`) {
			t.Errorf("POST %s = %d %s, want 503 and an error of JSON-RPC", path, status, body)
		}
	}
}

// The probes are found below the path of public_url, too: the page names them there, and
// so does whoever gives that URL to the command health.
func TestProbesBelowAPath(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory", "public_url": "http://localhost/agent"}))
	for request, want := range map[string]int{
		"GET /readyz": 200, "GET /agent/readyz": 200, "GET /agent/livez": 200, "GET /agents/readyz": 404, "GET /agent/readyz/": 404,
		"HEAD /agent/readyz": 200, "POST /agent/readyz": 405,
	} {
		method, path, _ := strings.Cut(request, " ")
		if status, body := in.do(t, method, path, ""); status != want {
			t.Errorf("%s = %d %s, want %d", request, status, body, want)
		}
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
	until(t, "a connection that was closed is not counted", func() bool {
		status, _, _ := in.dial(t).ask(read)
		return status == http.StatusOK
	})
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
			c := load(t, map[string]string{"store": "memory", "limits.grace": "50ms"})
			c.Inside.Limits = func(l *limits.Limits) { l.Requests = 2 }
			in := start(t, c)
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
				a := in.fetch(t, http.MethodGet, "/tasks", "")
				refused = a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != "" && strings.Contains(a.Body, "too many requests")
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
	s, err := testserver.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if probe, err = http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr().String()+"/livez", nil); err != nil {
		t.Fatal(err)
	}
	stop, _ := run(t, s)
	if err := <-answered; err == nil {
		t.Error("a request is answered before the log is written")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}
