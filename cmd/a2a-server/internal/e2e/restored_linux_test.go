package e2e_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"a2a-server/internal/debugapi"
	"a2a-server/internal/testserver"
	"a2a-server/store/boltstore"
	"a2a-server/task/engine"
)

// markRestored makes the store of a server that has stopped one that was restored from a backup.
func markRestored(t *testing.T, c testserver.Config, moment time.Time) {
	t.Helper()
	db, err := boltstore.Open(filepath.Join(c.Set["data"], "tasks.db"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := db.Handle()
	if err == nil {
		err = engine.MarkRestored(t.Context(), h, moment, time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// A server on a restored store says what it waits for, and notifies no webhook until an operator
// lets it continue, also after another restart. Then nothing is lost.
func TestRestoredServer(t *testing.T) {
	t.Parallel()
	c := withSocket(t, me("viewer, admin"))
	for key, value := range map[string]string{"push.enabled": "true", "push.allow_http": "true", "push.allow_loopback": "true"} {
		c.Set[key] = value
	}
	c.Authenticator = nil
	h := newHook(t)
	in := start(t, c)
	task := in.sendWith(t, "m1", "/transfer_money amount=5 to=bob", map[string]any{"id": "a", "url": h.URL + "/a"})
	h.untilState(t, "TASK_STATE_INPUT_REQUIRED")
	in.halt(t)
	moment := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	markRestored(t, c, moment)

	for range 2 {
		in = start(t, c)
		in.untilReady(t)
		if _, body := onSocket(t, c, http.MethodGet, "/readyz"); !strings.Contains(string(body), "store: restored from a backup of 2026-11-27T10:00:00Z, waiting for a2a-server store resume") {
			t.Errorf("/readyz says %q", body)
		}
		if lines := in.log.saying("waiting for a2a-server store resume"); len(lines) != 1 || lines[0]["level"] != "warn" {
			t.Errorf("the log says %v", lines)
		}
		if in.halt(t); len(h.got) > 0 {
			t.Fatalf("the webhook is told %s before the resumption", (<-h.got).body)
		}
	}
	in = start(t, c)
	in.untilReady(t)
	if _, said := in.sendAs(t, approve("m2", task.ID, task.ID+".a1")); !strings.Contains(said, "APPROVAL_CONFLICT") {
		t.Errorf("a decision on an approval from before the restoration is answered with %s", said)
	}
	resp := in.open(t, http.MethodPost, "/message:send", `{"message": {"messageId": "m4", "role": "ROLE_USER", "parts": [{"text": "/echo text=a"}]}}`)
	said, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(said), "the server was restored from a backup of 2026-11-27T10:00:00Z and waits for its operator") {
		t.Errorf("a new task is answered with %s %s", resp.Status, said)
	}
	for _, held := range []bool{true, false} {
		var answer debugapi.Resumed
		status, body := onSocket(t, c, http.MethodPost, debugapi.ResumePath)
		if err := json.Unmarshal(body, &answer); err != nil || status != http.StatusOK || answer.Held != held || !answer.Moment.Equal(moment) {
			t.Errorf("POST is answered with %d %q, %v", status, body, err)
		}
	}
	h.untilState(t, "TASK_STATE_INPUT_REQUIRED") // asked again
	in.approve(t, "m3", task.ID, regexp.MustCompile(task.ID+`\.a2-[a-z2-7]{6}`).FindString(in.everything(t, task.ID)))
	h.untilState(t, "TASK_STATE_COMPLETED")
	if _, body := onSocket(t, c, http.MethodGet, "/readyz"); strings.Contains(string(body), "restored") {
		t.Errorf("/readyz says %q", body)
	}
}

// Only the role admin lets a restored store continue.
func TestResumeNeedsItsRole(t *testing.T) {
	t.Parallel()
	c := withSocket(t, me("viewer, operator, approver, requester"))
	start(t, c)
	if status, body := onSocket(t, c, http.MethodPost, debugapi.ResumePath); status != http.StatusForbidden {
		t.Errorf("POST is answered with %d %q", status, body)
	}
}
