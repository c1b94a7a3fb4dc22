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
	k := newDesk(t, nil, &fake{name: "pay", gated: true, schema: amounts("")})
	k.begin(call("pay", 1))
	k.shelf.tools = nil
	k.mustPut(task.Refresh{})
	if outcome, problem := k.outcome("c1.1"); outcome != task.OutcomeInvalid || !strings.Contains(problem, "no tool") {
		t.Errorf("the call ended %q, %q", outcome, problem)
	}
}

// After a day without its tool somebody is asked whether to wait on, and again a day
// after they have said so.
func TestDoubtAfterADay(t *testing.T) {
	t.Parallel()
	for _, say := range []string{"wait", "give up"} {
		k := newDesk(t, nil, &fake{name: "look", is: tool.Annotations{ReadOnly: true}, schema: amounts("")})
		k.shelf.down = errors.New("down")
		k.begin(call("look", 1))
		k.askedAfterADay(k.now)
		k.wantState(a2a.TaskStateInputRequired)
		k.retry() // it is tried meanwhile, and asked once
		a := k.one()
		if a.Kind != approval.KindQuestion {
			t.Fatalf("the %s is asked, want a question", a.Kind)
		}
		if err := k.answer(approval.Answer{ID: a.ID, Verb: approval.Respond, Response: []byte(`"` + say + `"`)}); err != nil {
			t.Fatal(err)
		}
		outcome, problem := k.outcome("c1.1")
		if say == "give up" {
			if outcome != task.OutcomeError || !strings.Contains(problem, "given up") {
				t.Errorf("the call ended %q, %q, want it given up", outcome, problem)
			}
			k.wantNoDue()
			continue
		}
		if outcome != "" {
			t.Fatalf("the call ended %q, %q, want it to wait on", outcome, problem)
		}
		k.askedAfterADay(k.now)
		k.shelf.down = nil
		k.retry()
		k.wantEntries(1)
		k.returns("c1.1", `1`)
		if left := k.pending(); len(left) > 0 {
			t.Errorf("%v are pending in the end", left)
		}
	}
}

// askedAfterADay checks that a call is tried again and again, and that somebody is asked
// a day after start and not before. For most of the day nobody runs the server.
func (k *desk) askedAfterADay(start time.Time) {
	k.t.Helper()
	for range 3 {
		k.retry()
	}
	for _, late := range []time.Duration{-time.Second, time.Second} {
		if left := k.pending(); len(left) > 0 {
			k.t.Fatalf("%v is asked after %v", left, k.now.Sub(start))
		}
		row := k.dueRow(task.DueWake, "c1.1/retry")
		k.now = start.Add(24*time.Hour + late)
		if k.now.Before(row.Time.Time()) {
			k.now = row.Time.Time()
		}
		k.mustPut(task.Wake{Row: row})
	}
	if left := k.pending(); len(left) != 1 {
		k.t.Fatalf("%v are pending after a day, want one question", left)
	}
}
