package mcptoolset_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/tool"
	"a2a-server/tool/mcptoolset"
)

// wrong is a server over HTTP that does something else with calls of tools.
func wrong(t testing.TB, do func(w http.ResponseWriter, r *http.Request, body string)) http.Handler {
	next := streamable(t, theServer())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if strings.Contains(string(body), `"tools/call"`) {
			do(w, r, string(body))
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		next.ServeHTTP(w, r)
	})
}

func TestHTTPFailures(t *testing.T) {
	t.Parallel()
	status := func(code int) func(http.ResponseWriter, *http.Request, string) {
		return func(w http.ResponseWriter, _ *http.Request, _ string) { http.Error(w, "no", code) }
	}
	for name, tc := range map[string]struct {
		do      func(http.ResponseWriter, *http.Request, string)
		unknown bool
		text    string
		log     string
	}{
		"refused":     {status(http.StatusForbidden), false, "HTTP status 403", ""},
		"failed":      {status(http.StatusInternalServerError), true, "HTTP status 500", ""},
		"gateway":     {status(http.StatusBadGateway), true, "HTTP status 502", ""},
		"unavailable": {status(http.StatusServiceUnavailable), true, "HTTP status 503", ""},
		"redirected": {func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, "/other", http.StatusFound)
		}, true, "HTTP status 302", ""},
		"other type": {func(w http.ResponseWriter, _ *http.Request, _ string) { _, _ = io.WriteString(w, "<html>") }, true, "the log of this server says why", "text/html"},
		"cut off":    {func(http.ResponseWriter, *http.Request, string) { panic(http.ErrAbortHandler) }, true, "", ""},
		"stream cut off": {func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
		}, true, "the log of this server says why", "terminated without response"},
		"an error": {func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad\u202e argument"}}`)
		}, false, `bad\u202e argument (code -32602)`, ""},
		"error without end": {func(w http.ResponseWriter, r *http.Request, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusBadRequest)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
					return
				}
			}
		}, false, "HTTP status 400", ""},
		"answer without end": {func(w http.ResponseWriter, r *http.Request, _ string) {
			w.Header().Set("Content-Type", "application/json")
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat(" ", 1<<16)); err != nil {
					return
				}
			}
		}, true, "the log of this server says why", "longer than the limit"},
		"event without end": {func(w http.ResponseWriter, r *http.Request, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, "data: "+strings.Repeat("x", 1<<16)); err != nil {
					return
				}
			}
		}, true, "", "exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := web(t, wrong(t, tc.do))
			config = config.WithMaxMessage(1 << 20)
			var log bytes.Buffer
			config.Logger = zerolog.New(zerolog.SyncWriter(&log)).Level(zerolog.WarnLevel)
			set := open(t, config)
			_, err := call(t.Context(), named(t, set, "echo"), map[string]any{"text": "x"})
			if err == nil || errors.Is(err, tool.ErrOutcomeUnknown) != tc.unknown || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("call = %v, want unknown: %v", err, tc.unknown)
			}
			if err := set.Close(); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(log.String(), tc.log) {
				t.Errorf("the log says %s, want %s", log.String(), tc.log)
			}
		})
	}
}

func TestHTTPRestart(t *testing.T) {
	t.Parallel()
	var now atomic.Pointer[http.Handler]
	start := func() {
		h := streamable(t, theServer())
		now.Store(&h)
	}
	start()
	set := open(t, web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*now.Load()).ServeHTTP(w, r) })))
	echo := named(t, set, "echo")
	result(t, echo, map[string]any{"text": "x"})
	start() // it does not know the session any more
	if got := result(t, echo, map[string]any{"text": "again"}); got.Content != "again" {
		t.Errorf("call after a restart = %+v", got)
	}
}

func TestHTTPDown(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(streamable(t, theServer()))
	config := mcptoolset.Config{
		Name: "files", Only: []string{"*"}, Retry: time.Hour,
		HTTP: &mcptoolset.HTTP{URL: s.URL + "/mcp?key=s3cret", Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	}
	set := open(t, config)
	echo := named(t, set, "echo")
	result(t, echo, map[string]any{"text": "x"})
	s.CloseClientConnections()
	s.Close()
	for i := range 3 {
		_, err := call(t.Context(), echo, map[string]any{"text": "x"})
		if i == 0 && errors.Is(err, tool.ErrOutcomeUnknown) {
			continue // it was sent on the connection before its end was seen
		}
		if !errors.Is(err, mcptoolset.ErrDown) || errors.Is(err, tool.ErrOutcomeUnknown) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("call = %v", err)
		}
	}
	if got := names(t, set); len(got) == 0 {
		t.Error("the tools are gone")
	}
	if err := set.Refresh(t.Context()); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("refresh = %v", err)
	}
}

func TestHTTPHeaders(t *testing.T) {
	t.Parallel()
	var requests, without atomic.Int64
	next := streamable(t, theServer())
	config := web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			without.Add(1)
		}
		next.ServeHTTP(w, r)
	}))
	var fail atomic.Bool
	config.HTTP.Header = map[string]func() (string, error){"authorization": func() (string, error) {
		if fail.Load() {
			return "", errors.New("the secret cannot be read")
		}
		return "Bearer s3cret", nil
	}}
	config.Retry = time.Hour
	set := open(t, config)
	echo := named(t, set, "echo")
	result(t, echo, map[string]any{"text": "x"})
	fail.Store(true)
	before := requests.Load()
	if _, err := call(t.Context(), echo, map[string]any{"text": "x"}); !errors.Is(err, mcptoolset.ErrDown) || strings.Contains(err.Error(), "secret") {
		t.Errorf("call without a secret = %v", err)
	}
	if err := set.Status().Err; err == nil || !strings.Contains(err.Error(), "the secret cannot be read") {
		t.Errorf("status = %v, want what is wrong", err)
	}
	if requests.Load() != before || without.Load() > 0 {
		t.Errorf("%d requests without the header were sent", without.Load())
	}
}

func TestHTTPGuard(t *testing.T) {
	t.Parallel()
	config := web(t, streamable(t, theServer()))
	config.HTTP.Allow, config.Retry = nil, time.Hour
	set := open(t, config)
	if _, err := set.Tools(nil); !errors.Is(err, mcptoolset.ErrDown) || strings.Contains(err.Error(), "127.0.0.1") || !strings.Contains(err.Error(), "its address is not allowed") {
		t.Errorf("tools of a server on loopback = %v", err)
	}
	if err := set.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("refresh = %v, want what is wrong", err)
	}
}

func TestHTTPFlood(t *testing.T) {
	t.Parallel()
	set := open(t, web(t, wrong(t, func(w http.ResponseWriter, _ *http.Request, body string) {
		id := body[strings.Index(body, `"id":`)+5:]
		id = id[:strings.IndexAny(id, ",}")]
		w.Header().Set("Content-Type", "text/event-stream")
		for range 5000 {
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
		}
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":`+id+`,"result":{"content":[{"type":"text","text":"done"}]}}`+"\n\n")
	})))
	if got := result(t, named(t, set, "echo"), map[string]any{"text": "x"}); got.Content != "done" {
		t.Errorf("result = %+v", got)
	}
}
