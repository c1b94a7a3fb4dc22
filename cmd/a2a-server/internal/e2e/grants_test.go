package e2e_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/client"
)

// A grant ends with the right of its maker: of a key as its file has it now, of a caller of the proxy as
// they were when they were last seen, if that was not long ago. The call asks then, and says why.
func TestMakerOfAGrant(t *testing.T) {
	t.Parallel()
	type world struct {
		*voters
		file string
		skip func(time.Duration)
	}
	rewrite := func(w *world, old, now string) {
		text, err := os.ReadFile(w.file)
		if err == nil {
			err = os.WriteFile(w.file, []byte(strings.Replace(string(text), old, now, 1)), 0o600)
		}
		if err == nil {
			err = w.server.Reload()
		}
		if err != nil || !strings.Contains(string(text), old) {
			w.t.Fatal(err, string(text))
		}
	}
	for name, tc := range map[string]struct {
		maker  string
		change func(w *world)
		says   string // "": the grant still covers the call
	}{
		"a key": {"bob", func(*world) {}, ""},
		"a key that is revoked": {"bob", func(w *world) {
			if err := apikey.Revoke(w.file, "bob", time.Now()); err != nil {
				w.t.Fatal(err)
			}
			if err := w.server.Reload(); err != nil {
				w.t.Fatal(err)
			}
		}, "their API key was revoked, replaced or removed"},
		"a key that is replaced": {"bob", func(w *world) {
			if err := apikey.Revoke(w.file, "bob", time.Now()); err != nil {
				w.t.Fatal(err)
			}
			if _, err := apikey.Add(w.file, apikey.Key{ID: "bob", Tenant: "acme", Roles: []string{auth.RoleApprover, "finance"}, Created: time.Now().Add(time.Second)}, true); err != nil {
				w.t.Fatal(err)
			}
			if err := w.server.Reload(); err != nil {
				w.t.Fatal(err)
			}
		}, "their API key was revoked, replaced"},
		"a key without its role": {"bob", func(w *world) { rewrite(w, `roles: ["approver", "finance"]`, `roles: ["finance"]`) }, "no role that may decide it"},
		"a login":                {"proxy:bob approver", func(w *world) { w.skip(70 * time.Hour) }, ""},
		"a login with other roles": {"proxy:bob approver", func(w *world) {
			w.do(w.t, http.MethodGet, "/tasks", "", w.header("proxy:bob requester")...)
		}, "no role that may decide it"},
		"a login that is not seen": {"proxy:bob approver", func(w *world) { w.skip(74 * time.Hour) }, "they have not been seen for"},
		"a login that comes again": {"proxy:bob approver", func(w *world) {
			w.skip(74 * time.Hour)
			w.sendAs(w.t, message("m3", "/stream"), w.header("proxy:bob approver,requester")...)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := &voters{t: t, keys: map[string]string{}}
			w := &world{voters: v, file: filepath.Join(t.TempDir(), "keys.yaml")}
			v.keys["alice"] = newKey(t, w.file, apikey.Key{ID: "alice", Tenant: "acme", Roles: []string{auth.RoleRequester}})
			v.keys["bob"] = newKey(t, w.file, apikey.Key{ID: "bob", Tenant: "acme", Roles: []string{auth.RoleApprover, "finance"}})
			config, _ := configured(t, fmt.Sprintf(`
auth:
  keys: {file: %q}
  proxy: {header: X-User, from: [127.0.0.1], tenant: acme, roles: {header: X-Groups, map: {approver: [approver], requester: [requester]}}}
gates: [{tool: echo, grants: {scopes: [time], max: 240h}}]
`, w.file))
			var later atomic.Int64
			config.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
			w.skip = func(d time.Duration) { later.Store(int64(d)) }
			v.instance = start(t, config)
			asked, said := v.sendAs(t, message("m1", "/echo text=x"), v.header("alice")...)
			if asked.Status.State != waits {
				t.Fatal(said)
			}
			id := asked.ID + ".a1"
			if status, said := v.decide(tc.maker, id, client.Decision{Decision: client.Approve, Grant: &client.GrantRequest{Scope: string(approval.GrantTime)}}); status != http.StatusOK {
				t.Fatalf("approve with a grant: %d %s", status, said)
			}
			tc.change(w)
			got, said := v.sendAs(t, message("m2", "/echo text=x"), v.header("alice")...)
			if covered := got.Status.State == "TASK_STATE_COMPLETED"; covered != (tc.says == "") || !strings.Contains(said, tc.says) {
				t.Errorf("the later call is %s, want it covered: %t, and %q: %s", got.Status.State, tc.says == "", tc.says, said)
			}
		})
	}
}

// Whom the program authenticates, or lets decide, has votes and makes grants that count.
func TestDecidersOfAProgram(t *testing.T) {
	t.Parallel()
	v := &voters{t: t, keys: map[string]string{}}
	file := filepath.Join(t.TempDir(), "keys.yaml")
	for id, role := range map[string]string{"alice": auth.RoleRequester, "bob": auth.RoleApprover, "carl": auth.RoleApprover} {
		v.keys[id] = newKey(t, file, apikey.Key{ID: id, Tenant: "acme", Roles: []string{role}})
	}
	config, _ := configured(t, "gates: [{tool: echo, grants: {scopes: [time], max: 240h}}, {tool: transfer_money, people: 2}]")
	keys, err := apikey.New(apikey.Config{File: file})
	if err != nil {
		t.Fatal(err)
	}
	config.Authenticator = keys
	v.instance = start(t, config)
	task := v.ask("m1")
	v.want("bob", task+".a1", client.Approve, http.StatusAccepted)
	v.want("carl", task+".a1", client.Approve, http.StatusOK)
	asked, said := v.sendAs(t, message("m2", "/echo text=x"), v.header("alice")...)
	if asked.Status.State != waits {
		t.Fatal(said)
	}
	desk := auth.Principal{Tenant: "acme", Subject: "desk:dora", Roles: []string{auth.RoleApprover}, Method: "desk"}
	if err := v.server.Approvals().Decide(t.Context(), desk, approval.Decision{ID: asked.ID + ".a1", Type: approval.Approve, Grant: &approval.GrantRequest{Scope: approval.GrantTime}}); err != nil {
		t.Fatal(err)
	}
	if got, said := v.sendAs(t, message("m3", "/echo text=x"), v.header("alice")...); got.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("the grant of a decider of the program covers nothing: %s", said)
	}
}

// A grant of whom the program authenticates ends with the role that they had last, or if they are not seen for long.
func TestMakerThatTheProgramKnows(t *testing.T) {
	t.Parallel()
	byHeader := auth.Func(func(_ context.Context, c *auth.Credentials) (auth.Principal, error) {
		given := c.Header("X-User")
		if len(given) != 1 {
			return auth.Principal{}, auth.ErrNone
		}
		name, roles, _ := strings.Cut(given[0], " ")
		return auth.Principal{Tenant: "acme", Subject: "staff:" + name, Roles: strings.Split(roles, ","), Method: "staff"}, nil
	})
	for name, tc := range map[string]struct {
		via   string // bob's method when he decides; "": that of his messages
		again string // bob's roles in a later message; "": he sends none
		later time.Duration
		says  string // "": the grant still covers the call
	}{
		"as before":         {again: "approver,requester"},
		"has another role":  {again: "requester", says: "no role that may decide it"},
		"is not seen":       {later: 74 * time.Hour, says: "they have not been seen for"},
		"comes again":       {later: 74 * time.Hour, again: "approver,requester"},
		"decides at a desk": {via: "desk", again: "requester", says: "no role that may decide it"},
		"only at a desk":    {via: "desk", later: 74 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, _ := configured(t, "gates: [{tool: echo, grants: {scopes: [time], max: 240h}}]")
			config.Authenticator = byHeader
			var later atomic.Int64
			config.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
			in := start(t, config)
			send := func(id, text, who string) (taskAnswer, string) { return in.sendAs(t, message(id, text), "X-User", who) }
			asked, said := send("m1", "/echo text=x", "alice requester")
			if asked.Status.State != waits {
				t.Fatal(said)
			}
			if tc.via == "" {
				send("m0", "/stream", "bob approver,requester")
			}
			by := auth.Principal{Tenant: "acme", Subject: "staff:bob", Roles: []string{auth.RoleApprover}, Method: cmp.Or(tc.via, "staff")}
			if err := in.server.Approvals().Decide(t.Context(), by, approval.Decision{ID: asked.ID + ".a1", Type: approval.Approve, Grant: &approval.GrantRequest{Scope: approval.GrantTime}}); err != nil {
				t.Fatal(err)
			}
			later.Store(int64(tc.later))
			if tc.again != "" {
				send("m2", "/stream", "bob "+tc.again)
			}
			got, said := send("m3", "/echo text=x", "alice requester")
			if covered := got.Status.State == "TASK_STATE_COMPLETED"; covered != (tc.says == "") || !strings.Contains(said, tc.says) {
				t.Errorf("the later call is %s, want it covered: %t, and %q: %s", got.Status.State, tc.says == "", tc.says, said)
			}
		})
	}
}
