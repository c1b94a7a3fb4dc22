package engine_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/tool"
)

// A call that does no harm when it is repeated is repeated when the process dies: at
// once, then after a pause, then after a longer one. A pause outlives restarts. After
// the third repetition a person is asked: it may be this very call that kills the
// process. A call that has kept a checkpoint is no exception, whatever it keeps on the way.
func TestRepeatsAfterDeathsAreBounded(t *testing.T) {
	t.Parallel()
	for _, is := range []tool.Annotations{{ReadOnly: true}, {Idempotent: true}, {ReadOnly: true, Idempotent: true}} {
		for _, gated := range []bool{false, true} {
			t.Run(fmt.Sprintf("%+v gated %t", is, gated), func(t *testing.T) {
				t.Parallel()
				eachDisk(t, func(t *testing.T, w *world) { repeats(t, w, is, gated, false /* keeps */) })
			})
		}
	}
	for _, gated := range []bool{false, true} {
		t.Run(fmt.Sprintf("checkpoints gated %t", gated), func(t *testing.T) {
			t.Parallel()
			eachDisk(t, func(t *testing.T, w *world) { repeats(t, w, tool.Annotations{}, gated, true /* keeps */) })
		})
	}
}

func repeats(t *testing.T, w *world, is tool.Annotations, gated, keeps bool) {
	const most = 3
	runs := newCounted()
	t.Cleanup(runs.open)
	w.tools.extra = []tool.Tool{&fake{name: "fatal", gated: gated, is: is, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
		n := runs.enter(ctx)
		if r, ok := tool.Resumed(ctx); ok != (keeps && n > 1) || ok && string(r.State) != fmt.Sprint(n-1) {
			t.Errorf("run %d was entered again: %t, with %+v", n, ok, r)
		}
		if keeps {
			if err := tool.Checkpoint(ctx, fmt.Append(nil, n)); err != nil {
				t.Errorf("Checkpoint() = %v", err)
			}
		}
		return map[string]any{"ok": true}, runs.holdOr(ctx)
	}}}
	var k killer
	w.wrap = k.wrap
	w.cfg.Limits = task.Limits{ToolTimeout: 1000 * time.Hour}
	w.start()
	id := w.begin(w.calls("fatal", args{}))
	if gated {
		if err := w.decide(alice, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Approve}); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
	if n := runs.count(); n != 1 {
		t.Fatalf("the tool was entered %d times, want 1", n)
	}
	var pauses []time.Duration
	for deaths := 1; ; deaths++ {
		if deaths > most+1 {
			t.Fatalf("after %d deaths the call was repeated %d times, want at most %d", deaths-1, runs.count()-1, most)
		}
		before := runs.count()
		k.die()
		w.restart()
		synctest.Wait()
		if runs.count() == before && len(w.waiting(id)) > 0 {
			break
		}
		pauses = append(pauses, w.afterPause(t, id, runs, before))
		if n := runs.count(); n != before+1 {
			t.Fatalf("death %d: the tool was entered %d times, want %d", deaths, n, before+1)
		}
	}
	if n := runs.count() - 1; n != most {
		t.Errorf("the call was repeated %d times, want %d", n, most)
	}
	for i, pause := range pauses {
		switch {
		case i == 0 && pause > time.Second:
			t.Errorf("the first repetition came after %v, want it at once", pause)
		case i > 0 && pause <= pauses[i-1]:
			t.Errorf("the repetitions came after %v, want each pause longer than the one before", pauses)
		}
	}
	asked := w.onlyOne(id)
	if asked.Kind != approval.KindOutcome {
		t.Errorf("a person is asked about the %s, want the outcome", asked.Kind)
	}
	w.wantState(w.get(id), a2a.TaskStateInputRequired)
	runs.open()
	w.wantState(w.send(w.decision(id, approve(asked.ID))), a2a.TaskStateCompleted)
	if n := runs.count(); n != most+2 {
		t.Errorf("the tool was entered %d times in the end, want %d", n, most+2)
	}
}

// afterPause lets the pause of a call pass, if it has one, with a restart in its
// midst, and returns how long it was. The tool had been entered so often before.
func (w *world) afterPause(t *testing.T, id a2a.TaskID, runs *counted, before int) time.Duration {
	t.Helper()
	if runs.count() != before {
		return 0
	}
	rows := w.dueOf(id)
	if len(rows) != 1 {
		t.Fatalf("the call is not repeated, and %d due rows are there to repeat it, want 1", len(rows))
	}
	pause := time.Until(rows[0].Time.Time())
	time.Sleep(pause / 2)
	w.restart()
	synctest.Wait()
	if runs.count() != before {
		t.Errorf("a restart cut the pause of %v short", pause)
	}
	time.Sleep(pause - pause/2 + 10*time.Millisecond)
	synctest.Wait()
	return pause
}
