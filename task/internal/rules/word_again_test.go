package rules_test

import (
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// A word that is sent twice decides the call that its sender has seen, not the next one, which is put
// again with its code.
func TestWordTwiceDecidesOnce(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"yes", "no"} {
		k := newDesk(t, nil, &fake{name: "pay", schema: amounts(""), gated: true})
		k.planner.list = []*task.Step{{Calls: []task.PlannedCall{call("pay", 1)}}, {Calls: []task.PlannedCall{call("pay", 2)}}}
		k.beginAs()
		if a := k.approval(1); a.Code != "" {
			t.Errorf("the first question has the code %q", a.Code)
		}
		k.mustPut(k.says("m1", word, alice))
		if word == "yes" {
			k.returns("c1.1", `{}`)
		}
		k.mustPut(k.says("m2", word, alice))
		a := k.approval(2)
		coded := map[string]string{"yes": "approve ", "no": "no "}[word] + a.Code
		if a.State != approval.Pending || !strings.Contains(k.text(), `type "`+coded+`"`) {
			t.Fatalf("after a second %q, the next call is %s, and the question is %q", word, a.State, k.text())
		}
		k.mustPut(k.says("m3", coded, alice))
		if got, want := k.approval(2).State, map[string]approval.State{"yes": approval.Approved, "no": approval.Rejected}[word]; got != want {
			t.Errorf("after %q with its code it is %s, want %s", word, got, want)
		}
	}
}

// A word that is typed to a second question, which has ended by then, does not decide the first.
func TestWordForAnEndedQuestion(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(*desk){
		"decided by another person": func(k *desk) {
			k.confirms("c1.2", "delete the report?")
			k.decide(id(2), approval.Approve)
		},
		"withdrawn": func(k *desk) {
			held := &rules.Held{Entry: k.running["c1.2"], Ask: tool.Question{Kind: tool.AskQuestion, Hint: "Delete the report?"}}
			k.step(held)
			k.step(rules.Withdrawn{Approval: held.Approval, Why: "the tool has stopped waiting"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newDesk(t, nil, &fake{name: "pay", gated: true, schema: amounts("")}, &fake{name: "clean", schema: amounts("")})
			k.begin(call("pay", 1000), call("clean", 1))
			ends(k)
			k.returns("c1.2", `{}`)
			for _, word := range []string{"yes", "no"} {
				k.mustPut(k.says(word, word, alice))
				if why := "and this question has no code"; k.approval(1).State != approval.Pending || !strings.Contains(k.text(), why) {
					t.Errorf("after %q the first question is %s and says %q, want %q in it", word, k.approval(1).State, k.text(), why)
				}
			}
			k.decide(id(1), approval.Approve)
			k.wantEntries(1)
		})
	}
}
