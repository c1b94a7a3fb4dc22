package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/approval/dialect"
)

// TestDialectsAreUnderstood says each decision in each dialect that can say it, and
// reads it back.
func TestDialectsAreUnderstood(t *testing.T) {
	t.Parallel()
	reader := dialect.New(dialect.Config{Keywords: true})
	said := map[Dialect]int{}
	for _, kind := range []approval.Kind{approval.KindCall, approval.KindOutcome, approval.KindQuestion} {
		a := &approval.Approval{
			V: 1, ID: "t.a1", Kind: kind, State: approval.Pending, Task: "t", Call: "c1.1", Agent: "agent", Tool: "tool",
			Args: json.RawMessage(`{"n":1}`), Digest: "d", Hint: "continue?", Asked: time.Unix(0, 0),
		}
		for _, verb := range a.Decisions() {
			for d := range API {
				x := &verdict{a: a, id: a.ID, decision: verb, args: map[string]any{"n": 2}, text: "as you like"}
				m := &a2a.Message{ID: "m", Role: a2a.MessageRoleUser, TaskID: "t"}
				if !x.say(m, d, nil) {
					continue
				}
				raw := mustJSON(m) // as it comes over the wire
				var received a2a.Message
				if err := json.Unmarshal(raw, &received); err != nil {
					t.Fatal(err)
				}
				got, err := reader.Answers(&received, []*approval.Approval{a})
				if (d == Keyword || d == ADKSpoken) && kind == approval.KindOutcome || d == Keyword && kind == approval.KindQuestion {
					if len(got) > 0 {
						t.Errorf("%s on a %s: a text decides it", verb, kind)
					}
					continue
				}
				name := fmt.Sprintf("%s of a %s in %s", verb, kind, d)
				if err != nil {
					t.Errorf("%s: %v\n%s", name, err, raw)
					continue
				}
				for i := range got {
					got[i].ByCall = false // it is the dialect's to say
				}
				got = slices.CompactFunc(got, func(a, b approval.Decision) bool { return cmp.Equal(a, b) }) // one in each dialect
				if diff := cmp.Diff([]approval.Decision{x.answer()}, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s\n%s", name, diff, raw)
				}
				said[d]++
			}
		}
	}
	for d := range API {
		if said[d] == 0 {
			t.Errorf("nothing was said in dialect %q", d)
		}
	}
}
