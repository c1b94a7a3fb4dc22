package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"a2a-server/client"
)

// clientOf returns a client of a server, and how often the server was asked.
func clientOf(t *testing.T, h http.HandlerFunc, cfg client.Config) (*client.Client, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	cfg.URL = s.URL
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c, &asked
}

// refuse answers with a problem.
func refuse(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"status":%d,"title":"t","detail":"d","reason":%q,"fields":[{"field":"f","description":"is wrong"}]}`, status, reason)
}

// A change is sent again only if nothing was sent or the server says that nothing was done; a
// read is sent again whenever that may help.
func TestRetries(t *testing.T) {
	t.Parallel()
	cut := func(w http.ResponseWriter) {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = c.Close()
		}
	}
	for name, tc := range map[string]struct {
		first           func(http.ResponseWriter)
		reads, changes  int // how often the server is asked
		unknown, failed bool
	}{
		"busy":              {first: func(w http.ResponseWriter) { refuse(w, 503, client.ReasonBusy) }, reads: 2, changes: 2},
		"too many":          {first: func(w http.ResponseWriter) { refuse(w, 429, client.ReasonTooMany) }, reads: 2, changes: 2},
		"a proxy's 503":     {first: func(w http.ResponseWriter) { w.WriteHeader(503) }, reads: 2, changes: 1, unknown: true},
		"a proxy's 502":     {first: func(w http.ResponseWriter) { w.WriteHeader(502) }, reads: 1, changes: 1, unknown: true},
		"a lost connection": {first: cut, reads: 2, changes: 1, unknown: true},
		"half an answer": {first: func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("{"))
		}, reads: 2, changes: 1, unknown: true},
		"no JSON":    {first: func(w http.ResponseWriter) { _, _ = w.Write([]byte("hello")) }, reads: 1, changes: 1, unknown: true},
		"unclear":    {first: func(w http.ResponseWriter) { refuse(w, 500, client.ReasonUnclear) }, reads: 1, changes: 1, unknown: true},
		"refused":    {first: func(w http.ResponseWriter) { refuse(w, 409, client.ReasonConflict) }, reads: 1, changes: 1, failed: true},
		"damaged":    {first: func(w http.ResponseWriter) { refuse(w, 503, client.ReasonDataLoss) }, reads: 1, changes: 1, failed: true},
		"a redirect": {first: func(w http.ResponseWriter) { w.Header().Set("Location", "/x"); w.WriteHeader(307) }, reads: 1, changes: 1, failed: true},
		"a long pause": {first: func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "3600")
			refuse(w, 429, client.ReasonTooMany)
		}, reads: 1, changes: 1, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, change := range []bool{false, true} {
				begun := atomic.Bool{}
				c, asked := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
					if begun.CompareAndSwap(false, true) {
						tc.first(w)
						return
					}
					_, _ = io.WriteString(w, "{}")
				}, client.Config{})
				want := tc.reads
				_, err := c.Approval(t.Context(), "a")
				if change {
					begun.Store(false)
					asked.Store(0)
					want = tc.changes
					_, err = c.Decide(t.Context(), "a", client.Decision{Decision: client.Approve, Digest: "d"})
				}
				var unknown *client.OutcomeError
				if is := errors.As(err, &unknown); is != (change && tc.unknown) {
					t.Errorf("change %v: error = %v", change, err)
				}
				if again := want == 2; again != (err == nil) || int(asked.Load()) != want {
					t.Errorf("change %v: asked %d times, want %d: %v", change, asked.Load(), want, err)
				}
				var refused *client.Error
				if tc.failed && !errors.As(err, &refused) {
					t.Errorf("change %v: error = %v, want a refusal", change, err)
				}
			}
		})
	}
}

// Nothing was sent to a server that is not there.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	retried := 0
	for _, cfg := range []client.Config{
		{URL: "http://" + l.Addr().String(), Retries: 1, OnRetry: func(error, time.Duration) { retried++ }},
		{Socket: filepath.Join(t.TempDir(), "none")},
	} {
		c, err := client.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var unknown *client.OutcomeError
		if err := c.CancelTask(t.Context(), "a"); err == nil || errors.As(err, &unknown) {
			t.Errorf("CancelTask() = %v", err)
		}
	}
	if retried != 1 {
		t.Errorf("it was tried again %d times, want once", retried)
	}
	for _, cfg := range []client.Config{{}, {URL: "x", Socket: "y"}, {URL: "ftp://a"}, {URL: "http://"}, {URL: "http://a?b"}, {URL: "http://u:p@a"}, {URL: "a.example"}} {
		if _, err := client.New(cfg); err == nil {
			t.Errorf("New(%+v) succeeds", cfg)
		}
	}
}

// Who interrupts a change that was sent does not know whether it was made; before that, it was
// not.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c, asked := clientOf(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}, client.Config{})
	var unknown *client.OutcomeError
	if err := c.DeleteTask(ctx, "a"); !errors.As(err, &unknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("DeleteTask() = %v", err)
	}
	if err := c.DeleteTask(ctx, "a"); errors.As(err, &unknown) || !errors.Is(err, context.Canceled) || asked.Load() != 1 {
		t.Errorf("DeleteTask() after the end = %v, asked %d times", err, asked.Load())
	}
}

// Requests carry the credential and the query; refusals keep all of the problem.
func TestRequests(t *testing.T) {
	t.Parallel()
	var got *http.Request
	c, _ := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		refuse(w, 400, client.ReasonInvalid)
	}, client.Config{Credential: client.Key("secret"), Anonymous: true})
	_, err := c.Approvals(t.Context(), client.ApprovalQuery{State: "settled", Limit: 7, Mine: true})
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Status != 400 || refused.Reason != client.ReasonInvalid || err.Error() != "d; f is wrong" {
		t.Errorf("Approvals() = %v", err)
	}
	if got.URL.Path != "/api/v1/approvals" || got.URL.RawQuery != "anonymous=true&limit=7&mine=true&state=settled" || got.Header.Get("X-API-Key") != "secret" {
		t.Errorf("the request is %s %v", got.URL, got.Header)
	}
	if _, err := c.Approval(t.Context(), "../a?b"); err == nil || got.URL.EscapedPath() != "/api/v1/approvals/..%2Fa%3Fb" {
		t.Errorf("the path is %s: %v", got.URL.EscapedPath(), err)
	}
}

// A feed continues after the event that came last, however often the connection is lost, and
// ends when the server refuses it.
func TestWatch(t *testing.T) {
	t.Parallel()
	var last []string
	c, _ := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		last = append(last, r.Header.Get("Last-Event-ID"))
		w.Header().Set("Content-Type", "text/event-stream")
		switch len(last) {
		case 1:
			_, _ = io.WriteString(w, ": hello\n\nid: a-1\nevent: begin\ndata: {}\n\nid: a-2\ndata: {\"n\":2,\ndata: \"what\":\"asked\"}\n\nid: a-3\ndata: {\"n\":3")
		case 2:
			w.WriteHeader(http.StatusBadGateway)
		case 3:
			_, _ = io.WriteString(w, "id: a-9\nevent: reset\ndata: {}\n\n")
		default:
			refuse(w, 403, client.ReasonRole)
		}
	}, client.Config{})
	var events []string
	var end error
	for e, err := range c.Watch(t.Context(), "") {
		if end = err; err == nil {
			events = append(events, fmt.Sprint(e.ID, e.Reset, " ", e.Entry.N, e.Entry.What))
		}
	}
	if got, want := strings.Join(events, " "), "a-1false 0 a-2false 2asked a-9true 0"; got != want {
		t.Errorf("events %q, want %q", got, want)
	}
	if got, want := strings.Join(last, " "), " a-2 a-2 a-9"; got != want {
		t.Errorf("Last-Event-ID %q, want %q", got, want)
	}
	var refused *client.Error
	if !errors.As(end, &refused) || refused.Reason != client.ReasonRole {
		t.Errorf("it ends with %v", end)
	}
	for _, err := range c.Watch(t.Context(), "") { // who stops gets nothing more
		if err == nil {
			t.Error("a feed that is refused has an event")
		}
		break
	}
}
