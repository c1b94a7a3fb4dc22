package a2a_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/a2a/internal/operation"
	"a2a-server/auth"
	"a2a-server/task/engine"
)

// In every operation of every route, the prefix with the caller's tenant changes nothing, and
// any other one makes the path one that is not there: for nobody's tenant as for somebody's,
// without a look at the body or the store.
func TestTenantPrefix(t *testing.T) {
	t.Parallel()
	w := newRightsWorld(t)
	const me = "acme|me|" + auth.RoleRequester
	unknown := w.ask(t, me, http.MethodGet, "/there/is/nothing", "")
	if unknown.Status != http.StatusNotFound || unknown.Calls != 0 {
		t.Fatalf("a path that is not there: %+v", unknown)
	}
	for _, op := range operation.Table() {
		for _, route := range op.Routes {
			path := strings.NewReplacer("{id}", w.tasks["missing"], "{task_id}", w.tasks["missing"]).Replace(route.Path)
			body := ""
			if route.From == operation.InBody {
				body = `{"taskId":"` + w.tasks["missing"] + `","message":{"messageId":"m","role":"ROLE_USER","taskId":"` + w.tasks["missing"] + `","parts":[{"text":"hi"}]}}`
			}
			t.Run(route.Method+" "+route.Path, func(t *testing.T) {
				plain := w.ask(t, me, route.Method, path, body)
				if plain.Status == http.StatusMethodNotAllowed || strings.Contains(plain.Body, `"reason":"NOT_FOUND"`) {
					t.Fatalf("without a prefix: %+v", plain)
				}
				if diff := cmp.Diff(plain, w.ask(t, me, route.Method, "/acme"+path, body)); diff != "" {
					t.Errorf("with the prefix:\n%s", diff)
				}
				for _, other := range []string{"umbrella", "nobody", "ACME", "acme%20", "acm%65x", "%00"} {
					for _, sent := range []string{body, "this is not JSON"} {
						got := w.ask(t, me, route.Method, "/"+other+path, sent)
						if got.Status != unknown.Status || got.Body != unknown.Body || got.Calls != 0 {
							t.Errorf("with the prefix /%s: %+v", other, got)
						}
					}
				}
				if got := w.ask(t, "", route.Method, "/umbrella"+path, body); got.Status != http.StatusUnauthorized || got.Calls != 0 {
					t.Errorf("without a credential: %+v", got)
				}
				first, second := w.ask(t, "acme|me|ops", route.Method, "/umbrella"+path, body), w.ask(t, "acme|me|ops", route.Method, "/acme"+path, body)
				if diff := cmp.Diff(first, second); first.Status != http.StatusForbidden || diff != "" {
					t.Errorf("without a role: %+v\n%s", first, diff)
				}
			})
		}
	}
}

// A tenant in a request, wherever that has it, is the caller's or nobody's.
func TestTenantOfARequest(t *testing.T) {
	t.Parallel()
	w := startCounted(t, func(_ *engine.Config, c *a2a.Config) { c.Push = &a2a.Push{} })
	const me = "acme|me|" + auth.RoleRequester
	id := w.tasks["missing"]
	for _, op := range operation.Table() {
		message := ""
		if op.Action == auth.Create {
			message = `,"message":{"messageId":"m","role":"ROLE_USER","taskId":"` + id + `","parts":[{"text":"hi"}]}`
		}
		ask := func(tenant string) answered {
			return w.ask(t, me, http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":"`+op.Name+`","params":{"id":"`+id+`","taskId":"`+id+`","url":"https://hook.example"`+tenant+message+`}}`)
		}
		plain := ask("")
		for _, same := range []string{`,"tenant":"acme"`, `,"tenant":""`, `,"tenant":null`, `,"ten\u0061nt":"acme"`} {
			if diff := cmp.Diff(plain, ask(same)); diff != "" {
				t.Errorf("%s with %s:\n%s", op.Name, same, diff)
			}
		}
		for _, other := range []string{`,"tenant":"umbrella"`, `,"tenant":"nobody"`, `,"tenant":"Acme"`, `,"ten\u0061nt":"umbrella"`, `,"tenant":"*"`} {
			got := ask(other)
			if got.Status != http.StatusOK || got.Calls != 0 || !strings.Contains(got.Body, `"code":-32600,"message":"there is nothing at this path"`) || !strings.Contains(got.Body, `"reason":"NOT_FOUND"`) {
				t.Errorf("%s with %s: %+v", op.Name, other, got)
			}
		}
		if got := ask(`,"tenant":["acme"]`); got.Calls != 0 || !strings.Contains(got.Body, "-32602") {
			t.Errorf("%s with a list: %+v", op.Name, got)
		}
		for _, route := range op.Routes {
			path := strings.NewReplacer("{id}", id, "{task_id}", id).Replace(route.Path)
			ask := func(prefix, tenant string) answered {
				if route.From == operation.InQuery || route.From == operation.InOptionalBody && route.Method == http.MethodGet {
					return w.ask(t, me, route.Method, prefix+path+"?tenant="+tenant, "")
				}
				return w.ask(t, me, route.Method, prefix+path, `{"url":"https://hook.example","tenant":"`+tenant+`"`+message+`}`)
			}
			name := route.Method + " " + route.Path
			plain := ask("", "")
			for _, prefix := range []string{"", "/acme"} {
				if diff := cmp.Diff(plain, ask(prefix, "acme")); diff != "" {
					t.Errorf("%s, prefix %q:\n%s", name, prefix, diff)
				}
			}
			if got := ask("", "umbrella"); got.Status != http.StatusNotFound || got.Calls != 0 || !strings.Contains(got.Body, `"reason":"NOT_FOUND"`) {
				t.Errorf("%s with another tenant: %+v", name, got)
			}
			for _, other := range []string{"umbrella", "nobody"} {
				got := ask("/acme", other)
				if got.Status != http.StatusBadRequest || got.Calls != 0 || !strings.Contains(got.Body, `{"field":"tenant","description":"is not the tenant of the path"}`) {
					t.Errorf("%s with a tenant other than its path's: %+v", name, got)
				}
			}
		}
	}
}

// The webhook of a message has a tenant, too.
func TestTenantOfAWebhook(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop(), func(e *engine.Config, c *a2a.Config) {
		c.Authenticator = auth.Func(callerOf)
		offerPush(t, e, c)
	})
	for tenant, want := range map[string]int{"": http.StatusOK, "acme": http.StatusOK, "umbrella": http.StatusNotFound} {
		body := `{"message":{"messageId":"m` + tenant + `","role":"ROLE_USER","parts":[{"data":{"tool":"echo","args":{"text":"x"}}}]},
			"configuration":{"taskPushNotificationConfig":{"url":"https://hook.example","tenant":"` + tenant + `"}}}`
		if rec := s.ask(t, http.MethodPost, "/message:send", body, "X-Who", "acme|me|"+auth.RoleRequester); rec.Code != want {
			t.Errorf("with a webhook in tenant %q: %d %s, want %d", tenant, rec.Code, rec.Body, want)
		}
	}
}

// Tenants whose names look like something of ours: what their paths mean is decided here.
func TestTenantNames(t *testing.T) {
	t.Parallel()
	w := newRightsWorld(t)
	for tenant, path := range map[string]string{
		"é":         "/%C3%A9/tasks",
		"東京 1":      "/%E6%9D%B1%E4%BA%AC%201/tasks",
		"a:b":       "/a:b/tasks",
		"a;b?c#d&e": "/a;b%3Fc%23d&e/tasks",
		"%2F":       "/%252F/tasks",
		"v1.0":      "/v1.0/tasks",
		"...":       "/.../tasks",
		"task":      "/task/tasks",
		"message":   "/message/tasks",
		"*":         "/*/tasks",
		"{tenant}":  "/%7Btenant%7D/tasks",
		":tenant":   "/:tenant/tasks",
	} {
		if got := w.ask(t, tenant+"|me|"+auth.RoleRequester, http.MethodGet, path, ""); got.Status != http.StatusOK || !strings.Contains(got.Body, `"tasks":[]`) {
			t.Errorf("tenant %q at %s: %+v", tenant, path, got)
		}
		if got := w.ask(t, "acme|me|"+auth.RoleRequester, http.MethodGet, path, ""); got.Status != http.StatusNotFound || got.Calls != 0 {
			t.Errorf("acme at %s: %+v", path, got)
		}
	}
	// These have no path, whatever the caller's tenant is. Their field works.
	for tenant, path := range map[string]string{
		"tasks": "/tasks/tasks/", "message:send": "/message:send/tasks", "message:stream": "/message:stream/tasks/x", "extendedAgentCard": "/extendedAgentCard/tasks",
		".well-known": "/.well-known/tasks", "v1": "/v1/v1/tasks" /* /v1 itself is of A2A 0.3 */, "openapi.json": "/openapi.json/tasks", "livez": "/livez/tasks", "readyz": "/readyz/tasks",
		".": "/./tasks", "..": "/../tasks", "a/b": "/a%2Fb/tasks", "/": "/%2F/tasks", "é": "/e%CC%81/tasks" /* the same to the eye */, "": "//tasks",
	} {
		who := tenant + "|me|" + auth.RoleRequester
		if got := w.ask(t, who, http.MethodGet, path, ""); got.Status != http.StatusNotFound || got.Calls != 0 {
			t.Errorf("tenant %q at %s: %+v", tenant, path, got)
		}
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"tenant":%q}}`, tenant)
		if got := w.ask(t, who, http.MethodPost, "/", body); !strings.Contains(got.Body, `"tasks":[]`) {
			t.Errorf("tenant %q in the field: %+v", tenant, got)
		}
	}
	// A path without a prefix keeps its meaning in a tenant that is named as its first word.
	if got := w.ask(t, "tasks|me|"+auth.RoleRequester, http.MethodGet, "/tasks/tasks", ""); got.Status != http.StatusNotFound || !strings.Contains(got.Body, "TASK_NOT_FOUND") {
		t.Errorf("GET /tasks/tasks in tenant tasks: %+v", got)
	}
	// A slash that is escaped is none, in every version.
	for _, path := range []string{"/acme%2Ftasks", "/acme%2ftasks", "/acme/tasks%2F", "/%2Facme/tasks", "/v1%2Ftasks"} {
		if got := w.ask(t, "acme|me|"+auth.RoleRequester, http.MethodGet, path, ""); got.Status != http.StatusNotFound || got.Calls != 0 {
			t.Errorf("GET %s: %+v", path, got)
		}
	}
}

// Whoever has no tenant can name none: without authentication, that is everybody.
func TestTenantOfNobody(t *testing.T) {
	t.Parallel()
	server := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) { c.Authenticator = nil })
	ask := func(method, path, body string) (int, string) {
		rec := server.ask(t, method, path, body)
		return rec.Code, rec.Body.String()
	}
	if code, body := ask(http.MethodGet, "/tasks?tenant=", ""); code != http.StatusOK {
		t.Errorf("with an empty tenant: %d %s", code, body)
	}
	for _, path := range []string{"/acme/tasks", "/anonymous/tasks", "/tasks?tenant=acme", "/none/tasks"} {
		if code, body := ask(http.MethodGet, path, ""); code != http.StatusNotFound {
			t.Errorf("GET %s: %d %s", path, code, body)
		}
	}
	if _, body := ask(http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"tenant":"acme"}}`); !strings.Contains(body, `"reason":"NOT_FOUND"`) {
		t.Errorf("ListTasks: %s", body)
	}
}
