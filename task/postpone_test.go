package task_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/tool"
)

// retry lets the pause of call c1.1 pass, and tries it again.
func (k *desk) retry() {
	k.t.Helper()
	row := k.dueRow(task.DueWake, "c1.1/retry")
	k.now = row.Time.Time()
	k.mustPut(task.Wake{Row: row})
}

// A toolset that is down says nothing about its tools: a call that somebody has approved
// is tried again later, with growing pauses, and runs when the tool is back.
func TestCallWaitsForItsToolset(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	for name, begin := range map[string]func(k *desk){
		"before it is asked": func(k *desk) {
			k.shelf.down = down
			k.begin(call("pay", 1))
		},
		"when it is approved": func(k *desk) {
			k.begin(call("pay", 1))
			k.shelf.down = down
			k.decide(id(1), approval.Approve)
		},
		"when nobody knows what came of it": func(k *desk) {
			k.begin(call("pay", 1))
			k.decide(id(1), approval.Approve)
			k.shelf.down = down
			k.dies()
		},
	} {
		k := newDesk(t, nil, &fake{name: "pay", gated: true, schema: amounts("")})
		begin(k)
		entered := len(k.entered)
		var last time.Duration
		for try := 1; try <= 12; try++ {
			if outcome, problem := k.outcome("c1.1"); outcome != "" {
				t.Fatalf("%s: the call ended %s, %q", name, outcome, problem)
			}
			row := k.dueRow(task.DueWake, "c1.1/retry")
			pause := row.Time.Time().Sub(k.now)
			if pause < last || pause < time.Second || pause > 15*time.Minute {
				t.Fatalf("%s: pause %d is %v, after %v", name, try, pause, last)
			}
			if said := strings.Contains(k.text(), "unable to continue"); said != (try >= 3) {
				t.Fatalf("%s: after try %d the status says %q", name, try, k.text())
			}
			last = pause
			k.retry()
		}
		if last != 15*time.Minute {
			t.Errorf("%s: the last pause was %v, want 15m", name, last)
		}
		k.shelf.down = nil
		k.retry()
		if name != "when it is approved" {
			k.decide(k.one().ID, approval.Approve)
		}
		if n := len(k.entered) - entered; n != 1 {
			t.Errorf("%s: the call was entered %d times in the end, want 1", name, n)
		}
		k.wantNoDue()
	}
}

// A tool that is gone is another matter: its call ends.
func TestCallOfAToolThatIsGone(t *testing.T) {
	t.Parallel()
	k := newPayDesk(t)
	k.shelf.tools = nil
	k.mustPut(task.Refresh{})
	if outcome, problem := k.outcome("c1.1"); outcome != task.OutcomeInvalid || !strings.Contains(problem, "no tool") {
		t.Errorf("the call ended %q, %q", outcome, problem)
	}
}

// However long its tool is away, a call is tried again and nobody is asked; the status says
// what is missing. Somebody who does not want to wait cancels the call.
func TestCallWaitsForDays(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "look", is: tool.Annotations{ReadOnly: true}, schema: amounts("")})
	k.shelf.down = errors.New("connection refused")
	k.begin(call("look", 1))
	for range 4 * 24 * 3 {
		k.retry()
	}
	k.wantPending()
	k.wantState(a2a.TaskStateWorking)
	for _, says := range []string{"look (c1.1)", "since 2026-11-21T12:00:0", "connection refused", "next try"} {
		if !strings.Contains(k.text(), says) {
			t.Errorf("the status does not say %q: %s", says, k.text())
		}
	}
	k.mustPut(task.CancelCall{By: alice, Via: approval.ViaAPI, Call: "c1.1"})
	if outcome, problem := k.outcome("c1.1"); outcome != task.OutcomeCanceled {
		t.Errorf("the canceled call ended %q, %q", outcome, problem)
	}
	k.wantNoDue()
}
