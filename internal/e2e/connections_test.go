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

	a2aserver "a2a-server"

	"a2a-server/internal/limits"
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

// exchange is what comes on a connection, in pieces, and the status of the next answer. An
// answer with 400 closes the connection, and one with 200 does not.
type exchange struct {
	status int
	pieces []string
}

func answers(status int, pieces ...string) exchange { return exchange{status, pieces} }

// A request that says twice how long it is is refused, in whatever way it comes, and its
// connection closed; what says it once is served. Of a request that comes with the one before
// it the beginning may not have been seen: its length is not believed when it is chunked.
func TestLengthIsSaidOnce(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory"}))
	const chunked, length, options = "Transfer-Encoding: chunked\r\n", "Content-Length: 46\r\n", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n"
	old := strings.Replace(list, "1.1", "1.0", 1)
	kept := old + "Connection: keep-alive\r\n"
	good, goodChunked, both := list+length+"\r\n"+listBody, list+chunked+"\r\n"+chunkedBody(), list+length+chunked+"\r\n"+chunkedBody()
	lines := "{\n\n\"jsonrpc\":\"2.0\",\n\"id\":1,\r\n\r\n\"method\":\n\"ListTasks\"\n}\r\n"
	withLines := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", list, len(lines), lines)
	hides := "{" + strings.Repeat(" ", len(list+length)-3) + "\n\n" + listBody[1:] // an empty line where the header of the next one ends
	for name, all := range map[string][]exchange{
		"both":                      {answers(400, both)},
		"both, the other way":       {answers(400, list+chunked+length+"\r\n"+chunkedBody())},
		"both, in other letters":    {answers(400, list+"content-LENGTH:46\r\ntransfer-ENCODING:  Chunked\r\n\r\n"+chunkedBody())},
		"both, in HTTP/1.0":         {answers(400, old+length+chunked+"\r\n"+listBody)},
		"both, to a probe":          {answers(400, "GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"+chunked+"\r\n0\r\n\r\n")},
		"both, in pieces":           {answers(400, strings.SplitAfter(both, "e")...)},
		"both, after a good one":    {answers(200, good), answers(400, both)},
		"both, after a chunked one": {answers(200, goodChunked), answers(400, both)},
		"chunked":                   {answers(200, list+chunked+"\r\n", chunkedBody())},
		"chunked, in pieces":        {answers(200, strings.SplitAfter(goodChunked, "e")...)},
		"chunked, after others":     {answers(200, good), answers(200, goodChunked), answers(200, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), answers(200, goodChunked)},
		"once":                      {answers(200, good)},
		"names that only begin so":  {answers(200, list+"Content-Lengthy: 46\r\n"+chunked+"\r\n"+chunkedBody())},
		"long lines":                {answers(200, list+"X: "+strings.Repeat("content-length: 5 ", 1000)+"\r\n"+chunked+"\r\n"+chunkedBody())},

		"a body of whatever lines": {answers(200, withLines), answers(200, goodChunked), answers(200, withLines), answers(400, both)},

		"with the one before":                 {answers(200, good+good), answers(200)},
		"chunked, with the one before":        {answers(200, good+goodChunked), answers(400)},
		"smuggled":                            {answers(200, good+both), answers(400)},
		"begun with the one before":           {answers(200, good+list+length), answers(400, chunked+"\r\n"+chunkedBody())},
		"hidden by the body before":           {answers(200, goodChunked+list+fmt.Sprintf("Content-Length: %d\r\n\r\n", len(hides))), answers(200, hides+list+length), answers(400, chunked+"\r\n"+chunkedBody())},
		"after what net/http answers itself":  {answers(404, options+"\r\n"), answers(400, both)},
		"both, to what net/http would answer": {answers(400, options+"Content-Length: 5\r\n"+chunked+"\r\n0\r\n\r\n")},
		"a foreign host of the server":        {answers(403, "OPTIONS * HTTP/1.1\r\nHost: attacker.example\r\n\r\n")},

		// HTTP/1.0 knows no Transfer-Encoding: where it is named, the length is in doubt.
		"chunked in HTTP/1.0":             {answers(400, kept+chunked+"\r\n"+chunkedBody())},
		"both in HTTP/1.0, after another": {answers(200, probe+kept+length+chunked+"\r\n"+listBody), answers(400)},
		"a length in HTTP/1.0":            {answers(200, kept+length+"\r\n"+listBody)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := in.dial(t)
			for _, e := range all {
				status, body, closed := l.ask(e.pieces...)
				if status != e.status || status == http.StatusBadRequest && !closed || status == http.StatusOK && closed {
					t.Fatalf("%q: %d %s, closed %t, want %d", e.pieces, status, body, closed, e.status)
				}
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

// Who has read an answer whole has waited for it, also when its handler is not done.
func TestChunkedAfterALargeAnswer(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory", "log.level": "info"}))
	id := in.send(t, "m1", "/echo text="+strings.Repeat("x", 100_000)).ID
	for _, get := range []string{
		fmt.Sprintf("GET /tasks/%s HTTP/1.1\r\nHost: localhost\r\n\r\n", id),
		list + "Transfer-Encoding: chunked\r\n\r\n" + func() string {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":%q}}`, id)
			return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
		}(),
	} {
		l := in.dial(t)
		for i := range 10 {
			if status, body, _ := l.ask(get); status != http.StatusOK || len(body) < 100_000 {
				t.Fatalf("%.30q = %d, %d bytes", get, status, len(body))
			}
			if status, body, _ := l.ask(list+"Transfer-Encoding: chunked\r\n\r\n", chunkedBody()); status != http.StatusOK {
				t.Fatalf("%.30q: a chunked request after answer %d = %d %s, want 200", get, i, status, body)
			}
		}
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
	stop, _ := run(t, s)
	if err := <-answered; err == nil {
		t.Error("a request is answered before the log is written")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
