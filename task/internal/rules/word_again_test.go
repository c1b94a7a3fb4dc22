package rules_test

import (
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/task"
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
