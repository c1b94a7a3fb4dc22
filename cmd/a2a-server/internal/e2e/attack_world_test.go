package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/store/memstore"
	"a2a-server/store/storetest"
	"a2a-server/tool"
	"a2a-server/tool/builtin"
	"a2a-server/tool/functiontool"
)

// victims is in everything that the victim has, and in nothing that anybody else may see.
const victims = "the-secret-of-the-victim"

// attacked is a server with callers of every kind, and tasks of others that an attacker
// tries to reach.
type attacked struct {
	*instance
	store   *storetest.Counted
	issuer  *tokenProvider
	dead    string                   // an issuer that does not answer
	keyFile string                   // of API keys
	keys    map[string]string        // API keys by their ids
	tokens  map[string]func() string // of colleagues by their names
	ledger  string                   // of transfer_money
	hook    *httptest.Server         // webhook of the victim's tasks
	entered chan struct{}            // the tool "hold" runs
	release func()                   // lets it end, in all tasks
	grpc    *grpc.ClientConn
	tasks   map[string]string // ids by names such as "acme parked"
}

// callers of API keys: each has the role requester.
var attackKeys = []apikey.Key{
	{ID: "victim", Tenant: "acme", Roles: []string{auth.RoleRequester}},
	{ID: "mallory", Tenant: "acme", Roles: []string{auth.RoleRequester}},
	{ID: "expired", Tenant: "acme", Roles: []string{auth.RoleRequester}, Expires: time.Now().Add(-time.Hour)},
	{ID: "robot", Tenant: "acme", Kind: auth.KindService, Roles: []string{auth.RoleRequester}},
	{ID: "revoked", Tenant: "acme", Roles: []string{auth.RoleRequester}},
}

// prepareAttacked makes everything but the server.
func prepareAttacked(t *testing.T) (w *attacked, tools []tool.Toolset) {
	t.Helper()
	db := memstore.New()
	h, err := db.Handle()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// It keeps its port, which another issuer could get otherwise.
	gone := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(gone.Close)
	held := make(chan struct{})
	w = &attacked{
		store: &storetest.Counted{Handle: h, Of: requested}, issuer: newTokenProvider(t), dead: gone.URL, keyFile: filepath.Join(dir, "keys.yaml"), keys: map[string]string{}, tasks: map[string]string{},
		ledger: filepath.Join(dir, "ledger.jsonl"), entered: make(chan struct{}, 100), release: sync.OnceFunc(func() { close(held) }),
	}
	w.hook = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(w.hook.Close)
	w.tokens = map[string]func() string{}
	for _, who := range []string{"victim", "mallory"} {
		w.tokens[who] = sync.OnceValue(func() string { return token("k1", w.issuer.claims("acme", who, auth.RoleRequester)) })
	}
	for _, k := range attackKeys {
		w.keys[k.ID] = newKey(t, w.keyFile, k)
	}
	if err := apikey.Revoke(w.keyFile, "revoked", time.Now()); err != nil {
		t.Fatal(err)
	}
	set, err := builtin.New(builtin.Config{Ledger: w.ledger})
	if err != nil {
		t.Fatal(err)
	}
	hold, err := functiontool.New(functiontool.Config{Name: "hold", Description: "waits", Annotations: tool.Annotations{ReadOnly: true}},
		func(ctx tool.Context, a struct {
			Text string `json:"text"`
		}) (string, error) {
			w.entered <- struct{}{}
			select {
			case <-held:
				return a.Text, nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	return w, []tool.Toolset{set, tool.NewToolset("attacked", hold)}
}

// startAttacked starts a server as operators run it.
func startAttacked(t *testing.T) *attacked {
	t.Helper()
	w, tools := prepareAttacked(t)
	w.run(t, tools)
	w.fill(t)
	return w
}

// startAttackedWith starts one without tasks, whose issuer answers with something else than
// its keys.
func startAttackedWith(t *testing.T, keys http.HandlerFunc) *attacked {
	t.Helper()
	w, tools := prepareAttacked(t)
	w.issuer.serve(keys)
	w.run(t, tools)
	return w
}

// run runs a server of this world.
func (w *attacked) run(t *testing.T, tools []tool.Toolset) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a2a-server.yaml")
	roles := "claim: groups, map: {ops: [ops]"
	for _, role := range auth.Roles() {
		roles += ", " + role + ": [" + role + "]"
	}
	text := fmt.Sprintf(`
grpc: {listen: "127.0.0.1:0"}
auth:
  keys: {file: %[1]q}
  oidc:
    - {name: corp, issuer: %[2]q, audiences: [a2a], networks: [127.0.0.1], tenant: {claim: org}, person: employee, roles: {%[4]s}}}
    - {name: dead, issuer: %[3]q, audiences: [a2a], networks: [127.0.0.1], tenant: {claim: org}, roles: {%[4]s}}}
limits: {auth_failures: 0}
push: {enabled: true, allow_http: true, allow_loopback: true}
`, w.keyFile, w.issuer.URL, w.dead, roles)
	rewrite(t, file, text)
	c := load(t, nil)
	c.File, c.Store, c.Tools = file, w.store, tools
	w.instance = start(t, c)
	w.grpc = dialGRPC(t, w.server.GRPCAddr().String(), nil)
}

// fill makes the tasks that are attacked: of a colleague and of somebody in another tenant
// whose name is the attacker's, before, during and after a run.
func (w *attacked) fill(t *testing.T) {
	t.Helper()
	t.Cleanup(w.release) // before the server is stopped, which would wait
	w.tasks["missing"] = "019b7c00-0000-7000-8000-0000ffffffff"
	w.tasks["impossible"] = "no-id"
	for owner, header := range w.owners() {
		for state, text := range map[string]string{
			"parked": "/transfer_money amount=5 to=" + victims, "running": "/hold text=" + victims, "ended": "/echo text=" + victims,
		} {
			w.tasks[owner+" "+state] = w.create(t, header, text)
		}
	}
}

// requested says whether a call of the store is for a request, over HTTP or gRPC. The server
// has reads of its own, such as those of webhooks, at any time.
func requested(ctx context.Context) bool {
	return ctx.Value(http.ServerContextKey) != nil || grpc.ServerTransportStreamFromContext(ctx) != nil
}

// versionOf returns the version of A2A that a request is in.
func versionOf(path, body string) string {
	if strings.HasPrefix(path, "/v1/") || strings.HasPrefix(body, `{"jsonrpc"`) && regexp.MustCompile(`"method":"[a-z]+/`).MatchString(body) {
		return "0.3"
	}
	return "1.0"
}

// owners are whose tasks are attacked, by their tenants.
func (w *attacked) owners() map[string]http.Header {
	return map[string]http.Header{
		"acme":     w.victim(),
		"umbrella": bearing(token("k1", w.issuer.claims("umbrella", "mallory", auth.RoleRequester))),
	}
}

// bearing returns the headers of a request with a token.
func bearing(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// keyed returns the headers of a request with an API key.
func (w *attacked) keyed(id string) http.Header { return http.Header{"X-Api-Key": {w.keys[id]}} }

// create makes a task, and waits for it to rest unless it is held.
func (w *attacked) create(t *testing.T, header http.Header, text string) string {
	t.Helper()
	m := message("m-"+text, text)
	config := map[string]any{"returnImmediately": true}
	if strings.Contains(text, victims) {
		config["taskPushNotificationConfig"] = map[string]any{"id": "c", "url": w.hook.URL + "/" + victims, "token": victims}
	}
	m["configuration"] = config
	a := w.send(t, header, m)
	id := regexp.MustCompile(`"task":\{.*?"id":"([^"]+)"|"id":"([0-9a-f-]{36})"`).FindStringSubmatch(a.Body)
	if id == nil {
		t.Fatalf("%s: %d %s", text, a.Status, a.Body)
	}
	task := id[1] + id[2]
	if strings.HasPrefix(text, "/hold") {
		<-w.entered
	} else {
		until(t, "the task waits or has ended", func() bool {
			return settled(w.rpc(t, header, "GetTask", map[string]any{"id": task}).Body)
		})
	}
	return task
}

// open makes a request.
func (w *attacked) open(ctx context.Context, header http.Header, method, path, body string) (*http.Response, error) {
	if method == overGRPC {
		return w.openGRPC(ctx, header, path, body)
	}
	r, err := http.NewRequestWithContext(ctx, method, w.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(r.Header, header)
	r.Header.Set("A2A-Version", versionOf(path, body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return w.client.Do(r)
}

// do makes a request and reads its answer to the end. It may be called by any goroutine.
func (w *attacked) do(t *testing.T, header http.Header, method, path, body string) answered {
	t.Helper()
	before := w.store.Calls.Load()
	resp, err := w.open(t.Context(), header, method, path, body)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
		return answered{}
	}
	a, err := answerOf(resp)
	if err != nil {
		t.Errorf("%s %s: %v after %d %s", method, path, err, a.Status, a.Body)
	}
	delete(a.Header, "Date")
	a.Calls = w.store.Calls.Load() - before
	return a
}

// rpc calls a method of JSON-RPC.
func (w *attacked) rpc(t *testing.T, header http.Header, method string, params any) answered {
	t.Helper()
	return w.do(t, header, http.MethodPost, "/", request(t, method, params))
}

// send sends a message over JSON-RPC.
func (w *attacked) send(t *testing.T, header http.Header, params any) answered {
	t.Helper()
	return w.rpc(t, header, "SendMessage", params)
}

// attackOperation is an operation as an attacker asks for it: of a task, unless it has none.
type attackOperation struct {
	name   string
	action auth.Action
	ofTask bool
	verb   string // of HTTP+JSON
	path   string // likewise; {id} is the task
	params string // of JSON-RPC, and the body of a POST in HTTP+JSON; likewise
}

// attackOperations are those of A2A. The message that is sent is the worst that it can be:
// the approval of what the task waits for.
func attackOperations() []attackOperation {
	const approval = `{"message":{"messageId":"m","role":"ROLE_USER","taskId":"{id}","parts":[{"data":{"type":"approval_response","decisions":[{"id":"{id}.a1","decision":"approve"}]}}]}}`
	return []attackOperation{
		{name: "SendMessage", action: auth.Create, ofTask: true, verb: "POST", path: "/message:send", params: approval},
		{name: "SendStreamingMessage", action: auth.Create, ofTask: true, verb: "POST", path: "/message:stream", params: approval},
		{name: "GetTask", action: auth.Read, ofTask: true, verb: "GET", path: "/tasks/{id}", params: `{"id":"{id}"}`},
		{name: "ListTasks", action: auth.List, verb: "GET", path: "/tasks?includeArtifacts=true", params: `{"includeArtifacts":true}`},
		{name: "CancelTask", action: auth.Cancel, ofTask: true, verb: "POST", path: "/tasks/{id}:cancel", params: `{"id":"{id}"}`},
		{name: "SubscribeToTask", action: auth.Follow, ofTask: true, verb: "GET", path: "/tasks/{id}:subscribe", params: `{"id":"{id}"}`},
		{name: "CreateTaskPushNotificationConfig", action: auth.Push, ofTask: true, verb: "POST", path: "/tasks/{id}/pushNotificationConfigs", params: `{"taskId":"{id}","url":"https://example.com/hook"}`},
		{name: "GetTaskPushNotificationConfig", action: auth.Push, ofTask: true, verb: "GET", path: "/tasks/{id}/pushNotificationConfigs/c", params: `{"taskId":"{id}","id":"c"}`},
		{name: "ListTaskPushNotificationConfigs", action: auth.Push, ofTask: true, verb: "GET", path: "/tasks/{id}/pushNotificationConfigs", params: `{"taskId":"{id}"}`},
		{name: "DeleteTaskPushNotificationConfig", action: auth.Push, ofTask: true, verb: "DELETE", path: "/tasks/{id}/pushNotificationConfigs/c", params: `{"taskId":"{id}","id":"c"}`},
		{name: "GetExtendedAgentCard", action: auth.Read, verb: "GET", path: "/extendedAgentCard", params: `{}`},
	}
}

// operation returns the operation of a name.
func operation(name string) attackOperation {
	all := attackOperations()
	return all[slices.IndexFunc(all, func(op attackOperation) bool { return op.name == name })]
}

// attackBinding is a binding in a version of A2A.
type attackBinding struct {
	name string
	put  func(op attackOperation, task string) (method, path, body string)
	old  bool // it is of A2A 0.3
}

// ask asks for an operation, and reads the answer to its end.
func (b attackBinding) ask(w *attacked, t *testing.T, header http.Header, op attackOperation, task string) answered {
	t.Helper()
	method, path, body := b.put(op, task)
	a := w.do(t, header, method, path, body)
	if !b.old {
		return a
	}
	for old, now := range map[string]string{`"completed"`: `"TASK_STATE_COMPLETED"`, `"input-required"`: `"TASK_STATE_INPUT_REQUIRED"`, `"canceled"`: `"TASK_STATE_CANCELED"`} {
		a.Body = strings.ReplaceAll(a.Body, old, now)
	}
	return a
}

func putRPC(op attackOperation, task string) (method, path, body string) {
	return http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":"` + op.name + `","params":` + strings.ReplaceAll(op.params, "{id}", task) + `}`
}

func putREST(op attackOperation, task string) (method, path, body string) {
	if op.verb == http.MethodPost {
		body = strings.ReplaceAll(op.params, "{id}", task)
	}
	return op.verb, strings.ReplaceAll(op.path, "{id}", task), body
}

// oldMethods are those of A2A 0.3, which has no ListTasks in JSON-RPC.
var oldMethods = map[string]string{
	"SendMessage": "message/send", "SendStreamingMessage": "message/stream", "GetTask": "tasks/get", "CancelTask": "tasks/cancel", "SubscribeToTask": "tasks/resubscribe",
	"CreateTaskPushNotificationConfig": "tasks/pushNotificationConfig/set", "GetTaskPushNotificationConfig": "tasks/pushNotificationConfig/get",
	"ListTaskPushNotificationConfigs": "tasks/pushNotificationConfig/list", "DeleteTaskPushNotificationConfig": "tasks/pushNotificationConfig/delete",
	"GetExtendedAgentCard": "agent/getAuthenticatedExtendedCard",
}

// oldParams returns the parameters of an operation as A2A 0.3 has them.
func oldParams(op attackOperation, parts, role string) string {
	switch {
	case strings.HasPrefix(op.name, "Create") && parts == "parts":
		return `{"taskId":"{id}","pushNotificationConfig":{"url":"https://example.com/hook"}}`
	case strings.HasPrefix(op.name, "Create"):
		return `{"config":{"pushNotificationConfig":{"url":"https://example.com/hook"}}}`
	case op.action == auth.Push:
		return `{"id":"{id}","pushNotificationConfigId":"c"}`
	case parts == "parts":
		return strings.NewReplacer(`"role":"ROLE_USER"`, role, `{"data":{`, `{"kind":"data","data":{`).Replace(op.params)
	}
	return strings.NewReplacer(`"parts"`, `"content"`, `{"data":{`, `{"data":{"data":{`, `]}}]}}`, `]}}}]}}`).Replace(op.params)
}

func putOldRPC(op attackOperation, task string) (method, path, body string) {
	if oldMethods[op.name] == "" {
		return putOldREST(op, task)
	}
	op.params, op.name = oldParams(op, "parts", `"kind":"message","role":"user"`), oldMethods[op.name]
	return putRPC(op, task)
}

func putOldREST(op attackOperation, task string) (method, path, body string) {
	op.params, op.path = oldParams(op, "content", ""), "/v1"+op.path
	if op.name == "GetExtendedAgentCard" {
		op.path = "/v1/card"
	}
	return putREST(op, task)
}

// attackEvery attacks a server of its own over each binding, whose tasks are unharmed then.
func attackEvery(t *testing.T, attack func(t *testing.T, w *attacked, b attackBinding)) {
	t.Helper()
	for _, b := range attackBindings() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := startAttacked(t)
			attack(t, w, b)
			w.unharmed(t, b)
		})
	}
}

// attackBindings are all ways to the operations. A new one is a row.
func attackBindings() []attackBinding {
	return []attackBinding{
		{"JSON-RPC 1.0", putRPC, false},
		{"HTTP+JSON 1.0", putREST, false},
		{"JSON-RPC 0.3", putOldRPC, true},
		{"HTTP+JSON 0.3", putOldREST, true},
		{"gRPC 1.0", putGRPC, false},
		{"gRPC 0.3", putOldGRPC, true},
	}
}
