package interop

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// A notification is what a webhook has got.
type notification struct {
	kind, token, authorization string // of its header
	body                       map[string]json.RawMessage
}

// webhook keeps what it gets, by path.
type webhook struct {
	url string

	mu  sync.Mutex
	got map[string][]notification
	has chan struct{} // has an element when there is more
}

func startWebhook(t *testing.T) *webhook {
	t.Helper()
	w := &webhook{got: map[string][]notification{}, has: make(chan struct{}, 1)}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		n := notification{kind: r.Header.Get("Content-Type"), token: r.Header.Get("X-A2A-Notification-Token"), authorization: r.Header.Get("Authorization")}
		if err == nil {
			err = json.Unmarshal(raw, &n.body)
		}
		if err != nil || n.token != r.Header.Get("A2A-Notification-Token") {
			t.Errorf("the webhook gets %s with %v: %v", raw, r.Header, err)
		}
		w.mu.Lock()
		w.got[r.URL.Path] = append(w.got[r.URL.Path], n)
		w.mu.Unlock()
		select {
		case w.has <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(s.Close)
	w.url = s.URL
	return w
}

// untilState waits until the webhook at a path has got a state, and returns all of its
// notifications.
func (w *webhook) untilState(t *testing.T, path, state string) []notification {
	t.Helper()
	over := time.After(time.Minute)
	for {
		w.mu.Lock()
		all := w.got[path]
		w.mu.Unlock()
		for _, n := range all {
			if raw, err := json.Marshal(n.body); err == nil && strings.Contains(string(raw), `"state":"`+state+`"`) {
				return all
			}
		}
		select {
		case <-w.has:
		case <-over:
			t.Fatalf("the webhook %s has got %v, and not %s", path, all, state)
		}
	}
}

// playPush sets a webhook with a message. It is notified as the client's version has it.
func playPush(ctx context.Context, t *testing.T, w world) {
	hook := startWebhook(t)
	request := &a2a.SendMessageRequest{
		Message: text("/echo text=pushed"),
		Config: &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{
			ID: "of-" + w.of, URL: hook.url + "/" + w.of, Token: "token of " + w.of, Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "credentials-of-" + w.of},
		}},
	}
	if _, err := w.send(ctx, request); err != nil {
		t.Fatal(err)
	}
	kind, state, member := "application/a2a+json", "TASK_STATE_COMPLETED", "statusUpdate"
	if w.version != a2a.Version {
		kind, state, member = "application/json", "completed", "status"
	}
	found := false
	for _, n := range hook.untilState(t, "/"+w.of, state) {
		if n.kind != kind || n.token != "token of "+w.of || n.authorization != "Bearer credentials-of-"+w.of {
			t.Errorf("the webhook gets %+v", n)
		}
		found = found || n.body[member] != nil
	}
	if !found {
		t.Errorf("no notification has %s", member)
	}
}
