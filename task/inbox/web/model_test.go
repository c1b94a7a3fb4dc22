package web_test

import (
	"bytes"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/auth"
	"a2a-server/internal/modeltest"
	"a2a-server/internal/testserver"
	"a2a-server/task/planner/llm"
)

// The page of a task has each answer of the model. What the model was asked, an admin sees who may
// read the task, and nobody else.
func TestModelSteps(t *testing.T) {
	t.Parallel()
	model := &modeltest.Endpoint{Dialect: modeltest.VLLM, Model: "qwen\u202e3", Answer: modeltest.Bank}
	endpoint := httptest.NewServer(model)
	t.Cleanup(endpoint.Close)
	planner, err := llm.New(llm.Config{URL: endpoint.URL + "/v1", Model: model.Model, Instructions: "You are a \u202ebank, and the secret word is swordfish."})
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, func(c *testserver.Config) { c.Planner = planner })
	as := w.As(carol)
	asked := as.Send("transfer 250 to alice")
	as.Approve(as.Wait(asked.ID, a2a.TaskStateInputRequired))
	as.Wait(asked.ID, a2a.TaskStateCompleted)

	at := "/ui/tasks/" + string(asked.ID)
	olga := person("olga", auth.RoleAdmin, auth.RoleOperator)
	for who, sees := range map[*auth.Principal]bool{&carol: false, &alice: false, &olga: true} {
		p := w.get(*who, at)
		w.safe(at, p)
		if answer, call, last := strings.Index(p.body, "Step 1"), strings.Index(p.body, `data-key="cc1.1"`), strings.Index(p.body, "Step 2"); answer > call || call > last {
			t.Errorf("the call stands at %d, the answers at %d and %d", call, answer, last)
		}
		w.has(p, http.StatusOK, []string{"Step 1: the model answered", "Step 2: the model answered", "100 (64 cached) tokens in, 10 out", "finish <code>tool_calls</code>", "finish <code>stop</code>", `qwen\u202e3`}, "swordfish")
		if took := regexp.MustCompile(`10 out · [0-9.]+m?s ·`).FindAllString(p.body, -1); len(took) != 2 {
			t.Errorf("times %q, want one for each answer", took)
		}
		if got := strings.Count(p.body, at+"/prompts/"); got > 0 != sees {
			t.Errorf("%s has %d links to prompts", who.Subject, got)
		}
	}
	requests := model.Requests()
	for path, want := range map[string][]string{
		at + "/prompts/1": {"swordfish", "transfer 250 to alice", "It has as many bytes as the request that was sent", "transfer_money"},
		at + "/prompts/2": {"swordfish", "transfer 250 to alice", "I will do that. ", "transferred", "tool"},
	} {
		p := w.get(olga, path)
		w.has(p, http.StatusOK, want)
		w.safe(path, p)
		for _, no := range []auth.Principal{carol, alice, bob, person("rob", auth.RoleOperator)} {
			w.has(w.get(no, path), http.StatusForbidden, nil, "swordfish")
		}
		w.has(w.get(person("adam", auth.RoleAdmin), path), http.StatusForbidden, nil, "swordfish") // who may not read tasks
		w.has(w.get(auth.Principal{Tenant: "other", Subject: "eve", Roles: []string{auth.RoleAdmin, auth.RoleOperator}}, path), http.StatusNotFound, nil, "swordfish")
	}
	for _, no := range []string{"0", "3", "-1", "x"} {
		w.has(w.get(olga, at+"/prompts/"+no), http.StatusBadRequest, []string{"step"})
	}
	if len(model.Requests()) != len(requests) {
		t.Error("a look at a prompt has asked the model")
	}
}

// A prompt is the request that was sent, also of a step after which more was said and done.
func TestPromptIsWhatWasSent(t *testing.T) {
	t.Parallel()
	model := &modeltest.Endpoint{Dialect: modeltest.OpenAI, Answer: modeltest.Bank}
	endpoint := httptest.NewServer(model)
	t.Cleanup(endpoint.Close)
	planner, err := llm.New(llm.Config{URL: endpoint.URL + "/v1", Model: "m", Steps: 1})
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, func(c *testserver.Config) { c.Planner = planner })
	as := w.As(carol)
	asked := as.Send("transfer 250 to alice")
	as.Approve(as.Wait(asked.ID, a2a.TaskStateInputRequired))
	as.Wait(asked.ID, a2a.TaskStateInputRequired) // whether the model may go on
	yes := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("yes"))
	yes.TaskID = asked.ID
	as.SendMessage(yes)
	as.Wait(asked.ID, a2a.TaskStateCompleted)

	olga, at := person("olga", auth.RoleAdmin, auth.RoleOperator), "/ui/tasks/"+string(asked.ID)+"/prompts/"
	requests := model.Requests()
	if len(requests) != 2 {
		t.Fatalf("the model was asked %d times, want 2", len(requests))
	}
	for i, step := range []string{"1", "3"} {
		p := w.get(olga, at+step)
		_, raw, _ := strings.Cut(p.body, `<pre tabindex="0">`)
		raw, _, _ = strings.Cut(raw, "</pre>")
		raw = regexp.MustCompile(`<span class="u"[^>]*>U&#43;202E</span>`).ReplaceAllString(raw, "\u202e") // of a tool's description
		var got bytes.Buffer
		if err := json.Compact(&got, []byte(html.UnescapeString(raw))); err != nil {
			t.Fatalf("prompt of step %s: %v:\n%s", step, err, p.body)
		}
		if diff := cmp.Diff(string(requests[i].Body), got.String()); diff != "" {
			t.Errorf("prompt of step %s (-sent +shown):\n%s", step, diff)
		}
	}
	w.has(w.get(olga, at+"2"), http.StatusBadRequest, []string{"no answer of the model"}) // the server's own question
}
