package web_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/auth"
	"a2a-server/internal/modeltest"
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
	w := start(t, func(c *a2aserver.Config) { c.Planner = planner })
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
