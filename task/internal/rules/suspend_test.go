package rules_test

import (
	"encoding/json"
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

// All that a suspension asks is made before any of it is written: of one that is refused
// nobody hears.
func TestSuspensionAsksAllOrNothing(t *testing.T) {
	t.Parallel()
	good := tool.Question{Kind: tool.AskQuestion, Hint: "which one?"}
	for name, s := range map[string]tool.Suspension{
		"no such kind":     {Asks: []tool.Question{good, {Kind: "riddle"}}},
		"no schema":        {Asks: []tool.Question{good, {Kind: tool.AskForm}}},
		"too many":         {Asks: []tool.Question{good, good, good, good}},
		"too large":        {Asks: []tool.Question{good, {Kind: tool.AskQuestion, Hint: strings.Repeat("x", 1<<20)}}},
		"nothing":          {},
		"too much to keep": {Asks: []tool.Question{good}, State: json.RawMessage(`"` + strings.Repeat("x", tool.MaxSuspensionState) + `"`)},
		"too deep to keep": {Asks: []tool.Question{good}, State: json.RawMessage(strings.Repeat("[", 9_990) + strings.Repeat("]", 9_990))},
		"no JSON to keep":  {Asks: []tool.Question{good}, State: json.RawMessage(`{`)},
	} {
		k := newDesk(t, func(r *rules.Rules) { r.Limits.Pending = 3 }, &fake{name: "ask"})
		k.begin(task.PlannedCall{Tool: "ask"})
		k.pauses("c1.1", s)
		if outcome, problem := k.outcome("c1.1"); outcome != task.OutcomeError || problem == "" {
			t.Errorf("%s: the call ended %q, %q, want an error", name, outcome, problem)
		}
		if len(k.rows) > 0 || len(k.draft.Asked()) > 0 {
			t.Errorf("%s: %d approvals were asked", name, len(k.rows))
		}
		k.wantNoDue()
	}
}

// A call continues when all that it asked is answered, and what it asked by the way is
// closed with it: when it continues by its timer, and when it ends.
func TestOpenQuestionsAreClosed(t *testing.T) {
	t.Parallel()
	ask := func(hint string) tool.Question { return tool.Question{Kind: tool.AskQuestion, Hint: hint} }
	begin := func() *desk {
		k := newDesk(t, nil, &fake{name: "ask"})
		k.begin(task.PlannedCall{Tool: "ask"})
		k.pauses("c1.1", tool.Suspension{Asks: []tool.Question{ask("one?"), ask("two?")}, Wake: k.now.Add(time.Hour)})
		k.wantState(a2a.TaskStateInputRequired)
		return k
	}
	closed := func(name string, k *desk, want approval.State) {
		t.Helper()
		if left := k.pending(); len(left) > 0 || k.header.Pending != 0 {
			t.Errorf("%s: %v are pending, and the header counts %d", name, left, k.header.Pending)
		}
		if a := k.approval(2); a.State != want {
			t.Errorf("%s: the second question is %s, want %s", name, a.State, want)
		}
		k.wantNoDue()
	}

	k := begin()
	k.decide(id(1), approval.Respond)
	k.wantEntries(1)
	k.decide(id(2), approval.Respond)
	k.wantEntries(2)
	closed("answered", k, approval.Responded)

	k = begin()
	k.now = k.now.Add(time.Hour)
	k.mustPut(rules.Wake{Row: k.dueRow(record.DueWake, "c1.1")})
	k.wantEntries(2)
	if left := k.pending(); len(left) != 2 {
		t.Errorf("while the tool looks after its work %v are pending, want both questions", left)
	}
	k.wantState(a2a.TaskStateInputRequired)
	k.returns("c1.1", `1`)
	closed("it has ended", k, approval.Superseded)

	k = begin()
	k.rules.Policy = policy(t, approval.Gate{Tool: "ask", Action: approval.ActionDeny})
	k.now = k.now.Add(time.Hour)
	k.mustPut(rules.Wake{Row: k.dueRow(record.DueWake, "c1.1")})
	k.wantEntries(1)
	closed("it is denied", k, approval.Superseded)

	k = begin()
	k.mustPut(rules.Cancel{})
	closed("its task is canceled", k, approval.Canceled)
}

// A yes to what a running tool asks is no approval of its call: when the policy asks
// about the call by then, somebody is asked. See TestEntryOfACallThatStood; and what is
// still open when the tool returns is asked, whatever it returned.
func TestAskedByTheWay(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "ask"})
	k.begin(task.PlannedCall{Tool: "ask"})
	k.ends("c1.1", rules.RunEnded{Result: json.RawMessage(`"done"`), Asks: []rules.ToolQuestion{{ID: "q", Question: tool.Question{Kind: tool.AskConfirm, Hint: "really?"}}}})
	if outcome, _ := k.outcome("c1.1"); outcome != "" || k.one().AskKind != string(tool.AskConfirm) {
		t.Errorf("the call ended %q, want its question asked", outcome)
	}
}
