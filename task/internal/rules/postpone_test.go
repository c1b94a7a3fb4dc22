package rules_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// retry lets the pause of call c1.1 pass, and tries it again.
func (k *desk) retry() {
	k.t.Helper()
	row := k.dueRow(record.DueWake, "c1.1/retry")
	k.now = row.Time.Time()
	k.mustPut(rules.Wake{Row: row})
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
			row := k.dueRow(record.DueWake, "c1.1/retry")
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
		for _, says := range []string{"pay (c1.1)", "since 2026-11-21T12:00:0", "down", "next try"} {
			if !strings.Contains(k.text(), says) {
				t.Errorf("%s: the status does not say %q: %s", name, says, k.text())
			}
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

// away is a tool whose server may be down.
type away struct {
	fake

	down error
}

func (a *away) Reachable() error { return a.down }

// A call that waits for its tool for over a day after its approval is asked about again, each time, also if it
// runs again because its outcome is unknown.
func TestApprovedCallWaitsForADay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		wait  time.Duration
		again bool // a later attempt
		asks  bool
	}{
		"for hours":     {wait: 23 * time.Hour},
		"for days":      {wait: 49 * time.Hour, asks: true},
		"a later run":   {wait: 49 * time.Hour, again: true, asks: true},
		"not for a run": {wait: time.Minute, again: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pay := &away{fake: fake{name: "pay", gated: true, schema: amounts("")}}
			k := newDesk(t, nil)
			k.rules.Tools = tool.NewRegistry(tool.NewToolset("bank", pay))
			k.begin(call("pay", 1))
			if tc.again {
				k.decide(id(1), approval.Approve)
				k.dies()
			}
			entered := len(k.entered)
			for range 2 {
				pay.down = errors.New("down")
				k.decide(k.one().ID, approval.Approve)
				for at := k.now; k.now.Sub(at) < tc.wait; {
					k.retry()
				}
				k.wantEntries(entered)
				pay.down = nil
				k.retry()
				if !tc.asks {
					break
				}
				if hint := k.one().Question(); strings.Count(hint, "could not be reached") != 1 || strings.Contains(hint, "has changed") {
					t.Errorf("it is asked again with %q", hint)
				}
			}
			if tc.asks {
				k.wantEntries(entered)
				k.decide(k.one().ID, approval.Approve)
			}
			k.wantEntries(entered + 1)
			k.wantNoDue()
		})
	}
}

// Where a gate hides what a running tool says, the question about the call has none of it.
func TestConfirmedCallThatWaitedHidesWords(t *testing.T) {
	t.Parallel()
	for name, gate := range map[string]approval.Gate{
		"masked": {Tool: "pay", When: over(100), Terms: approval.Terms{Mask: []string{"/amount"}}},
		"kept":   {Tool: "ship", Terms: approval.Terms{MaskTask: true}},
	} {
		k := newDesk(t, func(r *rules.Rules) { r.Policy = policy(t, gate) }, &fake{name: "pay", schema: amounts("")}, &fake{name: "ship", schema: amounts("")})
		n, calls := 1, []task.PlannedCall{call("pay", 1)}
		if name == "kept" {
			n, calls = 2, append(calls, call("ship", 1))
		}
		k.begin(calls...)
		k.ends("c1.1", rules.RunEnded{Asks: []rules.ToolQuestion{{ID: "first", Question: tool.Question{Kind: tool.AskConfirm, Hint: "pay to DE12345?"}}}})
		k.shelf.down = errors.New("down")
		k.decide(id(n), approval.Approve)
		k.shelf.down, k.now = nil, k.now.Add(25*time.Hour)
		k.step()
		if a := k.approval(n + 1); strings.Contains(a.Question(), "DE12345") || !strings.Contains(a.Question(), "pay") {
			t.Errorf("%s: it is asked about with %q", name, a.Question())
		}
	}
}

// A confirmation of over a day before its tool can be reached again is asked about again, too: with the new
// approval the call goes on from the confirmation.
func TestConfirmedCallWaitsForADay(t *testing.T) {
	t.Parallel()
	for _, asks := range []bool{false, true} {
		wait := map[bool]time.Duration{false: 23 * time.Hour, true: 25 * time.Hour}[asks]
		k := newDesk(t, nil, &fake{name: "pay", schema: amounts("")})
		k.begin(call("pay", 1))
		k.confirms("c1.1", "first")
		k.now = k.now.Add(48 * time.Hour) // for the decision itself there is time
		k.shelf.down = errors.New("down")
		k.decide(id(1), approval.Approve)
		k.shelf.down, k.now = nil, k.now.Add(wait)
		k.step()
		if asks {
			k.wantEntries(1)
			if a := k.one(); !strings.Contains(a.Question(), "could not be reached then. pay has started") {
				t.Errorf("it is asked about with %q", a.Question())
			}
			k.decide(id(2), approval.Approve)
		}
		k.wantEntries(2)
		if e := k.entered[1]; !e.Decided["first"] || e.Confirmation == nil || !e.Confirmation.Confirmed {
			t.Errorf("after %v the tool reads %+v, %v", wait, e.Confirmation, e.Decided)
		}
	}
}
