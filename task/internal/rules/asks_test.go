package rules_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

func question(id, hint string) tool.Question {
	return tool.Question{ID: id, Kind: tool.AskQuestion, Hint: hint}
}

// waker begins a task whose call has suspended with questions, and is woken each minute.
func waker(t *testing.T, asks ...tool.Question) *desk {
	t.Helper()
	k := newDesk(t, nil, &fake{name: "ask"})
	k.begin(task.PlannedCall{Tool: "ask"})
	k.waits(asks...)
	return k
}

// waits says that the run of call c1.1 has suspended it for a minute, with questions.
func (k *desk) waits(asks ...tool.Question) {
	k.t.Helper()
	k.pauses("c1.1", tool.Suspension{Asks: asks, Wake: k.now.Add(time.Minute)})
}

// wakes lets that minute pass.
func (k *desk) wakes() {
	k.t.Helper()
	k.now = k.now.Add(time.Minute)
	k.mustPut(rules.Wake{Row: k.dueRow(record.DueWake, "c1.1")})
	if k.running["c1.1"] == nil {
		k.t.Fatalf("the call was not woken; the task is %s, %s", k.state(), k.text())
	}
}

func (k *desk) wantPending(want ...string) {
	k.t.Helper()
	if got := k.pending(); !slices.Equal(got, want) || int(k.header.Pending) != len(want) {
		k.t.Fatalf("%v are pending, and the header counts %d, want %v", got, k.header.Pending, want)
	}
}

// given returns the answers that the newest entry of the call has, by question.
func (k *desk) given() map[string]string {
	all := map[string]string{}
	if r := k.entered[len(k.entered)-1].Resumption; r != nil {
		for _, a := range r.Answers {
			all[a.Ask.ID] = a.State
		}
	}
	return all
}

func (k *desk) wantGiven(want string) {
	k.t.Helper()
	if got := fmt.Sprint(k.given()); got != want {
		k.t.Fatalf("the tool is given %s, want %s", got, want)
	}
}

// A call that looks after its work from time to time asks nothing twice, however it names
// its questions, and its client is told nothing twice.
func TestOpenQuestionIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string][]tool.Question{
		"named":      {question("one", "which?")},
		"by content": {question("", "which?")},
		"equal ones": {question("", "which?"), question("", "which?")},
		"a payload":  {{ID: "one", Kind: tool.AskConfirm, Hint: "<really>\u2028?", Payload: map[string]any{"n": 12345678901234, "to": "<b>"}}},
		"a form":     {{Kind: tool.AskForm, Hint: "fill in", Schema: map[string]any{"type": "object", "title": "<x>"}}},
	} {
		k := waker(t, asks...)
		var want []string
		for i := range asks {
			want = append(want, id(i+1))
		}
		k.wantPending(want...)
		public := k.header.Pub
		for range 5 {
			k.wakes()
			k.wantPending(want...)
			k.wantState(a2a.TaskStateInputRequired)
			k.waits(asks...)
		}
		k.wantPending(want...)
		if len(k.rows) != len(asks) || k.header.Pub != public {
			t.Errorf("%s: %d approvals were made for %d questions, and %d events published meanwhile", name, len(k.rows), len(asks), k.header.Pub-public)
		}
		for i := range asks {
			verb := approval.Respond
			if asks[i].Kind == tool.AskConfirm {
				verb = approval.Approve
			}
			if asks[i].Kind == tool.AskForm {
				if err := k.answer(approval.Decision{ID: id(1), Type: verb, Response: json.RawMessage(`{}`)}); err != nil {
					t.Fatal(err)
				}
				continue
			}
			k.decide(id(i+1), verb)
		}
		k.wantEntries(7)
		if n := len(k.entered[6].Resumption.Answers); n != len(asks) {
			t.Errorf("%s: the tool is given %d answers, want %d", name, n, len(asks))
		}
		k.returns("c1.1", `1`)
		k.wantPending()
		k.wantNoDue()
	}
}

// A payload is the same in any encoding, and differs if one of its values does.
func TestPayloadInAnotherForm(t *testing.T) {
	t.Parallel()
	for again, want := range map[string]string{
		"{ \"to\": \"\\u003cb>\", \"n\": 9007199254740991 }": id(1),
		`{"n":9007199254740990,"to":"<b>"}`:                  id(2),
	} {
		ask := question("one", "which?")
		ask.Payload = json.RawMessage(`{"n":9007199254740991,"to":"<b>"}`)
		k := waker(t, ask)
		k.wakes()
		ask.Payload = json.RawMessage(again)
		k.waits(ask)
		k.wantPending(want)
	}
}

// What the tool does not ask any longer, or asks differently, is superseded in the batch
// that asks the rest.
func TestChangedQuestionIsAskedAgain(t *testing.T) {
	t.Parallel()
	k := waker(t, question("a", "red?"), question("b", "big?"), question("c", "old?"))
	k.wakes()
	k.waits(question("a", "red?"), question("b", "small?"), question("d", "new?"))
	k.wantPending(id(1), id(4), id(5))
	for n, want := range map[int]string{2: "big?", 3: "old?"} {
		if a := k.approval(n); a.State != approval.Superseded || a.Hint != want {
			t.Errorf("question %d (%s) is %s, want superseded", n, a.Hint, a.State)
		}
	}
	if resolved := k.draft.Resolved(); len(resolved) != 2 || len(k.draft.Asked()) != 2 {
		t.Errorf("the batch resolves %v and asks %d, want both changes in it", resolved, len(k.draft.Asked()))
	}
	// The same words to be confirmed are another question when the tool is another.
	k = waker(t, tool.Question{ID: "a", Kind: tool.AskConfirm, Hint: "really?"})
	k.shelf.tools = []*fake{{name: "ask", schema: map[string]any{"type": "object"}}}
	k.wakes()
	k.waits(tool.Question{ID: "a", Kind: tool.AskConfirm, Hint: "really?"})
	k.wantPending(id(2))
}

// An answer that comes while the tool runs is not lost: the tool gets it as soon as it
// asks, and once.
func TestAnswerDuringRun(t *testing.T) {
	t.Parallel()
	for _, verb := range []approval.DecisionType{approval.Respond, approval.Reject} {
		k := waker(t, question("a", "red?"))
		k.wakes()
		k.wantGiven("map[]")
		k.decide(id(1), verb)
		k.wantState(a2a.TaskStateWorking)
		k.wantEntries(2)
		k.waits(question("a", "red?"))
		k.wantEntries(3)
		state := map[approval.DecisionType]string{approval.Respond: tool.AnswerResponded, approval.Reject: tool.AnswerRejected}[verb]
		k.wantGiven("map[a:" + state + "]")
		if len(k.rows) != 1 {
			t.Errorf("%d approvals were made, want 1", len(k.rows))
		}
		// It has the answer: who asks once more asks again.
		k.waits(question("a", "red?"))
		k.wantEntries(3)
		k.wantPending(id(2))
		k.mustPut(rules.Cancel{})
		k.wantPending()
		k.wantNoDue()
	}
}

// An answer during a run goes with the rest of what is asked, or is of no use.
func TestAnswerDuringRunToOthers(t *testing.T) {
	t.Parallel()
	k := waker(t, question("a", "red?"), question("b", "big?"))
	k.wakes()
	k.decide(id(1), approval.Respond)
	k.waits(question("a", "red?"), question("b", "big?"))
	k.wantEntries(2)
	k.wantPending(id(2))
	k.decide(id(2), approval.Respond)
	k.wantEntries(3)
	k.wantGiven("map[a:responded b:responded]")

	// One of two is answered when the timer fires: the tool gets that, and the other stays.
	k = waker(t, question("a", "red?"), question("b", "big?"))
	k.decide(id(1), approval.Respond)
	k.wakes()
	k.wantGiven("map[a:responded]")
	k.wantPending(id(2))
	k.waits(question("b", "big?"))
	k.wantPending(id(2))

	k = waker(t, question("a", "red?"))
	k.wakes()
	k.decide(id(1), approval.Respond)
	k.waits()
	k.wantPending()
	k.wakes()
	k.wantGiven("map[]")
}

// A confirmation that comes while the tool runs again is one, whenever the tool asks.
func TestConfirmedDuringRun(t *testing.T) {
	t.Parallel()
	confirm := rules.RunEnded{Asks: []rules.ToolQuestion{{ID: "q.1", Question: tool.Question{Kind: tool.AskConfirm, Hint: "really?"}}}}
	for _, later := range []bool{false, true} {
		k := newDesk(t, nil, &fake{name: "ask"})
		k.begin(task.PlannedCall{Tool: "ask"})
		first := confirm
		first.Suspension = &tool.Suspension{Wake: k.now.Add(time.Minute)}
		k.ends("c1.1", first)
		k.wakes()
		if len(k.running["c1.1"].Decided) != 0 {
			t.Fatal("the tool is told of a decision that nobody has made")
		}
		k.decide(id(1), approval.Approve)
		if later {
			k.waits()
			k.wakes()
		} else {
			k.ends("c1.1", confirm)
		}
		if e := k.entered[len(k.entered)-1]; len(k.entered) != 3 || !e.Decided["q.1"] {
			t.Errorf("later %v: entry %d knows %v, want that it was confirmed", later, len(k.entered), e.Decided)
		}
	}
}

// A deadline holds over suspensions: who polls does not move it.
func TestDeadlineOfOpenQuestionStays(t *testing.T) {
	t.Parallel()
	p, err := approval.NewPolicy(approval.PolicyConfig{Defaults: approval.Terms{Expires: 150 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	k := newDesk(t, func(r *rules.Rules) { r.Policy = p }, &fake{name: "ask"})
	k.begin(task.PlannedCall{Tool: "ask"})
	k.waits(question("a", "red?"))
	for range 2 {
		k.wakes()
		k.waits(question("a", "red?"))
	}
	k.now = k.now.Add(30 * time.Second)
	k.mustPut(rules.Expiry{Row: k.dueRow(record.DueExpiry, id(1))})
	k.wantEntries(4)
	k.wantGiven("map[a:expired]")
}

// A process that dies while the tool looks after its work leaves the questions as they
// are, if the tool may simply be run again; if somebody has to decide about that, only
// that is asked.
func TestOpenQuestionsAfterACrash(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "ask", is: tool.Annotations{Idempotent: true}})
	k.begin(task.PlannedCall{Tool: "ask"})
	k.waits(question("a", "red?"))
	k.wakes()
	k.dies()
	k.wantEntries(3)
	k.wantPending(id(1))
	k.decide(id(1), approval.Respond)
	k.waits(question("a", "red?"))
	k.wantEntries(4)
	k.wantGiven("map[a:responded]")

	k = waker(t, question("a", "red?"))
	k.wakes()
	k.dies()
	k.wantPending(id(2))
	if a := k.one(); a.Kind != approval.KindOutcome {
		t.Errorf("the %s is asked, want the outcome", a.Kind)
	}
	k.decide(id(2), approval.Approve)
	k.waits(question("a", "red?"))
	k.wantPending(id(3))
}

// A message that decides nothing is told so, also while the tool looks after its work.
func TestMessageWhileTheToolLooks(t *testing.T) {
	t.Parallel()
	k := waker(t, question("a", "red?"), question("b", "big?"))
	k.wakes()
	k.mustPut(k.says("m", "hello?", alice))
	k.wantState(a2a.TaskStateInputRequired)
	k.wantEntries(2)
	k.waits(question("a", "red?"), question("b", "big?"))
	k.wantPending(id(1), id(2))
	k.wantState(a2a.TaskStateInputRequired)
}

// Questions that cannot be told apart fail their call, and nobody is asked.
func TestBadQuestionIDs(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string][]tool.Question{
		"twice":     {question("a", "red?"), question("a", "big?")},
		"long":      {question(strings.Repeat("x", 257), "red?")},
		"not UTF-8": {question("\xff", "red?")},
	} {
		k := waker(t, question("a", "red?"))
		k.wakes()
		k.waits(asks...)
		if outcome, problem := k.outcome("c1.1"); outcome != task.OutcomeError || !strings.Contains(problem, "ID") {
			t.Errorf("%s: the call ended %q, %q", name, outcome, problem)
		}
		k.wantPending()
		k.wantNoDue()
	}
}

// A confirmation is the answer to its own question only. A call that has asked another one
// since, and is woken before that is decided, is not told of the earlier decision.
func TestDecisionIsNoAnswerToALaterQuestion(t *testing.T) {
	t.Parallel()
	confirm := func(hint string) tool.Question { return tool.Question{ID: "sure", Kind: tool.AskConfirm, Hint: hint} }
	k := waker(t, confirm("delete a?"))
	k.decide(id(1), approval.Approve)
	if d := k.entered[1].Confirmation; d == nil || !d.Confirmed {
		t.Fatalf("the tool reads the decision %v on its question", d)
	}
	k.waits(confirm("delete all?"))
	k.wakes()
	if d := k.entered[2].Confirmation; d != nil {
		t.Errorf("while its second question is open, the tool reads the decision %+v", d)
	}
	k.wantGiven("map[]")
	k.waits(confirm("delete all?"))
	k.wantPending(id(2))
	k.decide(id(2), approval.Reject)
	if d := k.entered[3].Confirmation; d == nil || d.Confirmed {
		t.Errorf("after its second question was rejected, the tool reads the decision %+v", d)
	}
	k.wantGiven("map[sure:rejected]")
	k.waits(confirm("delete a?"))
	if k.wakes(); k.entered[4].Confirmation != nil {
		t.Error("a question that is asked again after its answer has that answer still")
	}
	k.wantGiven("map[]")
	k.wantPending(id(3))
}
