package e2e_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	a2aserver "a2a-server"
	"a2a-server/internal/testserver"
	"a2a-server/store/memstore"
	"a2a-server/task/planner/direct"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// mount serves the handler of a server that does not listen at /agent.
func mount(t *testing.T, s *a2aserver.Server) (url string, client *http.Client) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/agent/", http.StripPrefix("/agent", s.Handler()))
	outer := httptest.NewServer(mux)
	t.Cleanup(func() {
		outer.CloseClientConnections()
		outer.Close()
	})
	return outer.URL + "/agent", outer.Client()
}

func post(t *testing.T, client *http.Client, url, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// In somebody else's HTTP server the streams of ours end when it shuts down, and nobody is
// served before and after.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"store": "memory"})
	said := newLogs(t)
	c.NoListen, c.Log = true, zerolog.New(zerolog.SyncWriter(said))
	s, err := testserver.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if s.Addr() != nil {
		t.Errorf("Addr() = %v, want nil: it does not listen", s.Addr())
	}
	url, client := mount(t, s)
	status := func() int {
		t.Helper()
		resp := post(t, client, url+"/message:send", `{"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "/echo hello"}]}}`)
		defer resp.Body.Close()
		return resp.StatusCode
	}
	if got := status(); got != http.StatusServiceUnavailable {
		t.Errorf("before Run: %d, want 503", got)
	}
	stop, _ := run(t, s)
	until(t, "it serves", func() bool { return status() == http.StatusOK })
	stream := post(t, client, url+"/message:stream", `{"message": {"messageId": "m2", "role": "ROLE_USER", "parts": [{"text": "/stream interval=1m chunks=10"}]}}`)
	defer stream.Body.Close()
	first := make([]byte, 10)
	if _, err := io.ReadFull(stream.Body, first); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Errorf("Run() = %v", err)
	}
	rest, err := io.ReadAll(stream.Body)
	if err != nil || !strings.Contains(string(rest), "shutting down") {
		t.Errorf("the stream ended with %v and %q, want a comment that says why", err, rest)
	}
	if left := said.find("requests to the handler are abandoned, because their clients neither send nor read"); len(left) > 0 {
		t.Error("the stream was not ended by the shutdown")
	}
	if got := status(); got != http.StatusServiceUnavailable {
		t.Errorf("after Run: %d, want 503", got)
	}
}

// Close gives back what New took, whether Run was called or not, and more than once, and so
// does a Run that nobody wants any more; a server runs once.
func TestClose(t *testing.T) {
	t.Parallel()
	c := load(t, nil)
	for _, name := range []string{"without Run", "with Run", "with a Run that has ended"} {
		s, err := testserver.New(c)
		if err != nil {
			t.Fatalf("%s: New() = %v: the one before has kept something", name, err)
		}
		stop, ended := func() error { return nil }, (<-chan error)(nil)
		if name != "without Run" {
			stop, ended = run(t, s)
		}
		if name == "with Run" {
			in := &instance{url: "http://" + s.Addr().String(), client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
			until(t, "Run serves", func() bool {
				status, _ := in.get(t, "/readyz")
				return status == http.StatusOK
			})
		} else if err := stop(); err != nil {
			t.Errorf("%s: Run() = %v", name, err)
		}
		for range 2 {
			if err := s.Close(); err != nil {
				t.Errorf("%s: Close() = %v", name, err)
			}
		}
		if name == "with Run" {
			if err := <-ended; err != nil {
				t.Errorf("Run() = %v", err)
			}
		}
		if err := s.Run(t.Context()); err == nil {
			t.Errorf("%s: Run() = nil after Close", name)
		}
		if conn, err := net.Dial("tcp", s.Addr().String()); err == nil {
			_ = conn.Close()
			t.Errorf("%s: the port is still open", name)
		}
	}
}

// Mounted at a path without a slash at its end, which is what the card names, it answers
// there, too.
func TestMountedRoot(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"store": "memory", "public_url": "http://localhost:8080/agent"})
	in := start(t, c)
	mounted := http.StripPrefix("/agent", in.server.Handler())
	in.get(t, "/readyz")
	for path, want := range map[string]int{"/agent": http.StatusOK, "/agent/": http.StatusOK, "/agent/nothing": http.StatusNotFound} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(`{"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Host = "localhost"
		w := httptest.NewRecorder()
		if mounted.ServeHTTP(w, r); w.Code != want {
			t.Errorf("POST %s = %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
}

// A toolset may look at who asks, also while the card is made.
func TestToolsetThatLooksAtItsCaller(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"store": "memory"})
	c.Tools[0] = tool.Filter(c.Tools[0], func(ctx agent.ReadonlyContext, t tool.Tool) bool {
		return len(ctx.Roles()) > 0 || ctx.UserID() != "" || t.Name() == "echo"
	})
	in := start(t, c)
	if _, card := in.get(t, "/.well-known/agent-card.json"); !strings.Contains(card, "echo") || strings.Contains(card, "transfer_money") {
		t.Errorf("the card lists what not everybody may use, or not what they may: %s", card)
	}
}

// Tools that cannot be used are said before anything is opened.
func TestToolsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for says, set := range map[string][]tool.Toolset{
		`two tools called "echo"`: {load(t, nil).Tools[0], tool.Filter(load(t, nil).Tools[0], tool.AllowAll())},
		"tool 0 is nil":           {tool.NewToolset("mine", nil)},
	} {
		c := load(t, nil)
		c.Tools = set
		for name, err := range map[string]error{"Check": testserver.Check(c), "New": func() error { _, err := testserver.New(c); return err }()} {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s() = %v, want that %s", name, err, says)
			}
		}
		if _, err := os.Stat(filepath.Join(c.Set["data"], "tasks.db")); err == nil {
			t.Errorf("%s: the store was opened", says)
		}
	}
}

// A store that was given is its owner's: the server leaves it open, whether it has run or
// not, and the next one finds what is in it. A server that runs cannot be run again.
func TestGivenStore(t *testing.T) {
	t.Parallel()
	handle, err := memstore.New().Handle()
	if err != nil {
		t.Fatal(err)
	}
	c := load(t, nil)
	c.Store = handle
	unused, err := testserver.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := unused.Close(); err != nil {
		t.Fatal(err)
	}
	first := start(t, c)
	sent := first.send(t, "m1", "/echo hello")
	if err := first.server.Run(t.Context()); err == nil {
		t.Error("Run() = nil while the server runs")
	}
	if again := first.send(t, "m1", "/echo hello"); again.ID != sent.ID {
		t.Errorf("after the second Run the same message is task %s, want %s", again.ID, sent.ID)
	}
	first.halt(t)
	second := start(t, c)
	if again := second.send(t, "m1", "/echo hello"); again.ID != sent.ID {
		t.Errorf("in the next server the same message is task %s, want %s", again.ID, sent.ID)
	}
}

// The log names the planner that runs: the configured one, or the type of one given in Go.
func TestLogNamesThePlanner(t *testing.T) {
	t.Parallel()
	configured := start(t, load(t, map[string]string{"store": "memory"}))
	c := load(t, map[string]string{"store": "memory"})
	c.Planner = direct.New(direct.Config{})
	given := start(t, c)
	for want, s := range map[string]*instance{"direct": configured, "*direct.Planner": given} {
		s.get(t, "/") // it listens by now
		if listening := s.log.find("listening"); len(listening) != 1 || listening[0]["planner"] != want {
			t.Errorf("the log says %v, want the planner %s", listening, want)
		}
	}
}
