package a2a_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/store/storetest"
	"a2a-server/task/engine"
)

// callerOf authenticates everybody as who X-Who says: tenant, subject and roles.
func callerOf(_ context.Context, c *auth.Credentials) (auth.Principal, error) {
	who := c.Header("X-Who")
	if len(who) == 0 {
		return auth.Principal{}, auth.ErrNone
	}
	parts := strings.Split(who[0], "|")
	return auth.Principal{Tenant: parts[0], Subject: parts[1], Roles: strings.Fields(parts[2]), Method: "test"}, nil
}

// rightsWorld is a server with ended tasks of three owners.
type rightsWorld struct {
	*wireServer
	store *storetest.Counted

	tasks, contexts map[string]string // by whose they are
}

// startCounted starts a server that counts the calls of its store, for the callers of callerOf.
// It has no tasks.
func startCounted(t *testing.T, changes ...wireChange) *rightsWorld {
	t.Helper()
	w := &rightsWorld{contexts: map[string]string{}, tasks: map[string]string{"missing": "019b7c00-0000-7000-8000-0000ffffffff", "impossible": "no-id"}}
	w.wireServer = startWireServer(t, zerolog.Nop(), append([]wireChange{func(e *engine.Config, c *a2a.Config) {
		w.store = &storetest.Counted{Handle: e.Store}
		e.Store, c.Authenticator = w.store, auth.Func(callerOf)
	}}, changes...)...)
	awaitSweep(t, w.store.Handle)
	return w
}

// awaitSweep waits until an engine has checked pending approvals after its start: from then on, calls of
// the store are for requests.
func awaitSweep(t testing.TB, h store.Handle) {
	t.Helper()
	sweeps := store.RowQuery{Kind: "sweep"} // one, of the engine itself
	wakes, stop := h.WatchRows(store.System(), sweeps.Kind)
	defer stop()
	for {
		page, err := h.Rows(t.Context(), store.System(), sweeps)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Rows) > 0 && bytes.Contains(page.Rows[0].Value, []byte(`"done":`)) {
			return
		}
		select {
		case <-wakes:
		case <-t.Context().Done():
			t.Fatal("no sweep has ended")
		}
	}
}

// ask makes a request of somebody, and counts what it costs.
func (w *rightsWorld) ask(t testing.TB, who, method, path, body string, named ...http.Header) answered {
	t.Helper()
	r := newRequest(t, method, "http://127.0.0.1"+path, body)
	for _, headers := range named {
		maps.Copy(r.Header, headers)
	}
	if who != "" {
		r.Header.Set("X-Who", who)
	}
	before := w.store.Calls.Load()
	rec := record(w.handler, r)
	return answered{rec.Code, rec.Header(), rec.Body.String(), w.store.Calls.Load() - before}
}

func newRightsWorld(t *testing.T) *rightsWorld {
	t.Helper()
	return newRightsWorldAs(t, callerOf)
}

// newRightsWorldAs is newRightsWorld with another authentication.
func newRightsWorldAs(t *testing.T, authenticate auth.Func) *rightsWorld {
	t.Helper()
	w := startCounted(t, func(e *engine.Config, c *a2a.Config) {
		c.Authenticator = authenticate
		offerPush(t, e, c)
	})
	for name, owner := range map[string]auth.Principal{
		"own":          {Tenant: "acme", Subject: "me"},
		"foreign":      {Tenant: "acme", Subject: "other"},
		"other tenant": {Tenant: "umbrella", Subject: "me"},
		"anonymous":    auth.Anonymous(),
	} {
		if name != "anonymous" {
			owner.Roles, owner.Method = []string{auth.RoleRequester}, "test"
		}
		a := w.engine.ReserveRead(owner)
		sent, err := w.engine.Send(t.Context(), engine.Send{By: owner, Message: call("echo", map[string]any{"text": "secret of " + name}), Push: secretWebhook(name)})
		if err != nil {
			t.Fatal(err)
		}
		v, err := a.Await(t.Context(), sent)
		if err != nil {
			t.Fatal(err)
		}
		a.Release()
		w.contexts[name] = v.ContextID()
		w.tasks[name] = sent.Task.String()
		if name == "own" { // it would be decided by the first who may
			continue
		}
		a = w.engine.ReserveRead(owner)
		sent, err = w.engine.Send(t.Context(), engine.Send{By: owner, Message: call("transfer", map[string]any{"amount": 1, "to": "secret of " + name}), Push: secretWebhook(name)})
		if err != nil {
			t.Fatal(err)
		}
		if v, err = a.Await(t.Context(), sent); err != nil || v.State() != sdk.TaskStateInputRequired {
			t.Fatalf("task of %s = %v, %v", name, v, err)
		}
		w.contexts[name+", pending"] = v.ContextID()
		a.Release()
		w.tasks[name+", pending"] = sent.Task.String()
	}
	return w
}

// answered is all of an answer that a caller can see, and what it cost.
type answered struct {
	Status int
	Header http.Header
	Body   string
	Calls  int64
}

// rightsOperation is one operation on one binding.
type rightsOperation struct {
	name   string
	action auth.Action
	do     func(t testing.TB, w *rightsWorld, who, id string) answered
}

func rightsOperations() []rightsOperation {
	type ask = func(testing.TB, *rightsWorld, string, string) answered
	http1 := func(method, path, body string) ask {
		version := "1.0"
		if strings.HasPrefix(path, "/v1/") || strings.Contains(body, `"method":"message/`) || strings.Contains(body, `"method":"tasks/`) {
			version = "0.3"
		}
		return func(t testing.TB, w *rightsWorld, who, id string) answered {
			return w.ask(t, who, method, strings.ReplaceAll(path, "ID", id), strings.ReplaceAll(body, "ID", id), http.Header{"A2a-Version": {version}})
		}
	}
	rpc := func(method, params string) ask {
		return http1("POST", "/", `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`)
	}
	const decision = `{"message":{"messageId":"d","role":"ROLE_USER","taskId":"ID","parts":[{"data":{"type":"approval_response","decisions":[{"id":"ID.a1","decision":"approve"}]}}]}}`
	const keyword = `{"message":{"messageId":"k","role":"ROLE_USER","taskId":"ID","parts":[{"text":"approve"}]}}`
	const message = `{"message":{"messageId":"m","role":"ROLE_USER","taskId":"ID","parts":[{"text":"hi"}]}}`
	ops := []rightsOperation{
		{"REST send", auth.Create, http1("POST", "/message:send", message)},
		{"REST stream", auth.Create, http1("POST", "/message:stream", message)},
		{"REST send a decision", auth.Create, http1("POST", "/message:send", decision)},
		{"REST stream a decision", auth.Create, http1("POST", "/message:stream", decision)},
		{"REST send a keyword", auth.Create, http1("POST", "/message:send", keyword)},
		{"RPC SendMessage with a decision", auth.Create, rpc("SendMessage", decision)},
		{"RPC SendStreamingMessage with a decision", auth.Create, rpc("SendStreamingMessage", decision)},
		{"REST get", auth.Read, http1("GET", "/tasks/ID", "")},
		{"REST cancel", auth.Cancel, http1("POST", "/tasks/ID:cancel", "")},
		{"REST subscribe", auth.Follow, http1("GET", "/tasks/ID:subscribe", "")},
		{"REST subscribe by POST", auth.Follow, http1("POST", "/tasks/ID:subscribe", "{}")},
		{"RPC SendMessage", auth.Create, rpc("SendMessage", message)},
		{"RPC SendStreamingMessage", auth.Create, rpc("SendStreamingMessage", message)},
		{"RPC GetTask", auth.Read, rpc("GetTask", `{"id":"ID"}`)},
		{"RPC CancelTask", auth.Cancel, rpc("CancelTask", `{"id":"ID"}`)},
		{"RPC SubscribeToTask", auth.Follow, rpc("SubscribeToTask", `{"id":"ID"}`)},
	}
	const hook, all = "/tasks/ID/pushNotificationConfigs/c", "/tasks/ID/pushNotificationConfigs"
	const oldDecision = `{"message":{"kind":"message","messageId":"d","role":"user","taskId":"ID","parts":[{"kind":"data","data":{"type":"approval_response","decisions":[{"id":"ID.a1","decision":"approve"}]}}]}}`
	const inline = `{"message":{"messageId":"m","role":"ROLE_USER","taskId":"ID","parts":[{"text":"hi"}]},"configuration":{"taskPushNotificationConfig":{"url":"https://hook.example/"}}}`
	ops = append(ops, []rightsOperation{
		{"REST send with a webhook", auth.Create, http1("POST", "/message:send", inline)},
		{"RPC SendMessage with a webhook", auth.Create, rpc("SendMessage", inline)},
		{"REST set a webhook", auth.Push, http1("POST", all, `{"id":"c","url":"https://hook.example/"}`)},
		{"REST get a webhook", auth.Push, http1("GET", hook, "")},
		{"REST list webhooks", auth.Push, http1("GET", all, "")},
		{"RPC CreateTaskPushNotificationConfig", auth.Push, rpc("CreateTaskPushNotificationConfig", `{"taskId":"ID","id":"c","url":"https://hook.example/"}`)},
		{"RPC GetTaskPushNotificationConfig", auth.Push, rpc("GetTaskPushNotificationConfig", `{"taskId":"ID","id":"c"}`)},
		{"RPC ListTaskPushNotificationConfigs", auth.Push, rpc("ListTaskPushNotificationConfigs", `{"taskId":"ID"}`)},
		{"RPC tasks/get", auth.Read, rpc("tasks/get", `{"id":"ID"}`)},
		{"RPC tasks/cancel", auth.Cancel, rpc("tasks/cancel", `{"id":"ID"}`)},
		{"RPC tasks/resubscribe", auth.Follow, rpc("tasks/resubscribe", `{"id":"ID"}`)},
		{"RPC message/send a decision", auth.Create, rpc("message/send", oldDecision)},
		{"RPC message/stream a decision", auth.Create, rpc("message/stream", oldDecision)},
		{"RPC message/send with a webhook", auth.Create, rpc("message/send", `{"message":{"kind":"message","messageId":"m","role":"user","taskId":"ID","parts":[{"kind":"text","text":"hi"}]},"configuration":{"pushNotificationConfig":{"url":"https://hook.example/"}}}`)},
		{"RPC tasks/pushNotificationConfig/set", auth.Push, rpc("tasks/pushNotificationConfig/set", `{"taskId":"ID","pushNotificationConfig":{"id":"c","url":"https://hook.example/"}}`)},
		{"RPC tasks/pushNotificationConfig/get", auth.Push, rpc("tasks/pushNotificationConfig/get", `{"id":"ID","pushNotificationConfigId":"c"}`)},
		{"RPC tasks/pushNotificationConfig/get the first", auth.Push, rpc("tasks/pushNotificationConfig/get", `{"id":"ID"}`)},
		{"RPC tasks/pushNotificationConfig/list", auth.Push, rpc("tasks/pushNotificationConfig/list", `{"id":"ID"}`)},
		{"REST 0.3 get", auth.Read, http1("GET", "/v1/tasks/ID", "")},
		{"REST 0.3 cancel", auth.Cancel, http1("POST", "/v1/tasks/ID:cancel", "")},
		{"REST 0.3 subscribe", auth.Follow, http1("GET", "/v1/tasks/ID:subscribe", "")},
		{"REST 0.3 send a decision", auth.Create, http1("POST", "/v1/message:send", oldDecision)},
		{"REST 0.3 stream a decision", auth.Create, http1("POST", "/v1/message:stream", oldDecision)},
		{"REST 0.3 set a webhook", auth.Push, http1("POST", "/v1"+all, `{"configId":"c","config":{"pushNotificationConfig":{"url":"https://hook.example/"}}}`)},
		{"REST 0.3 get a webhook", auth.Push, http1("GET", "/v1"+hook, "")},
		{"REST 0.3 list webhooks", auth.Push, http1("GET", "/v1"+all, "")},
		// These are last: afterwards the caller's own webhook is gone.
		{"REST 0.3 delete a webhook", auth.Push, http1("DELETE", "/v1"+hook, "")},
		{"RPC tasks/pushNotificationConfig/delete", auth.Push, rpc("tasks/pushNotificationConfig/delete", `{"id":"ID","pushNotificationConfigId":"c"}`)},
		{"REST delete a webhook", auth.Push, http1("DELETE", hook, "")},
		{"RPC DeleteTaskPushNotificationConfig", auth.Push, rpc("DeleteTaskPushNotificationConfig", `{"taskId":"ID","id":"c"}`)},
	}...)
	return ops
}

// Every operation on every binding, for each role and for tasks of everybody: without a
// role it is refused before the store is asked, in the same way for all tasks; and a task
// out of reach is exactly a missing one, in all that a caller sees and in what it costs.
func TestRights(t *testing.T) {
	t.Parallel()
	w := newRightsWorld(t)
	roles := append([]string{"", "ops", auth.RoleViewer + " " + auth.RoleApprover, auth.RoleRequester + " " + auth.RoleApprover}, auth.Roles()...)
	defer w.wantPending(t)
	for _, op := range rightsOperations() {
		for _, role := range roles {
			t.Run(op.name+"/"+role, func(t *testing.T) {
				me, _ := callerOf(t.Context(), &auth.Credentials{Header: func(string) []string { return []string{"acme|me|" + role} }})
				may, whole := me.May(op.action) == nil, me.Whole(op.action)
				missing := op.do(t, w, "acme|me|"+role, w.tasks["missing"])
				if !may && (missing.Status != http.StatusForbidden || missing.Calls != 0) {
					t.Fatalf("without a role: %+v", missing)
				}
				if may && (missing.Calls == 0 || missing.Status == http.StatusForbidden || !strings.Contains(missing.Body, "TASK_NOT_FOUND")) {
					t.Fatalf("a missing task: %+v", missing)
				}
				for _, name := range slices.Sorted(maps.Keys(w.tasks)) {
					if whole && name == "foreign, pending" {
						continue // it is reached like the one that has ended, and would not stay pending
					}
					got := op.do(t, w, "acme|me|"+role, w.tasks[name])
					reached := may && (name == "own" || name == "foreign" && whole)
					if name == "impossible" {
						got.Calls = missing.Calls // an id that is none need not be looked up
					}
					diff := cmp.Diff(missing, got)
					if reached == (diff == "") {
						t.Errorf("a task that is %s: reached %v, and compared with a missing one:\n%s", name, reached, diff)
					}
					if !reached && strings.Contains(got.Body, "secret") {
						t.Errorf("a task that is %s: %s", name, got.Body)
					}
				}
			})
		}
	}
}

// Nothing that anybody has tried has decided, answered or canceled what is another's.
func (w *rightsWorld) wantPending(t *testing.T) {
	t.Helper()
	for _, owner := range []auth.Principal{{Tenant: "acme", Subject: "other", Roles: []string{auth.RoleRequester}}, {Tenant: "umbrella", Subject: "me", Roles: []string{auth.RoleRequester}}, auth.Anonymous()} {
		page, err := w.engine.Approvals().List(t.Context(), owner, engine.ApprovalQuery{})
		if err != nil || len(page.Approvals) != 1 {
			t.Errorf("%d approvals of %s in %s are pending, %v; want one", len(page.Approvals), owner.Subject, owner.Tenant, err)
		}
	}
}

// The tasks of somebody else's context are those of none, for each role.
func TestRightsOfAContext(t *testing.T) {
	t.Parallel()
	w := newRightsWorld(t)
	for _, role := range append([]string{auth.RoleRequester + " " + auth.RoleApprover}, auth.Roles()...) {
		list := func(id string) answered {
			return w.ask(t, "acme|me|"+role, "GET", "/tasks?contextId="+id, "")
		}
		missing := list("none")
		for _, name := range []string{"foreign", "foreign, pending", "other tenant", "anonymous"} {
			if diff := cmp.Diff(missing, list(w.contexts[name])); diff != "" {
				t.Errorf("%s: the tasks of a context that is %s, and of none:\n%s", role, name, diff)
			}
		}
	}
}

// Operations without a task are refused in the same way.
func TestRightsWithoutTask(t *testing.T) {
	t.Parallel()
	w := newRightsWorld(t)
	for _, tc := range []struct {
		method, path, body string
		action             auth.Action
	}{
		{"GET", "/tasks", "", auth.List},
		{"POST", "/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`, auth.Create},
		{"POST", "/message:stream", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`, auth.Create},
		{"POST", "/tasks/x/pushNotificationConfigs", "{}", auth.Push},
		{"GET", "/tasks/x/pushNotificationConfigs", "", auth.Push},
		{"GET", "/tasks/x/pushNotificationConfigs/y", "", auth.Push},
		{"DELETE", "/tasks/x/pushNotificationConfigs/y", "", auth.Push},
		{"GET", "/extendedAgentCard", "", auth.Read},
		{"RPC", "ListTasks", `{}`, auth.List},
		{"RPC", "SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`, auth.Create},
		{"RPC", "SendStreamingMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`, auth.Create},
		{"RPC", "SendMessage", `{"nothing":"that could be decoded"}`, auth.Create},
		{"RPC", "CreateTaskPushNotificationConfig", `{}`, auth.Push},
		{"RPC", "GetTaskPushNotificationConfig", `{}`, auth.Push},
		{"RPC", "ListTaskPushNotificationConfigs", `{}`, auth.Push},
		{"RPC", "DeleteTaskPushNotificationConfig", `{}`, auth.Push},
		{"RPC", "GetExtendedAgentCard", `{}`, auth.Read},
	} {
		for _, role := range append([]string{"ops"}, auth.Roles()...) {
			me := auth.Principal{Tenant: "acme", Subject: "me", Roles: []string{role}}
			method, path, body := tc.method, tc.path, tc.body
			if method == "RPC" {
				method, path, body = "POST", "/", `{"jsonrpc":"2.0","id":"the id","method":"`+path+`","params":`+body+`}`
			}
			r := newRequest(t, method, "http://127.0.0.1"+path, body, "X-Who", "acme|me|"+role)
			if tc.method != "RPC" && me.May(tc.action) != nil {
				r.Body = io.NopCloser(unreadable{t})
			}
			before := w.store.Calls.Load()
			rec := record(w.handler, r)
			refused := rec.Code == http.StatusForbidden
			if refused != (me.May(tc.action) != nil) || refused && w.store.Calls.Load() != before {
				t.Errorf("%s %s as %s = %d %s", tc.method, tc.path, role, rec.Code, rec.Body)
			}
			if body := rec.Body.String(); refused && (!strings.Contains(body, "PERMISSION_DENIED") || tc.method == "RPC" && !strings.Contains(body, `"id":"the id"`)) {
				t.Errorf("%s %s as %s is refused with %s", tc.method, tc.path, role, body)
			}
			if got := rec.Header().Values("Vary"); !slices.Contains(got, "Authorization") {
				t.Errorf("%s %s: Vary = %q", tc.method, tc.path, got)
			}
		}
	}
}

// unreadable is a body that must not be read.
type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// A decision counts for who its sender is when it is committed, on every binding.
func TestRightsAtCommit(t *testing.T) {
	t.Parallel()
	for _, op := range rightsOperations() {
		if !strings.Contains(op.name, "decision") {
			continue
		}
		for name, tc := range map[string]struct {
			later  string // who the second authentication is, "": nobody any longer
			status int
			says   string
		}{
			"as before":             {"acme|other|requester", http.StatusOK, ""},
			"the role is withdrawn": {"acme|other|viewer", http.StatusBadRequest, "no role"},
			"the key is revoked":    {"", http.StatusUnauthorized, "revoked"},
		} {
			t.Run(op.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				var n atomic.Int64
				authenticate := func(ctx context.Context, c *auth.Credentials) (auth.Principal, error) {
					switch {
					case n.Add(1) == 1:
						return callerOf(ctx, c)
					case tc.later == "":
						return auth.Principal{}, &auth.Error{Scheme: "ApiKey", Code: "invalid_token", Description: "the key was revoked"}
					}
					return callerOf(ctx, &auth.Credentials{Header: func(string) []string { return []string{tc.later} }})
				}
				w := newRightsWorldAs(t, authenticate)
				got := op.do(t, w, "acme|other|requester", w.tasks["foreign, pending"])
				page, err := w.engine.Approvals().List(t.Context(), auth.Principal{Tenant: "acme", Subject: "other", Roles: []string{auth.RoleRequester}}, engine.ApprovalQuery{})
				if err != nil {
					t.Fatal(err)
				}
				if decided := len(page.Approvals) == 0; decided != (tc.status == http.StatusOK) {
					t.Errorf("decided %t: %d %s", decided, got.Status, got.Body)
				}
				if tc.status != http.StatusOK && !strings.Contains(got.Body, tc.says) {
					t.Errorf("the answer is %d %s, want %q", got.Status, got.Body, tc.says)
				}
				if strings.HasPrefix(op.name, "REST") && got.Status != tc.status {
					t.Errorf("status %d, want %d: %s", got.Status, tc.status, got.Body)
				}
			})
		}
	}
}
