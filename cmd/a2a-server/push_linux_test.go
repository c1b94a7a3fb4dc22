package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The webhooks of a key that was revoked are told until an operator deletes them: then nothing
// more is sent to them, neither by this process nor by the next one, while those of others
// are told.
func TestWebhooksOfARevokedKey(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]int{}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path]++
		for state, told := range map[string]string{"TASK_STATE_CANCELED": " canceled", "TASK_STATE_INPUT_REQUIRED": " asked"} {
			if strings.Contains(string(body), state) {
				got[r.URL.Path+told]++
			}
		}
	}))
	t.Cleanup(hook.Close)
	seen := func(path string) int {
		mu.Lock()
		defer mu.Unlock()
		return got[path]
	}
	file := filepath.Join(t.TempDir(), "keys.yaml")
	keys := map[string]string{}
	for _, id := range []string{"ci", "cd"} {
		keys[id] = command(t, "keys", "add", id, "--role", "requester", "--tenant", "acme", "--file", file)
	}
	s := newSite(t, fmt.Sprintf("auth: {keys: {file: %q}, socket: [{uid: %d, subject: ann, tenant: acme, roles: [approver, operator]}]}\npush: {enabled: true, allow_http: true, allow_loopback: true}\n", file, os.Getuid()))
	p := s.start("")
	tasks := map[string][]string{}
	for i, id := range []string{"ci", "ci", "cd"} {
		tasks[id] = append(tasks[id], p.ask(keys[id], fmt.Sprintf("%s/%s%d", hook.URL, id, i)))
	}
	until := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("never happened: %s\n%s", what, p.said())
			}
		}
	}
	until("all webhooks have been told that their tasks ask", func() bool {
		return seen("/ci0 asked") > 0 && seen("/ci1 asked") > 0 && seen("/cd2 asked") > 0
	})
	command(t, "keys", "revoke", "ci", "--file", file)
	p.hangup("gates of the configuration were reloaded", 1)
	if status := p.status(keys["ci"]); status != http.StatusUnauthorized {
		t.Fatalf("the key that was revoked gets %d", status)
	}
	// What it has asked for says so, and what another key has asked for does not.
	if code, stdout, stderr := s.run("approvals", "list"); code != 0 || strings.Count(stdout, "key:ci (revoked)") != 2 || strings.Count(stdout, "(revoked)") != 2 || strings.Count(stdout, "key:cd") != 1 {
		t.Errorf("approvals list exits with %d: %s%s", code, stdout, stderr)
	}
	for id, want := range map[string]bool{tasks["ci"][0]: true, tasks["cd"][0]: false} {
		_, text, _ := s.run("approvals", "show", id+".a1")
		_, object, _ := s.run("approvals", "show", id+".a1", "-o", "json")
		if strings.Contains(text, "no longer valid") != want || strings.Contains(object, `"requesterRevoked": true`) != want || !strings.Contains(object, `"digest"`) {
			t.Errorf("approvals show, of a key that was revoked %v: %s%s", want, text, object)
		}
	}
	list := func(args ...string) (all []string) {
		t.Helper()
		code, stdout, stderr := s.run(append([]string{"push", "list", "-o", "json"}, args...)...)
		var page struct {
			Webhooks []struct {
				Task  string
				SetBy struct{ Subject, Method string }
			}
		}
		if err := json.Unmarshal([]byte(stdout), &page); code != 0 || err != nil {
			t.Fatalf("push list exits with %d: %s%s", code, stdout, stderr)
		}
		for _, w := range page.Webhooks {
			all = append(all, w.SetBy.Subject+" "+w.Task)
		}
		return all
	}
	if all := list("--principal", "key:ci"); len(all) != 2 || all[0] != "key:ci "+tasks["ci"][0] || all[1] != "key:ci "+tasks["ci"][1] {
		t.Errorf("of the key that was revoked it lists %q", all)
	}
	// One is told that its task is canceled, and the other one, which was deleted, is not.
	first, second := tasks["ci"][0], tasks["ci"][1]
	code, screen := s.confirm("push", "delete", second, "hook")
	if code != 0 || !strings.Contains(screen, "Delete this webhook, as socket:ann?") || !strings.Contains(screen, "key:ci") || !strings.Contains(screen, "deleted") {
		t.Errorf("push delete exits with %d:\n%s", code, screen)
	}
	for range 2 {
		if code, stdout, stderr := s.run("push", "delete", second, "hook", "--yes"); code != 0 || !strings.Contains(stdout, "was not there") {
			t.Errorf("push delete again exits with %d: %s%s", code, stdout, stderr)
		}
	}
	cancel := func(id string) {
		t.Helper()
		if code, stdout, stderr := s.run("tasks", "cancel", id, "--yes"); code != 0 {
			t.Fatalf("tasks cancel exits with %d: %s%s", code, stdout, stderr)
		}
	}
	before := seen("/ci1")
	cancel(second)
	cancel(first)
	until("the webhook that is left is told", func() bool { return seen("/ci0 canceled") > 0 })
	code, stdout, stderr := s.run("push", "delete", "--principal", "key:ci", "--yes", "-o", "json")
	if want := fmt.Sprintf(`{"webhooks":[{"task":%q,"id":"hook","deleted":true}]}`, first); code != 0 || strings.Join(strings.Fields(stdout), "") != want {
		t.Errorf("push delete exits with %d: %s%s, want %s", code, stdout, stderr, want)
	}
	if code, stdout, stderr := s.run("push", "delete", "--principal", "key:ci", "--yes"); code != 0 || stdout != "there are no such webhooks\n" {
		t.Errorf("push delete of nothing exits with %d: %s%s", code, stdout, stderr)
	}
	if all := list(); len(all) != 1 || all[0] != "key:cd "+tasks["cd"][0] {
		t.Errorf("then it lists %q", all)
	}
	p.end(syscall.SIGKILL)
	p = s.start("")
	cancel(tasks["cd"][0])
	until("the webhook of another key is told", func() bool { return seen("/cd2 canceled") > 0 })
	if after := seen("/ci1"); after != before || seen("/ci1 canceled") > 0 || len(list()) != 1 {
		t.Errorf("the webhook that was deleted was told %d times before, and %d times in the end", before, after)
	}
	if code, _, stderr := s.run("push", "delete", "0194f0c0-0000-7000-8000-000000000000", "hook", "--yes"); code != 1 || !strings.Contains(stderr, "there is no such task") {
		t.Errorf("push delete of no task exits with %d: %s", code, stderr)
	}
}
