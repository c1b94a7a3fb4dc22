package rules_test

import (
	"encoding/json"
	"errors"
	"testing"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// A result that comes after its call was given up is recorded, and no more: it wakes
// nobody, starts nothing, and answers no question.
func TestLateResultChangesNothing(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]func(k *desk){
		"the task waits": func(k *desk) {
			k.ends("c1.1", rules.RunEnded{GivenUp: errors.New("it did not end in time"), TimedOut: true})
		},
		"the task has ended": func(k *desk) {
			k.mustPut(rules.Cancel{})
		},
	} {
		k := newDesk(t, nil, &fake{name: "run"})
		k.begin(task.PlannedCall{Tool: "run"})
		given(k)
		before, pending, entered := k.header, k.pending(), len(k.entered)
		k.mustPut(rules.LateResult{Entry: &rules.Execution{Call: "c1.1"}, Result: json.RawMessage(`{"late":true}`)})
		after := k.header
		if after.Fence != before.Fence || after.Phase != before.Phase || after.State != before.State || after.Pub != before.Pub {
			t.Errorf("%s: the task was %+v, and is %+v", name, before, after)
		}
		if !k.draft.Quiet() || len(k.batch.Events) != 1 || len(k.batch.Audit) != 1 || len(k.batch.Rows) > 0 || len(k.batch.Due) > 0 {
			t.Errorf("%s: the batch is %+v, want one private event and its audit", name, k.batch)
		}
		if len(k.entered) != entered || len(k.pending()) != len(pending) {
			t.Errorf("%s: %d calls were entered, and %v are pending", name, len(k.entered)-entered, k.pending())
		}
	}
	k := newDesk(t, nil, &fake{name: "run"})
	k.begin(task.PlannedCall{Tool: "run"})
	if err := k.put(rules.LateResult{Entry: &rules.Execution{Call: "c9.9"}}); !errors.Is(err, rules.ErrNoChange) {
		t.Errorf("a result of a call that never was = %v, want ErrNoChange", err)
	}
}

// A call that ignored its time and could be repeated has failed; one with effects is
// asked about; none is repeated by itself.
func TestCallThatWasGivenUp(t *testing.T) {
	t.Parallel()
	for _, is := range []tool.Annotations{{}, {ReadOnly: true}, {Idempotent: true}, {Destructive: true}} {
		for _, timed := range []bool{true, false} {
			k := newDesk(t, nil, &fake{name: "run", is: is})
			k.begin(task.PlannedCall{Tool: "run"})
			k.ends("c1.1", rules.RunEnded{GivenUp: errors.New("it did not end"), TimedOut: timed})
			k.wantEntries(1)
			outcome, _ := k.outcome("c1.1")
			if is.ReadOnly || is.Idempotent {
				if outcome != task.OutcomeError {
					t.Errorf("%+v: the call ended %q, want an error", is, outcome)
				}
				continue
			}
			if outcome != "" || len(k.pending()) != 1 || k.header.Phase != store.Parked {
				t.Errorf("%+v: the call ended %q, want a person to be asked", is, outcome)
			}
		}
	}
}
