package a2a_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2a/agentcard"
	"a2a-server/a2a/operation"
	"a2a-server/auth"
	"a2a-server/approval/dialect"
	"a2a-server/task/engine"
)

const ownExtension = "https://example.com/ext/billing/v2"

// newExtensionWorld is a rightsWorld that has an extension of its program, and requires it.
func newExtensionWorld(t *testing.T) *rightsWorld {
	t.Helper()
	return startCounted(t, func(_ *engine.Config, c *operation.Config) {
		c.Card.Extensions = []agentcard.Extension{{URI: ownExtension, Description: "Says who pays."}}
		c.Card.RequiredExtensions = []string{ownExtension}
		c.SkillsOf = func(context.Context, auth.Principal) ([]agentcard.Skill, error) { return nil, nil }
	})
}

// A required extension that a request does not name: nothing happens, in every operation.
func TestRequiredExtension(t *testing.T) {
	t.Parallel()
	w := newExtensionWorld(t)
	const me = "acme|me|" + auth.RoleRequester
	id := w.tasks["missing"]
	card := w.ask(t, "", http.MethodGet, "/.well-known/agent-card.json", "")
	var parsed sdk.AgentCard
	if err := json.Unmarshal([]byte(card.Body), &parsed); err != nil {
		t.Fatal(err)
	}
	for _, e := range parsed.Capabilities.Extensions {
		if e.Required != (e.URI == ownExtension) {
			t.Errorf("in the card: %+v", e)
		}
	}
	if n := len(parsed.Capabilities.Extensions); n != len(dialect.Extensions())+1 {
		t.Errorf("the card has %d extensions", n)
	}
	with := func(lines ...string) http.Header { return http.Header{"A2a-Extensions": lines} }
	named := map[string]http.Header{
		"alone":         with(ownExtension),
		"in a list":     with(dialect.URI + " ,\t" + ownExtension + ",urn:unknown"),
		"in two lines":  with("urn:unknown", ownExtension),
		"as 0.3 has it": {"X-A2a-Extensions": {ownExtension}},
		"in both":       {"X-A2a-Extensions": {ownExtension}, "A2a-Extensions": {"urn:unknown"}},
	}
	missing := map[string]http.Header{
		"none": nil, "empty": with(""), "another": with(dialect.URI), "only commas": with(",,,"),
		"in another case": with(strings.ToUpper(ownExtension)), "its beginning": with(strings.TrimSuffix(ownExtension, "2")), "longer": with(ownExtension + "0"),
		"in quotes": with(`"` + ownExtension + `"`), "with a parameter": with(ownExtension + ";q=0"), "a space in it": with("https://example.com/ext /billing/v2"),
		"in the version": {"A2a-Version": {ownExtension}},
	}
	refused := func(got answered) bool {
		return got.Calls == 0 && strings.Contains(got.Body, `"reason":"EXTENSION_SUPPORT_REQUIRED"`) && strings.Contains(got.Body, ownExtension) && strings.Contains(got.Body, `"requiredExtensions"`)
	}
	for _, op := range operation.Table() {
		message := ""
		if op.Action == auth.Create {
			message = `,"message":{"messageId":"m","role":"ROLE_USER","taskId":"` + id + `","parts":[{"text":"hi"}]}`
		}
		rpc := func(version string, names http.Header) answered {
			body := `{"jsonrpc":"2.0","id":1,"method":"` + op.Name + `","params":{"id":"` + id + `"` + message + `}}`
			return w.ask(t, me, http.MethodPost, "/", body, http.Header{"A2a-Version": {version}}, names)
		}
		for name, names := range missing {
			for _, version := range []string{"1.0", ""} {
				if name == "in the version" {
					continue // that is another version
				}
				if got := rpc(version, names); !refused(got) || got.Status != http.StatusOK || !strings.Contains(got.Body, `"code":-32008`) {
					t.Errorf("%s, %s: %+v", op.Name, name, got)
				}
			}
			if got := rpc("0.3", names); got.Calls != 0 || !strings.Contains(got.Body, `"error"`) {
				t.Errorf("%s as 0.3, %s: another version is served: %+v", op.Name, name, got)
			}
		}
		for name, names := range named {
			if got := rpc("1.0", names); strings.Contains(got.Body, "EXTENSION") {
				t.Errorf("%s, %s: %+v", op.Name, name, got)
			}
		}
		for _, route := range op.Routes {
			path := strings.NewReplacer("{id}", id, "{task_id}", id).Replace(route.Path)
			for _, prefix := range []string{"", "/acme"} {
				if got := w.ask(t, me, route.Method, prefix+path, "this is not JSON", nil); !refused(got) || got.Status != http.StatusBadRequest {
					t.Errorf("%s %s%s: %+v", route.Method, prefix, route.Path, got)
				}
			}
			if got := w.ask(t, me, route.Method, path, "{"+strings.TrimPrefix(message, ",")+"}", named["in a list"]); strings.Contains(got.Body, "EXTENSION") {
				t.Errorf("%s %s with the extension: %+v", route.Method, route.Path, got)
			}
		}
	}
	if got := w.ask(t, "", http.MethodGet, "/tasks", "", nil); got.Status != http.StatusUnauthorized {
		t.Errorf("without a credential: %+v", got)
	}
	if got := w.ask(t, "acme|me|ops", http.MethodGet, "/tasks", "", nil); got.Status != http.StatusForbidden {
		t.Errorf("without a role: %+v", got)
	}
}

// It is required in A2A 0.3, too, by the name of either version's header.
func TestRequiredExtensionOf03(t *testing.T) {
	t.Parallel()
	w := newExtensionWorld(t)
	const me = "acme|me|" + auth.RoleRequester
	id := w.tasks["missing"]
	refused := func(got answered) bool {
		return got.Calls == 0 && strings.Contains(got.Body, ownExtension) && (strings.Contains(got.Body, "-32008") || strings.Contains(got.Body, "EXTENSION_SUPPORT_REQUIRED"))
	}
	for _, op := range operation.Table() {
		if op.Legacy == nil || op.Legacy.Method == "" {
			continue
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"` + op.Legacy.Method + `","params":{"id":"` + id + `","message":{"kind":"message","messageId":"m","role":"user","taskId":"` + id + `","parts":[{"kind":"text","text":"hi"}]}}}`
		for name, names := range map[string]http.Header{"none": {}, "another": {"X-A2a-Extensions": {dialect.URI}}, "another, as in 1.0": {"A2a-Extensions": {dialect.URI}}} {
			for _, version := range []string{"", "0.3"} {
				if got := w.ask(t, me, http.MethodPost, "/", body, http.Header{"A2a-Version": {version}}, names); !refused(got) {
					t.Errorf("%s, %s: %+v", op.Legacy.Method, name, got)
				}
			}
		}
		for _, header := range []string{"X-A2A-Extensions", "A2A-Extensions"} {
			if got := w.ask(t, me, http.MethodPost, "/", body, http.Header{http.CanonicalHeaderKey(header): {ownExtension}}); refused(got) || got.Header.Get(header) != ownExtension {
				t.Errorf("%s with it in %s: %+v", op.Legacy.Method, header, got)
			}
		}
	}
	for path, method := range map[string]string{
		"/v1/tasks/" + id: "GET", "/v1/tasks": "GET", "/v1/card": "GET", "/v1/tasks/" + id + "/pushNotificationConfigs": "GET",
		"/v1/message:send": "POST", "/v1/message:stream": "POST", "/v1/tasks/" + id + ":cancel": "POST",
	} {
		if got := w.ask(t, me, method, path, "{}"); !refused(got) {
			t.Errorf("%s %s: %+v", method, path, got)
		}
	}
}

// What is active is in the answer, whatever that is.
func TestActiveExtensionsInEveryAnswer(t *testing.T) {
	t.Parallel()
	w := newExtensionWorld(t)
	const me = "acme|me|" + auth.RoleRequester
	asked := http.Header{"A2a-Extensions": {"urn:unknown," + dialect.KagentURI, ownExtension + "," + dialect.KagentURI}}
	const want = dialect.KagentURI + ", " + ownExtension
	const send = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"tool":"echo","args":{"text":"x"}}}]}}`
	rpc := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	}
	for name, got := range map[string]answered{
		"an answer":                w.ask(t, me, "GET", "/tasks", "", asked),
		"a JSON-RPC answer":        w.ask(t, me, "POST", "/", rpc("ListTasks", "{}"), asked),
		"a stream":                 w.ask(t, me, "POST", "/message:stream", send, asked),
		"a JSON-RPC stream":        w.ask(t, me, "POST", "/", rpc("SendStreamingMessage", send), asked),
		"an error":                 w.ask(t, me, "GET", "/tasks/x", "", asked),
		"a JSON-RPC error":         w.ask(t, me, "POST", "/", rpc("GetTask", `{"id":"x"}`), asked),
		"an error of a stream":     w.ask(t, me, "POST", "/", rpc("SubscribeToTask", `{"id":"x"}`), asked),
		"no JSON":                  w.ask(t, me, "POST", "/", "{", asked),
		"an unknown method":        w.ask(t, me, "POST", "/", rpc("Nothing", "{}"), asked),
		"another version":          w.ask(t, me, "POST", "/", rpc("message/nothing", "{}"), asked),
		"a missing role":           w.ask(t, "acme|me|ops", "GET", "/tasks", "", asked),
		"a missing credential":     w.ask(t, "", "GET", "/tasks", "", asked),
		"another tenant":           w.ask(t, me, "GET", "/umbrella/tasks", "", asked),
		"the tenant's own":         w.ask(t, me, "GET", "/acme/tasks", "", asked),
		"the extended agent card":  w.ask(t, me, "GET", "/extendedAgentCard", "", asked),
		"what is not supported":    w.ask(t, me, "GET", "/tasks/x/pushNotificationConfigs", "", asked),
		"a JSON-RPC missing right": w.ask(t, "acme|me|ops", "POST", "/", rpc("ListTasks", "{}"), asked),
	} {
		if active := got.Header["A2a-Extensions"]; len(active) != 1 || active[0] != want {
			t.Errorf("%s: %d, active %q, want %q", name, got.Status, active, want)
		}
	}
	old := http.Header{"X-A2a-Extensions": {ownExtension}}
	if got := w.ask(t, me, "GET", "/tasks", "", old); got.Header.Get("X-A2a-Extensions") != ownExtension || got.Header.Get("A2a-Extensions") != "" {
		t.Errorf("in the header of 0.3: %v", got.Header)
	}
	if got := w.ask(t, me, "GET", "/tasks", "", http.Header{"A2a-Extensions": {"urn:unknown"}}); got.Header["A2a-Extensions"] != nil {
		t.Errorf("nothing is active: %v", got.Header)
	}
}

func TestWrongExtensions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		card agentcard.Card
		says string
	}{
		"required, unknown": {agentcard.Card{RequiredExtensions: []string{"urn:x"}}, `the required extension "urn:x" is not in the card: use one of ` + dialect.URI},
		"no name":           {agentcard.Card{Extensions: []agentcard.Extension{{}}}, "cannot name an extension"},
		"a comma":           {agentcard.Card{Extensions: []agentcard.Extension{{URI: "urn:x,y"}}}, "cannot name an extension"},
		"a line":            {agentcard.Card{Extensions: []agentcard.Extension{{URI: "urn:x\r\nSet-Cookie: a"}}}, "cannot name an extension"},
		"twice":             {agentcard.Card{Extensions: []agentcard.Extension{{URI: dialect.ADKURI}}}, "twice"},
	} {
		if err := tc.card.CheckExtensions(); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
	ok := agentcard.Card{Extensions: []agentcard.Extension{{URI: "urn:x"}}, RequiredExtensions: []string{"urn:x", dialect.URI}}
	if err := ok.CheckExtensions(); err != nil {
		t.Error(err)
	}
}
