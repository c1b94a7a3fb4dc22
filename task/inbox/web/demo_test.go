package web_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	a2aserver "a2a-server"
	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/demo"
	"a2a-server/internal/inside"
	"a2a-server/internal/testlog"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/builtin"
)

// demoConfig returns the Config of a server with the tools and the gate of the demo.
func demoConfig(t *testing.T) testserver.Config {
	t.Helper()
	tools, err := builtin.New(builtin.Config{Ledger: t.TempDir() + "/ledger.jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	gate, err := demo.Gate()
	if err != nil {
		t.Fatal(err)
	}
	policy, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{gate}})
	if err != nil {
		t.Fatal(err)
	}
	return testserver.Config{
		Set: map[string]string{"listen": "127.0.0.1:0", "data": t.TempDir(), "store": "memory"}, DefaultTools: []tool.Toolset{tools}, Policy: policy,
		Log: zerolog.New(testlog.New(t)),
	}
}

// served runs a server on its port and returns its URL.
func served(t *testing.T, c testserver.Config) string {
	t.Helper()
	listening := make(chan string, 1)
	c.Inside.Listening = func(url string) { listening <- url }
	server, err := testserver.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Run(context.WithoutCancel(t.Context())) }()
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), <-ended); err != nil {
			t.Error(err)
		}
	})
	return <-listening
}

// asked is the answer to a request of a browser or a program. cookie: the cookies that it has; "": none.
func asked(t *testing.T, method, address, cookie, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

const form, inJSON = "application/x-www-form-urlencoded", "application/json"

// large asks for a call under four_eyes as an A2A client does, and returns its approval with the digest.
func large(t *testing.T, server, cookie string) (id, digest string) {
	t.Helper()
	status, _, text := asked(t, http.MethodPost, server+"/message:send", cookie, `{"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "/transfer_money amount=5000 to=alice"}]}, "configuration": {"returnImmediately": true}}`, "Content-Type", inJSON)
	if status != http.StatusOK {
		t.Fatalf("the message is answered with %d: %s", status, text)
	}
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); {
		_, _, text = asked(t, http.MethodGet, server+"/api/v1/approvals", cookie, "")
		if m := regexp.MustCompile(`"id":"([^"]*\.a1)".*"digest":"([^"]*)"`).FindStringSubmatch(text); m != nil {
			return m[1], m[2]
		}
	}
	t.Fatalf("no approval waits: %s", text)
	return "", ""
}

// The persona exists on the pages alone: neither the API nor A2A know its cookie, and no other site makes a
// browser take it.
func TestPersona(t *testing.T) {
	t.Parallel()
	c := demoConfig(t)
	c.Inside.Demo = true
	server := served(t, c)
	be := "as=colleague&back=%2Ftry%3Ftask%3Dt%26text%3Dpay"
	status, header, _ := asked(t, http.MethodPost, server+"/ui/persona", "", be, "Content-Type", form, "Origin", server)
	cookie, attributes, _ := strings.Cut(header.Get("Set-Cookie"), "; ")
	if !regexp.MustCompile(`^a2a-persona-\w{8}=colleague$`).MatchString(cookie) || status != http.StatusSeeOther || attributes != "Path=/ui; HttpOnly; SameSite=Strict" || header.Get("Location") != "/ui/try?task=t" {
		t.Errorf("the switch is answered with %d, cookie %q, %q, and leads to %s", status, cookie, attributes, header.Get("Location"))
	}
	// A browser has that cookie for every port of the host, also after a restart.
	later := demoConfig(t)
	later.Inside.Demo = true
	if _, _, text := asked(t, http.MethodGet, served(t, later)+"/ui/", cookie, ""); !strings.Contains(text, "Act as a colleague") {
		t.Errorf("another demo begins with the persona: %s", text)
	}
	id, digest := large(t, server, cookie)

	status, _, text := asked(t, http.MethodGet, server+"/api/v1/whoami", cookie, "")
	if status != http.StatusOK || !strings.Contains(text, `"anonymous"`) || strings.Contains(text, "colleague") {
		t.Errorf("with the cookie the API knows the caller as %d %s", status, text)
	}
	status, _, text = asked(t, http.MethodPost, server+"/api/v1/approvals/"+id+"/decision", cookie, `{"decision": "approve", "digest": "`+digest+`"}`, "Content-Type", inJSON)
	if status != http.StatusForbidden || !strings.Contains(text, "another person") {
		t.Errorf("with the cookie the API answers a decision with %d %s", status, text)
	}

	decision := url.Values{"decision": {"approve"}, "digest": {digest}, "confirm": {"transfer_money"}}.Encode()
	page := server + "/ui/approvals/" + id
	if status, _, text := asked(t, http.MethodPost, page+"/decision", "", decision, "Content-Type", form, "Origin", server); status != http.StatusForbidden {
		t.Errorf("the requester's decision is answered with %d: %s", status, text)
	}
	if status, header, _ := asked(t, http.MethodPost, server+"/ui/persona", "", be, "Content-Type", form, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); status != http.StatusForbidden || header.Get("Set-Cookie") != "" {
		t.Errorf("another site is answered with %d and %v", status, header)
	}
	if _, header, _ := asked(t, http.MethodPost, server+"/ui/persona", cookie, "as=&back=%2F%2Fevil.example", "Content-Type", form, "Origin", server); !strings.Contains(header.Get("Set-Cookie"), "Max-Age=0") || header.Get("Location") != "/ui" {
		t.Errorf("the switch back has the cookie %q and leads to %s", header.Get("Set-Cookie"), header.Get("Location"))
	}

	if status, _, text := asked(t, http.MethodPost, page+"/decision", cookie, decision, "Content-Type", form, "Origin", server); status != http.StatusSeeOther {
		t.Fatalf("the persona's decision is answered with %d: %s", status, text)
	}
	_, _, text = asked(t, http.MethodGet, server+"/api/v1/approvals/"+id, "", "")
	if !strings.Contains(text, "colleague") || !strings.Contains(text, `"approved"`) {
		t.Errorf("the approval is %s", text)
	}
	_, _, text = asked(t, http.MethodGet, server+"/ui/try?task="+taskOf(id), "", "")
	if !strings.Contains(text, "by <b>colleague</b>") || !strings.Contains(text, `<a href="/ui/approvals/`+id+`">The approval</a>`) {
		t.Errorf("the page to try it does not say who has decided: %s", text)
	}
	// What the persona says to the agent, the requester says.
	if status, header, text := asked(t, http.MethodPost, server+"/ui/try", cookie, "text=%2Fecho+text%3Dx", "Content-Type", form, "Origin", server); status != http.StatusSeeOther {
		t.Errorf("a message is answered with %d: %s", status, text)
	} else if status, _, _ := asked(t, http.MethodGet, server+"/tasks/"+strings.TrimPrefix(header.Get("Location"), "/ui/try?task="), "", ""); status != http.StatusOK {
		t.Errorf("the requester gets %d for the task", status)
	}
}

// Only a demo has a persona, and only a server that nobody else reaches is a demo.
func TestNoPersona(t *testing.T) {
	t.Parallel()
	server := served(t, demoConfig(t))
	id, digest := large(t, server, "")
	decision := url.Values{"decision": {"approve"}, "digest": {digest}, "confirm": {"transfer_money"}}.Encode()
	if status, _, text := asked(t, http.MethodPost, server+"/ui/approvals/"+id+"/decision", "a2a-persona-x=colleague", decision, "Content-Type", form, "Origin", server); status != http.StatusForbidden {
		t.Errorf("with the cookie a decision is answered with %d: %s", status, text)
	}
	if status, header, _ := asked(t, http.MethodPost, server+"/ui/persona", "", "as=colleague", "Content-Type", form, "Origin", server); status != http.StatusNotFound || header.Get("Set-Cookie") != "" {
		t.Errorf("the switch is answered with %d and %v", status, header)
	}

	if p := start(t).get(auth.Persona(), "/ui/"); p.status != http.StatusServiceUnavailable {
		t.Errorf("a credential of the persona is answered with %d", p.status)
	}

	for name, change := range map[string]func(*testserver.Config){
		"authentication":   func(c *testserver.Config) { c.Authenticator = a2aservertest.Callers{} },
		"a public address": func(c *testserver.Config) { c.Set["listen"], c.Set["insecure_no_auth"] = "0.0.0.0:0", "true" },
		"a proxy": func(c *testserver.Config) {
			c.Set["public_url"], c.Set["insecure_no_auth"] = "https://a.example", "true"
		},
		"gRPC in public": func(c *testserver.Config) { c.Set["grpc.listen"], c.Set["insecure_no_auth"] = "0.0.0.0:0", "true" },
		"no port":        func(c *testserver.Config) { c.NoListen = true },
	} {
		c := demoConfig(t)
		c.Inside = inside.Options{Demo: true}
		change(&c)
		if s, err := testserver.New(c); !errors.Is(err, a2aserver.ErrConfig) || !strings.Contains(err.Error(), "a demo has no authentication") {
			t.Errorf("with %s New() = %v, %v", name, s, err)
		}
	}
}

// The page to try it calls the model of a demo a script, and no other model.
func TestModelIsNamed(t *testing.T) {
	t.Parallel()
	for text, isDemo := range map[string]bool{"a scripted model, which stands in for a language model,": true, "a language model chooses the tools": false} {
		c := demoConfig(t)
		c.Inside.Demo = isDemo
		maps.Copy(c.Set, map[string]string{"planner.kind": "llm", "planner.llm.url": "http://127.0.0.1:1/v1", "planner.llm.model": "m"})
		if _, _, page := asked(t, http.MethodGet, served(t, c)+"/ui/try", "", ""); !strings.Contains(page, text) {
			t.Errorf("the page does not say %q: %s", text, page)
		}
	}
}
