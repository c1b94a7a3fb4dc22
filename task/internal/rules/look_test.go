package rules_test

import (
	"errors"
	"fmt"
	"testing"

	"a2a-server/approval"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// A tool whose definition changes at any moment of a decision, for good or for one look at it,
// runs only with the definition that the approval showed.
func TestToolChangesWhileItIsDecided(t *testing.T) {
	t.Parallel()
	for _, answer := range []approval.Decision{{ID: id(1), Type: approval.Approve}, edit(id(1), `{"amount":2}`)} {
		for _, stays := range []bool{true, false} {
			for at := 1; at <= 6; at++ {
				t.Run(fmt.Sprintf("%s, at look %d, stays %v", answer.Type, at, stays), func(t *testing.T) {
					t.Parallel()
					shown, other := &fake{name: "pay", gated: true, schema: amounts("shown")}, &fake{name: "pay", gated: true, schema: amounts("other")}
					k := newDesk(t, nil, shown)
					k.begin(call("pay", 1))
					looks := 0
					k.shelf.asked = func() {
						looks++
						k.shelf.tools[0] = shown
						if looks == at || looks > at && stays {
							k.shelf.tools[0] = other
						}
					}
					err := k.answer(answer)
					if errors.Is(err, rules.ErrStale) {
						if err := k.put(rules.Refresh{}); err != nil && !errors.Is(err, rules.ErrNoChange) {
							t.Fatal(err)
						}
						err = k.answer(answer)
					}
					if refused := (*approval.Error)(nil); err != nil && !errors.As(err, &refused) {
						t.Fatal(err)
					}
					for _, e := range k.entered {
						digest, err := tool.Digest(tool.ToDefinition(e.Tool))
						if err != nil {
							t.Fatal(err)
						}
						if a := k.approval(1); digest != a.Definition {
							t.Errorf("a definition runs that nobody was shown; the approval is %s", a.State)
						}
					}
				})
			}
		}
	}
}
