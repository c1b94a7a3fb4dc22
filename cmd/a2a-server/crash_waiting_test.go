//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"a2a-server/auth"
	"a2a-server/auth/apikey"
)

// killedWaiting kills one of three servers while the call of the last waits for finance, who have no
// conversation with it. The tasks above wait on, and go on with the result of the only call.
func killedWaiting(t *testing.T, victim int) {
	files := t.TempDir()
	keys, secret := filepath.Join(files, "keys.yaml"), filepath.Join(files, "secret")
	add := func(k apikey.Key) string {
		k.Tenant = "acme"
		key, err := apikey.Add(keys, k, false)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	finance := add(apikey.Key{ID: "fiona", Roles: []string{auth.RoleApprover, "finance"}})
	if err := os.WriteFile(secret, []byte(add(apikey.Key{ID: "middle", Kind: auth.KindService, Roles: []string{auth.RoleRequester}})), 0o600); err != nil {
		t.Fatal(err)
	}
	play := &agentsPlay{
		name: "elsewhere", servers: []string{"top", "middle", "leaf"}, final: completed, pays: "bob",
		leaf:  fmt.Sprintf("auth: {keys: {file: %s}}\ngates:\n  - {tool: transfer_money, approvers: {roles: [finance]}}\n", keys),
		reach: fmt.Sprintf("    header: {X-API-Key: '{secret:leaf}'}\nsecrets:\n  leaf: {file: %s}\n", secret),
	}
	r := startAgents(t, play, victim, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, leaf := r.client(r.servers[0]), "http://"+r.servers[2].listen+"/api/v1/approvals/"
	var sent struct{ Task *taskState }
	if err := c.call(ctx, "SendMessage", object{
		"message":       object{"messageId": "first", "role": "ROLE_USER", "parts": []any{object{"text": throughTwo}}},
		"configuration": object{"returnImmediately": true},
	}, &sent); err != nil {
		t.Fatal(err)
	}
	looks := func(what string, is func(now *status, id string) bool) {
		t.Helper()
		for {
			var now taskState
			if err := c.call(ctx, "GetTask", object{"id": sent.Task.ID}, &now); err == nil {
				var says struct{ Elsewhere []struct{ ID string } }
				if raw := now.Status.Message.Metadata["urn:a2a-server:extension:tool-approval:v1"]; raw != nil {
					if err := json.Unmarshal(raw, &says); err != nil {
						t.Fatal(err)
					}
				}
				id := ""
				if len(says.Elsewhere) == 1 {
					id = says.Elsewhere[0].ID[strings.LastIndex(says.Elsewhere[0].ID, "/")+1:]
				}
				if is(&now.Status, id) {
					return
				}
				if s := now.Status.State; s != "TASK_STATE_WORKING" && s != "TASK_STATE_SUBMITTED" {
					t.Fatalf("the task is %s", s)
				}
			}
			r.pause(ctx, what)
		}
	}
	var id string
	waits := func(_ *status, now string) bool { id = now; return now != "" }
	looks("the task does not say that it waits", waits)
	r.victim.process.end(syscall.SIGKILL)
	r.revive()
	looks("the task does not say any longer that it waits", waits)
	api := func(method, path string, body []byte) (approval struct {
		Approval struct{ Digest, State string }
	}) {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, method, leaf+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-API-Key", finance)
		req.Header.Set("Content-Type", "application/json")
		resp, err := r.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(raw, &approval) != nil {
			t.Fatalf("%s %s: %v, %d %s", method, path, err, resp.StatusCode, raw)
		}
		return approval
	}
	api(http.MethodPost, id+"/decision", fmt.Appendf(nil, `{"decision":"approve","digest":%q}`, api(http.MethodGet, id, nil).Approval.Digest))
	looks("the result does not come", func(now *status, _ string) bool { return now.State == completed })
	r.check(completed)
}
