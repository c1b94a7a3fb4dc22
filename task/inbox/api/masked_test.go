package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// hidden is what gates of the tests mask, and tools repeat. Messages, which are not masked, have it escaped.
const hidden, escaped = "DE4711", `\u0044E4711`

// words begins what tools say.
const words = "account DE4711"

// pays returns the text of a call.
func pays(amount any, iban, how string) string {
	return fmt.Sprintf(`/pay {"amount":%v,"iban":"`+iban+`","how":%q}`, amount, how)
}

// repeats returns a tool that says its iban in what it asks and in its errors.
func repeats(t *testing.T) tool.CallableTool {
	t.Helper()
	type args struct {
		Amount float64 `json:"amount"`
		IBAN   string  `json:"iban,omitempty"`
		How    string  `json:"how,omitempty"`
	}
	one, err := functiontool.New(functiontool.Config{Name: "pay", Description: "pays"}, func(ctx tool.Context, a args) (map[string]any, error) {
		if _, again := tool.Resumed(ctx); again {
			return map[string]any{"paid": a.Amount}, nil
		}
		account := "account " + a.IBAN
		q := tool.Question{ID: "q", Hint: "is " + account + " right?", OfCall: true, Payload: map[string]any{"account": account}}
		q.Schema = map[string]any{"type": "object", "properties": map[string]any{"account": map[string]any{"enum": []any{account, "another"}}}}
		switch a.How {
		case "form":
			q.Kind = tool.AskForm
		case "confirm":
			q.Kind = tool.AskConfirm
		case "question":
			q.Kind, q.Schema = tool.AskQuestion, nil
		case "fail":
			return nil, errors.New("there is no " + account)
		case "lose":
			return nil, fmt.Errorf("%w: at %s", tool.ErrOutcomeUnknown, account)
		default:
			return map[string]any{"paid": a.Amount}, nil
		}
		return nil, &tool.Suspension{Asks: []tool.Question{q}}
	})
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// What gates of a tool mask is shown to nobody without the right to it, whatever has become of the call:
// in the approvals, calls and audit of its task, and in A2A.
func TestMasksOfEveryCall(t *testing.T) {
	t.Parallel()
	mask := approval.Terms{Mask: []string{"/iban"}, Approvers: &approval.Approvers{Roles: []string{"cfo"}}, Elsewhere: true}
	kept := approval.Terms{MaskTask: true, Approvers: mask.Approvers, Elsewhere: true}
	both := mask
	both.MaskTask = true
	granted := mask
	granted.Grants = &approval.GrantTerms{Scopes: approval.GrantScopes(), Uses: 5, Vary: []string{"/iban"}}
	small := approval.Gate{Tool: "pay", Name: "small", Terms: approval.Terms{Approvers: mask.Approvers}}
	large := approval.Gate{Tool: "pay", Name: "large", When: above(1000), Terms: mask}
	decided := func(w *world, a client.Approval, d client.Decision) {
		whole := into[client.ApprovalDetail](w.get(cfo, "/approvals/"+a.ID).want(200)).Approval
		d.Digest = whole.Digest
		if got := w.post(cfo, decisionOf(a), d); got.status != 200 && got.status != 202 {
			w.t.Fatalf("%s: %d %s", d.Decision, got.status, got.raw)
		}
	}
	second := func(w *world, task string) (a client.Approval) {
		w.poll("the second approval", func() bool {
			all := into[client.ApprovalPage](w.get(cfo, "/approvals?task="+task).want(200)).Items
			if len(all) > 1 {
				a = all[1]
			}
			return len(all) > 1
		})
		return a
	}
	asks := func(how string, answer client.Decision) func(w *world) string {
		return func(w *world) string {
			a := w.ask(alice, pays(5, escaped, how))[0]
			decided(w, a, client.Decision{Decision: client.Approve})
			if answer.Decision != "" {
				decided(w, second(w, a.Task), answer)
			}
			return a.Task
		}
	}
	edit := func(from, to float64, iban string) func(w *world) string {
		return func(w *world) string {
			a := w.ask(alice, pays(from, iban, ""))[0]
			decided(w, a, client.Decision{Decision: client.Edit, Arguments: json.RawMessage(fmt.Sprintf(`{"amount":%v,"iban":%q}`, to, hidden))})
			return a.Task
		}
	}
	send := func(text string) func(w *world) string {
		return func(w *world) string { return string(w.As(alice).Send(text).ID) }
	}
	grant := func(how string) func(w *world) string {
		return func(w *world) string {
			a := w.ask(alice, pays(5, "DE1", how))[0]
			decided(w, a, client.Decision{Decision: client.Approve, Grant: &client.GrantRequest{Scope: "time", Seconds: 3600}})
			return string(w.As(alice).Send(pays(5, escaped, how)).ID)
		}
	}
	for name, tc := range map[string]struct {
		gates []approval.Gate
		plays func(w *world) (task string)
	}{
		"started by a grant":           {[]approval.Gate{{Tool: "pay", Terms: granted}}, grant("")},
		"started by a grant, and asks": {[]approval.Gate{{Tool: "pay", Terms: granted}}, grant("question")},
		"denied":                       {[]approval.Gate{{Tool: "pay", Name: "never", Action: approval.ActionDeny, When: above(9), Terms: approval.Terms{Mask: mask.Mask}}}, send(pays(10, escaped, ""))},
		"allowed":                      {[]approval.Gate{large}, send(pays(10, escaped, ""))},
		"invalid":                      {[]approval.Gate{{Tool: "pay", Terms: mask}}, send(pays(`"ten"`, escaped, ""))},
		"asked by another gate":        {[]approval.Gate{small, large}, func(w *world) string { return w.ask(alice, pays(5, escaped, ""))[0].Task }},
		"edited into a gate":           {[]approval.Gate{small, large}, edit(5, 5000, "old")},
		"edited out of a gate":         {[]approval.Gate{small, large}, edit(5000, 5, escaped)},
		"form":                         {[]approval.Gate{{Tool: "pay", Terms: mask}}, asks("form", client.Decision{})},
		"form with an answer":          {[]approval.Gate{{Tool: "pay", Terms: mask}}, asks("form", client.Decision{Decision: client.Respond, Response: json.RawMessage(`{"account":"` + words + `"}`)})},
		"confirmation with an edit":    {[]approval.Gate{{Tool: "pay", Terms: mask}}, asks("confirm", client.Decision{Decision: client.Edit, Arguments: json.RawMessage(`{"account":"` + words + `"}`)})},
		"supplied result":              {[]approval.Gate{{Tool: "pay", Terms: both}}, asks("lose", client.Decision{Decision: client.Respond, Response: json.RawMessage(`"` + hidden + `"`)})},
		"failed":                       {[]approval.Gate{{Tool: "pay", Terms: both}}, asks("fail", client.Decision{})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := maskedWorld(t, tc.gates)
			task := tc.plays(w)
			w.settles(task)
			for _, who := range []auth.Principal{vera, pete, olga} {
				w.hides(who, task, hidden, `"iban":"`+escaped)
			}
		})
	}
	// A task that is kept is kept in the API, too, where a tool says something. Its arguments are not.
	for how, gate := range map[string]approval.Gate{
		"question": {}, "form": {}, "confirm": {}, "lose": {}, "fail": {}, "ask when it was not asked": {When: above(1000)},
	} {
		t.Run("kept: "+how, func(t *testing.T) {
			t.Parallel()
			gate.Tool, gate.Terms = "pay", kept
			w := maskedWorld(t, []approval.Gate{gate})
			plays := asks(how, client.Decision{})
			if gate.When != nil {
				plays = send(pays(5, escaped, "form"))
			}
			task := plays(w)
			w.settles(task)
			w.hides(vera, task, words)
			w.hides(pete, task, words)
		})
	}
}

// Who may decide one approval of a call, and not another, does not see in the first what the second masks.
func TestRunOfSeveralApprovals(t *testing.T) {
	t.Parallel()
	p := approval.Terms{Mask: []string{"/iban"}, Approvers: &approval.Approvers{Roles: []string{"cfo"}}}
	w := maskedWorld(t, []approval.Gate{{Tool: "pay", Name: "any"}, {Tool: "pay", Name: "large", When: above(1000), Terms: p}})
	first := w.ask(alice, "/pay amount=5 iban=old")[0]
	w.post(olga, decisionOf(first), client.Decision{Decision: client.Edit, Digest: first.Digest, Arguments: json.RawMessage(`{"amount":5000,"iban":"older"}`)}).want(202)
	second := into[client.ApprovalPage](w.get(cfo, "/approvals?task="+first.Task).want(200)).Items[1]
	second = into[client.ApprovalDetail](w.get(cfo, "/approvals/"+second.ID).want(200)).Approval
	w.post(cfo, decisionOf(second), client.Decision{Decision: client.Edit, Digest: second.Digest, Arguments: json.RawMessage(`{"amount":6000,"iban":"` + hidden + `"}`)}).want(200)
	w.settles(first.Task)
	if run := into[client.ApprovalDetail](w.get(olga, "/approvals/"+first.ID).want(200)).Run; run == nil || strings.Contains(string(run.Arguments), hidden) {
		t.Errorf("who may decide the first approval alone sees the run %+v", run)
	}
	if run := into[client.ApprovalDetail](w.get(cfo, "/approvals/"+first.ID).want(200)).Run; run == nil || !strings.Contains(string(run.Arguments), hidden) {
		t.Errorf("who may decide both sees the run %+v", run)
	}
}

// otherCall asks about two calls in a task that the gate of ship keeps, and returns both approvals.
func otherCall(t *testing.T, first string, pay map[string]any) (w *world, pays, ships client.Approval) {
	t.Helper()
	kept := approval.Terms{MaskTask: true, Approvers: &approval.Approvers{Roles: []string{"cfo"}}, Elsewhere: true}
	w = maskedWorld(t, []approval.Gate{{Tool: "ship", Terms: kept}, {Tool: "pay"}})
	if first == "pay" {
		all := w.askCalls(alice, pay, call("ship", 5))
		return w, all[0], all[1]
	}
	all := w.askCalls(alice, call("ship", 5), pay)
	return w, all[1], all[0]
}

// A message that is no answer belongs to the conversation of a kept task, whatever call it is asked about.
func TestMessageThatIsNoAnswerInAKeptTask(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"pay", "ship"} {
		t.Run(first+" is asked about first", func(t *testing.T) {
			t.Parallel()
			w, pays, ships := otherCall(t, first, map[string]any{"tool": "pay", "args": map[string]any{"amount": 5}})
			whole := into[client.ApprovalDetail](w.get(cfo, "/approvals/"+ships.ID).want(200)).Approval
			w.post(cfo, decisionOf(ships), client.Decision{Decision: client.Reject, Digest: whole.Digest}).want(200)
			id := a2a.TaskID(pays.Task)
			w.As(alice).SendMessage(a2a.NewMessageForTask(a2a.MessageRoleUser, a2a.TaskInfo{TaskID: id}, a2a.NewTextPart("my "+words)))
			w.hides(vera, pays.Task, words)
			w.hides(pete, pays.Task, words)
			if raw, _ := json.Marshal(w.As(vera).Get(id)); !strings.Contains(string(raw), "pay") || strings.Contains(string(raw), words) {
				t.Errorf("a viewer reads over A2A %s", raw)
			}
			if raw, _ := json.Marshal(w.As(alice).Get(id).Status); !strings.Contains(string(raw), words) {
				t.Errorf("the requester reads over A2A %s", raw)
			}
		})
	}
}

// What a tool says of an unknown outcome, when another call keeps the task, is read by who may decide about it.
func TestOutcomeInAKeptTask(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"pay", "ship"} {
		t.Run(first+" is asked about first", func(t *testing.T) {
			t.Parallel()
			w, pays, _ := otherCall(t, first, map[string]any{"tool": "pay", "args": map[string]any{"amount": 5, "iban": hidden, "how": "lose"}})
			w.post(olga, decisionOf(pays), client.Decision{Decision: client.Approve, Digest: pays.Digest}).want(200)
			var outcome client.Approval
			w.poll("the outcome is asked about", func() bool {
				all := into[client.ApprovalPage](w.get(olga, "/approvals?task="+pays.Task).want(200)).Items
				outcome = all[len(all)-1]
				return outcome.Kind == client.KindOutcome
			})
			for _, who := range []auth.Principal{olga, alice} {
				if a := into[client.ApprovalDetail](w.get(who, "/approvals/"+outcome.ID).want(200)).Approval; !strings.Contains(a.Hint, words) {
					t.Errorf("%s reads %q", who.Subject, a.Hint)
				}
			}
			w.hides(vera, pays.Task, words)
			w.hides(pete, pays.Task, words)
			if raw, _ := json.Marshal(w.As(vera).Get(a2a.TaskID(pays.Task))); strings.Contains(string(raw), words) {
				t.Errorf("a viewer reads over A2A %s", raw)
			}
		})
	}
}

func maskedWorld(t *testing.T, gates []approval.Gate) *world {
	t.Helper()
	p, err := approval.NewPolicy(approval.PolicyConfig{Gates: gates})
	if err != nil {
		t.Fatal(err)
	}
	return newWorld(t, func(c *testserver.Config) {
		c.Policy, c.Tools = p, []tool.Toolset{tool.NewToolset("shop", repeats(t), newTool(t, "ship"))}
	})
}

// settles waits until a task has ended or asks.
func (w *world) settles(task string) {
	w.t.Helper()
	w.poll("the task rests", func() bool {
		d := into[client.TaskDetail](w.get(vera, "/tasks/"+task).want(200))
		return d.Task.State != "working" && d.Task.State != "submitted"
	})
}

// hides looks for texts in all that a reader gets of a task.
func (w *world) hides(who auth.Principal, task string, texts ...string) {
	w.t.Helper()
	paths := []string{"/approvals", "/approvals?state=settled", "/approvals?task=" + task, "/tasks/" + task, "/grants"}
	if who.Subject == vera.Subject {
		paths = append(paths, "/audit?limit=1000")
	}
	for _, a := range into[client.ApprovalPage](w.get(who, "/approvals?task="+task).want(200)).Items {
		paths = append(paths, "/approvals/"+a.ID)
	}
	for _, path := range paths {
		got := string(w.get(who, path).raw)
		for _, form := range texts {
			at := strings.Index(got, form)
			if at < 0 {
				continue
			}
			w.t.Errorf("%s sees at %s: …%s", who.Subject, path, got[max(0, at-200):at+len(hidden)])
		}
	}
}

// What a reload no longer masks stays masked in the questions of planned calls; what it masks is masked in the
// next question, also that of a running tool.
func TestMasksOnlyGrow(t *testing.T) {
	t.Parallel()
	const plain, masked = "  - {tool: pay, name: any, approvers: {roles: [cfo]}}\n", "  - {tool: pay, name: any, mask: [/iban], approvers: {roles: [cfo]}}\n"
	for name, tc := range map[string]struct{ before, after string }{"taken away": {masked, plain}, "added": {plain, masked}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, reload := gatesFile(t, tc.before, repeats(t))
			one := w.ask(alice, pays(5, escaped, "question"))[0]
			reload(tc.after)
			edit := client.Decision{Decision: client.Edit, Digest: one.Digest, Arguments: json.RawMessage(`{"amount":6,"iban":"` + hidden + `","how":"question"}`)}
			for decided := w.post(cfo, decisionOf(one), edit); decided.status == 202; { // the gate is another
				w.settles(one.Task)
				next := into[client.ApprovalPage](w.get(cfo, "/approvals?task="+one.Task).want(200)).Items[1]
				whole := into[client.ApprovalDetail](w.get(cfo, "/approvals/"+next.ID).want(200)).Approval
				decided = w.post(cfo, decisionOf(next), approve(whole))
			}
			var all []client.Approval
			w.poll("the tool's question", func() bool {
				all = into[client.ApprovalPage](w.get(vera, "/approvals?task="+one.Task).want(200)).Items
				return all[len(all)-1].Question != ""
			})
			for _, a := range all[1:] { // the first was asked before
				if raw, _ := json.Marshal(a); strings.Contains(string(raw), hidden) {
					t.Errorf("a viewer sees %s", raw)
				}
			}
		})
	}
}
