//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// hooks are the receivers of notifications; they outlive the processes of a case.
type hooks struct {
	*httptest.Server
	mu  sync.Mutex
	got map[string][]notification // by path
}

// notification is what a webhook got.
type notification struct {
	id, token, body string
	event           event
}

func newHooks(t *testing.T) *hooks {
	h := &hooks{got: map[string][]notification{}}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	n := notification{id: r.Header.Get("A2A-Notification-Id"), token: r.Header.Get("A2A-Notification-Token"), body: string(body)}
	if err == nil {
		err = json.Unmarshal(body, &n.event)
	}
	if err != nil { // it was killed while it sent
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got[r.URL.Path] = append(h.got[r.URL.Path], n)
}

// of returns what a webhook got, without what was repeated.
func (h *hooks) of(t *testing.T, path string) []notification {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []notification
	bodies := map[string]string{}
	for _, n := range h.got[path] {
		if body, known := bodies[n.id]; !known {
			bodies[n.id], all = n.body, append(all, n)
		} else if body != n.body {
			t.Errorf("notification %s was %s, and is %s", n.id, body, n.body)
		}
	}
	return all
}

// check checks that the webhook of a scene got everything, in order, to the end.
func (h *hooks) check(ctx context.Context, t *testing.T, path string, s *scene) {
	t.Helper()
	ended := func() bool {
		for _, n := range h.of(t, path) {
			if n.event.StatusUpdate != nil && n.event.StatusUpdate.Status.State == s.final {
				return true
			}
		}
		return false
	}
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !ended() {
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Errorf("%s: its webhook was never told that it is %s: %+v", s.name, s.final, h.of(t, path))
			return
		}
	}
	last, all := 0, map[string]bool{}
	for i, n := range h.of(t, path) {
		seq := 0
		if _, err := fmt.Sscanf(strings.TrimPrefix(n.id, s.id+"-"), "%d", &seq); err != nil || seq <= last || n.token != "the token of "+s.name {
			t.Errorf("%s: notification %d is %q with token %q, after event %d", s.name, i, n.id, n.token, last)
		}
		if (n.event.Task != nil) != (i == 0) {
			t.Errorf("%s: notification %d is %s", s.name, i, n.body)
		}
		last, all[n.body] = seq, true
	}
	for _, f := range s.frames {
		var answer struct{ Result json.RawMessage }
		if err := json.Unmarshal([]byte(f.data), &answer); err != nil {
			t.Fatal(err)
		}
		// What a call says of its progress is no new status.
		if e := f.event.StatusUpdate; e != nil && !all[string(answer.Result)] && !strings.Contains(f.data, "urn:a2a-server:progress") {
			t.Errorf("%s: its webhook was never told %s", s.name, answer.Result)
		}
	}
}
