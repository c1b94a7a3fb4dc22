package a2a_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/store"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

type nap struct {
	Seconds int `json:"seconds"`
}

// beating is a server in a bubble, behind connections that hold nothing.
type beating struct {
	*wireServer
	t        *testing.T
	pipes    *pipes
	auth     telling
	shutdown context.CancelCauseFunc
	took     atomic.Int64 // of the last request, as metrics have it
}

func startBeating(t *testing.T, changes ...wireChange) *beating {
	t.Helper()
	sleeps := func(ctx tool.Context, n nap) (string, error) {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(time.Duration(n.Seconds) * time.Second):
			return "awake", nil
		}
	}
	tools := []tool.Tool{
		functiontool.Must(functiontool.New(functiontool.Config{Name: "nap", Annotations: tool.Annotations{ReadOnly: true}}, sleeps)),
		functiontool.Must(functiontool.New(functiontool.Config{Name: "deploy", RequireApproval: true}, sleeps)),
	}
	b := &beating{t: t, pipes: &pipes{make(chan net.Conn), make(chan struct{})}, auth: telling{&switched{by: leaseholder}}}
	b.wireServer = startWireServer(t, zerolog.Nop(), append([]wireChange{usual, func(e *engine.Config, c *a2a.Config) {
		e.Tools, c.Card.URL, c.Authenticator = tool.NewRegistry(tool.NewToolset("test", tools...)), "http://test", b.auth
	}}, changes...)...)
	base, shutdown := context.WithCancelCause(t.Context())
	b.shutdown = shutdown
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			timed := httpd.NewTimed(w, func(_ string, _ int, took time.Duration) { b.took.Store(int64(took)) })
			defer timed.End()
			b.handler.ServeHTTP(timed, r)
		}),
		Protocols: protocols, ReadTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return base },
	}
	ended := make(chan error)
	go func() { ended <- srv.Serve(b.pipes) }()
	t.Cleanup(func() {
		shutdown(nil)
		_ = srv.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return b
}

func (b *beating) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	b.pipes.conns <- far
	return near, nil
}

// send is a request in some version of A2A and HTTP that waits. %s is the text of the message.
type send struct {
	path, body, protocol string
	rpc                  bool
}

// waitingSends are all ways to write a request that waits, by name.
func waitingSends() map[string]send {
	all := map[string]send{}
	for _, protocol := range []string{"HTTP/1.0", "HTTP/1.1", "HTTP/2.0"} {
		for name, s := range map[string]send{
			"HTTP+JSON":     {path: "/message:send", body: `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":%q}]}}`},
			"HTTP+JSON 0.3": {path: "/v1/message:send", body: `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":%q}]}}`},
			"JSON-RPC":      {path: "/", body: `{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":%q}]}}}`, rpc: true},
			"JSON-RPC 0.3":  {path: "/", body: `{"jsonrpc":"2.0","id":7,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":%q}]}}}`, rpc: true},
		} {
			s.protocol = protocol
			all[name+" over "+protocol] = s
		}
	}
	return all
}

// sent is the response to a send, with the times at which its parts arrived.
type sent struct {
	status int
	header http.Header
	body   string
	times  []time.Duration // of header and parts of the body, each time once
	err    error           // of reading the body
	took   time.Duration   // to the end
}

// spaces returns the body's leading spaces and the JSON after them.
func (s *sent) spaces() (n int, rest string) {
	rest = strings.TrimLeft(s.body, " ")
	return len(s.body) - len(rest), rest
}

// do sends a message and reads the response to its end.
func (b *beating) do(s send, text string) *sent {
	b.t.Helper()
	began, got := time.Now(), &sent{}
	body := fmt.Sprintf(s.body, text)
	var resp *http.Response
	var err error
	if s.protocol == "HTTP/1.0" {
		conn, _ := b.dial(b.t.Context(), "", "")
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.0\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", s.path, len(body), body)
		if err == nil {
			resp, err = http.ReadResponse(bufio.NewReader(conn), nil)
		}
	} else {
		transport := &http.Transport{DialContext: b.dial, Protocols: &http.Protocols{}}
		transport.Protocols.SetHTTP1(s.protocol == "HTTP/1.1")
		transport.Protocols.SetUnencryptedHTTP2(s.protocol == "HTTP/2.0")
		defer transport.CloseIdleConnections()
		resp, err = transport.RoundTrip(newRequest(b.t, http.MethodPost, "http://test"+s.path, body))
	}
	if err != nil {
		got.err, got.took = err, time.Since(began)
		return got
	}
	defer resp.Body.Close()
	got.status, got.header, got.times = resp.StatusCode, resp.Header, []time.Duration{time.Since(began)}
	if resp.Proto != s.protocol {
		b.t.Errorf("the response is in %s, want %s", resp.Proto, s.protocol)
	}
	for buffer := make([]byte, 64<<10); got.err == nil; {
		var n int
		if n, got.err = resp.Body.Read(buffer); n > 0 {
			got.body += string(buffer[:n])
			got.times = append(got.times, time.Since(began))
		}
	}
	if errors.Is(got.err, io.EOF) {
		got.err = nil
	}
	got.times, got.took = slices.Compact(got.times), time.Since(began)
	return got
}

// inBubbles runs a test for each way to send.
func inBubbles(t *testing.T, test func(t *testing.T, s send)) {
	t.Helper()
	for name, s := range waitingSends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, s) })
		})
	}
}

// A send that waits is answered with a space every three seconds, then with its task, over every
// binding and version; metrics leave the wait out.
func TestWaitingSendBeats(t *testing.T) {
	t.Parallel()
	inBubbles(t, func(t *testing.T, s send) {
		b := startBeating(t)
		got := b.do(s, "/nap seconds=10")
		if n, rest := got.spaces(); got.err != nil || got.status != http.StatusOK || n != 3 || !json.Valid([]byte(rest)) || !strings.Contains(strings.ToUpper(rest), "COMPLETED") {
			t.Errorf("answered with %d %q, %v; want three spaces and the task", got.status, got.body, got.err)
		}
		if want := []time.Duration{3e9, 6e9, 9e9, 10e9}; !slices.Equal(got.times, want) {
			t.Errorf("the response came at %v, want %v", got.times, want)
		}
		for name, want := range map[string]string{"X-Accel-Buffering": "no", "Content-Length": "", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %q, want %q", name, got.header.Get(name), want)
			}
		}
		if media := got.header.Get("Content-Type"); media != "application/json" {
			t.Errorf("Content-Type: %q", media)
		}
		if b.took.Load() != 0 {
			t.Errorf("for metrics it took %v, want the time without the wait", time.Duration(b.took.Load()))
		}
	})
}

// A task that rests in less than three seconds is answered as if nothing had waited.
func TestShortSendHasNoBeats(t *testing.T) {
	t.Parallel()
	inBubbles(t, func(t *testing.T, s send) {
		b := startBeating(t)
		got := b.do(s, "/nap seconds=2")
		if got.err != nil || got.status != http.StatusOK || !strings.HasPrefix(got.body, "{") || got.header.Get("Content-Length") != fmt.Sprint(len(got.body)) || got.header.Get("X-Accel-Buffering") != "" {
			t.Errorf("answered with %d %v %s, %v", got.status, got.header, got.body, got.err)
		}
		if b.took.Load() != 0 {
			t.Errorf("for metrics it took %v, want the time without the wait", time.Duration(b.took.Load()))
		}
	})
}

// truncated reports whether a client notices that a response has no end. HTTP/1.0 has no sign for
// it, but spaces are no JSON.
func (s *sent) truncated(over string) bool {
	return strings.TrimSpace(s.body) == "" && (s.err != nil || over == "HTTP/1.0")
}

// The end of a send that still waits, at a shutdown or with its credential: before the first space
// an error that names the task, after it an aborted connection. The repeated message waits again.
func TestWaitingSendEnds(t *testing.T) {
	t.Parallel()
	revoke := func(b *beating) { b.auth.tell(auth.Principal{}, &auth.Error{Code: "invalid_token"}) }
	shutdown := func(b *beating) { b.shutdown(httpd.ErrStopping) }
	stop := func(b *beating) { b.stop() }
	for name, c := range map[string]struct {
		after  time.Duration
		end    func(*beating)
		status int // 0: aborted
	}{
		"shutdown before the first space": {time.Second, shutdown, http.StatusServiceUnavailable},
		"shutdown":                        {7 * time.Second, shutdown, 0},
		"shutdown, the engine first, before the first space": {time.Second, stop, http.StatusServiceUnavailable},
		"shutdown, the engine first":                         {7 * time.Second, stop, 0},
		"credential before the first space":                  {time.Second, revoke, http.StatusUnauthorized},
		"credential":                                         {7 * time.Second, revoke, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubbles(t, func(t *testing.T, s send) {
				b := startBeating(t)
				time.AfterFunc(c.after, func() { c.end(b) })
				got := b.do(s, "/nap seconds=20")
				if got.took != c.after {
					t.Errorf("it ended after %v, want %v", got.took, c.after)
				}
				want := c.status
				if want == http.StatusServiceUnavailable && s.rpc {
					want = http.StatusOK // the error is an object
				}
				if want == 0 && !got.truncated(s.protocol) {
					t.Errorf("answered with %d %q, %v; want an aborted connection", got.status, got.body, got.err)
				}
				if want != 0 && (got.status != want || !strings.Contains(got.body, "was recorded in task") || !strings.Contains(got.body, `"taskId":"`)) {
					t.Errorf("answered with %d %s, want %d that names the task", got.status, got.body, want)
				}
				if want == http.StatusUnauthorized && got.header.Get("WWW-Authenticate") == "" {
					t.Error("401 has no challenge")
				}
				if strings.HasPrefix(name, "shutdown") {
					return // this server is at its end
				}
				b.auth.set(leaseholder, nil)
				again := b.do(s, "/nap seconds=20")
				if _, rest := again.spaces(); again.err != nil || !strings.Contains(strings.ToUpper(rest), "COMPLETED") || again.took != 20*time.Second-c.after {
					t.Errorf("the repeated message: %v, after %v: %s", again.err, again.took, again.body)
				}
			})
		})
	}
}

// A credential is authenticated again every 15 seconds while a send waits, and not with each beat.
func TestWaitingSendIsCheckedAgain(t *testing.T) {
	t.Parallel()
	inBubbles(t, func(t *testing.T, s send) {
		b := startBeating(t)
		time.AfterFunc(time.Second, func() { b.auth.set(auth.Principal{}, &auth.Error{Code: "invalid_token"}) })
		got := b.do(s, "/nap seconds=40")
		if !got.truncated(s.protocol) || got.took != 15*time.Second {
			t.Errorf("answered after %v with %d %q, %v", got.took, got.status, got.body, got.err)
		}
	})
}

// Another person decides after two hours, when the client's token of one hour has ended: so has the wait,
// and the same message with the next token has the result.
func TestDecisionAfterTheTokenHasEnded(t *testing.T) {
	t.Parallel()
	inBubbles(t, func(t *testing.T, s send) {
		policy, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{{Tool: "deploy", Terms: approval.Terms{FourEyes: true}}}})
		if err != nil {
			t.Fatal(err)
		}
		b := startBeating(t, func(e *engine.Config, _ *a2a.Config) { e.Policy = policy })
		token := func() {
			by := leaseholder
			by.Expires = time.Now().Add(time.Hour)
			b.auth.set(by, nil)
		}
		bob := auth.Principal{Tenant: "acme", Subject: "bob", Roles: []string{auth.RoleApprover}, Method: "test"}
		time.AfterFunc(2*time.Hour, func() {
			page, err := b.engine.Approvals().List(t.Context(), bob, engine.ApprovalQuery{})
			if err != nil || len(page.Approvals) != 1 {
				t.Errorf("bob's list: %+v, %v", page, err)
				return
			}
			if err := b.engine.Approvals().Decide(t.Context(), bob, approval.Decision{ID: page.Approvals[0].ID, Type: approval.Approve, Digest: page.Approvals[0].Digest}); err != nil {
				t.Error(err)
			}
		})
		token()
		if got := b.do(s, "/deploy seconds=1"); !got.truncated(s.protocol) || got.took != time.Hour {
			t.Errorf("answered after %v with %d %q, %v; want an aborted connection", got.took, got.status, got.body, got.err)
		}
		<-time.After(30 * time.Minute)
		for _, took := range []time.Duration{30*time.Minute + time.Second, 0} { // with the decision, and after it
			token()
			again := b.do(s, "/deploy seconds=1")
			if _, rest := again.spaces(); again.err != nil || !strings.Contains(rest, "awake") || again.took != took {
				t.Errorf("the repeated message: %v, after %v: %s", again.err, again.took, again.body)
			}
		}
	})
}

// torn is a store whose log cannot be read by a send that waits, from some time on.
type torn struct {
	store.Handle
	since time.Time
}

func (s *torn) Read(ctx context.Context, scope store.Scope, id store.TaskID, from store.From, most store.Limit) (store.LogPage, error) {
	if (most == store.Limit{Events: 1, Bytes: 1}) && time.Now().After(s.since) {
		return store.LogPage{}, store.ErrDataLoss
	}
	return s.Handle.Read(ctx, scope, id, from, most)
}

// An error after the first space is an object in JSON-RPC, and an aborted connection in HTTP+JSON,
// never an error under status 200.
func TestWaitingSendFails(t *testing.T) {
	t.Parallel()
	inBubbles(t, func(t *testing.T, s send) {
		b := startBeating(t, func(e *engine.Config, _ *a2a.Config) { e.Store = &torn{e.Store, time.Now().Add(9 * time.Second)} })
		go b.do(s, "/nap seconds=10")
		synctest.Wait()
		got := b.do(s, "/nap seconds=10") // the same message reads the log
		n, rest := got.spaces()
		var response struct {
			ID    int             `json:"id"`
			Error json.RawMessage `json:"error"`
		}
		switch {
		case !s.rpc && !got.truncated(s.protocol):
			t.Errorf("answered with %d %q, %v; want an aborted connection", got.status, got.body, got.err)
		case s.rpc && (got.err != nil || n == 0 || json.Unmarshal([]byte(rest), &response) != nil || response.ID != 7 || !strings.Contains(string(response.Error), "DATA_LOSS")):
			t.Errorf("answered with %d %q, %v; want an error object", got.status, got.body, got.err)
		}
		synctest.Wait()
	})
}

// A client that does not read its spaces loses the connection, and its place.
func TestUnreadBeatsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := startBeating(t, func(_ *engine.Config, c *a2a.Config) { c.Waiting = 1 })
		s := waitingSends()["HTTP+JSON over HTTP/1.1"]
		conn, _ := b.dial(t.Context(), "", "")
		defer conn.Close()
		body := fmt.Sprintf(s.body, "/nap seconds=600")
		if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", s.path, len(body), body); err != nil {
			t.Fatal(err)
		}
		other := strings.Replace(s.body, `"m"`, `"m2"`, 1)
		time.Sleep(32 * time.Second)
		if got := b.do(send{path: s.path, body: other, protocol: s.protocol}, "/nap seconds=1"); got.status != http.StatusServiceUnavailable {
			t.Errorf("beside a send that waits: %d %s", got.status, got.body)
		}
		time.Sleep(2 * time.Second) // 3 s to the first space, 30 s for its write
		if got := b.do(send{path: s.path, body: other, protocol: s.protocol}, "/nap seconds=1"); got.status != http.StatusOK {
			t.Errorf("after the send was cut off: %d %s", got.status, got.body)
		}
		if rest, err := io.ReadAll(conn); err == nil && strings.Contains(string(rest), "{") {
			t.Errorf("the connection continues with %q", rest)
		}
	})
}

// deaf is a response that cannot be flushed.
type deaf struct {
	header http.Header
	text   strings.Builder
}

func (d *deaf) Header() http.Header         { return d.header }
func (d *deaf) WriteHeader(int)             {}
func (d *deaf) Write(b []byte) (int, error) { return d.text.Write(b) }

// A server around this one that collects responses gets the whole of it.
func TestBeatsThroughAWriterThatCannotFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, w := startBeating(t), &deaf{header: http.Header{}}
		b.handler.ServeHTTP(w, newRequest(t, http.MethodPost, "http://test/message:send", text("m", "/nap seconds=10", "")))
		if got := w.text.String(); !strings.HasPrefix(got, "   {") || !strings.Contains(got, "COMPLETED") || !json.Valid([]byte(got)) {
			t.Errorf("answered with %q", got)
		}
	})
}

// An idle stream beats every three seconds.
func TestStreamBeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := startBeating(t)
		got := b.do(send{path: "/message:stream", body: waitingSends()["HTTP+JSON over HTTP/1.1"].body, protocol: "HTTP/1.1"}, "/nap seconds=10")
		if n := strings.Count(got.body, ": still here\n"); got.err != nil || n != 3 {
			t.Errorf("%d beats in 10 s, %v, want 3: %s", n, got.err, got.body)
		}
	})
}

// A send that no place is left for is never answered with a task that runs: a decision counts, and
// its sender gets the task's id; the repeated message waits once there is a place.
func TestSendWithoutPlaceIsNotAnsweredWithARunningTask(t *testing.T) {
	t.Parallel()
	inBubbles(t, func(t *testing.T, s send) {
		b := startBeating(t, func(_ *engine.Config, c *a2a.Config) { c.Waiting = 1 })
		question, decision := s, s
		question.body = strings.Replace(s.body, `"m"`, `"q"`, 1)
		asked := b.do(question, "/deploy seconds=30")
		_, rest, _ := strings.Cut(asked.body, `"taskId":"`)
		id, _, _ := strings.Cut(rest, `"`)
		go b.do(s, "/nap seconds=10")
		synctest.Wait()
		decision.body = strings.Replace(s.body, `"m"`, `"d","taskId":"`+id+`"`, 1)
		got := b.do(decision, "approve")
		if want := map[bool]int{true: http.StatusOK, false: http.StatusServiceUnavailable}[s.rpc]; got.status != want || !strings.Contains(got.body, "was recorded in task "+id) || strings.Contains(strings.ToUpper(got.body), "STATE") {
			t.Errorf("a decision without a place to wait: %d %s", got.status, got.body)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		again := b.do(decision, "approve")
		if _, rest := again.spaces(); again.err != nil || !strings.Contains(strings.ToUpper(rest), "COMPLETED") || again.took != 20*time.Second {
			t.Errorf("the repeated decision: %v, after %v: %s", again.err, again.took, again.body)
		}
		other := s
		other.body = strings.Replace(s.body, `"m"`, `"m2"`, 1)
		go b.do(other, "/nap seconds=10")
		synctest.Wait()
		if again = b.do(decision, "approve"); again.took != 0 || !strings.Contains(strings.ToUpper(again.body), "COMPLETED") {
			t.Errorf("a message to a task that has ended, without a place: after %v: %s", again.took, again.body)
		}
	})
}
