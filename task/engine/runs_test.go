package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task"
	"a2a-server/tool"
)

// Runs that do not end are counted by tool: one that has too many of them is not
// entered any more, and all others are. When its runs end, it is entered again.
func TestAbandonedRunsAreCountedByTool(t *testing.T) {
	t.Parallel()
	for _, is := range []tool.Annotations{{}, {ReadOnly: true}, {Idempotent: true}} {
		runInMemory(t, fmt.Sprintf("%+v", is), func(t *testing.T, w *world) {
			runs := w.counted()
			w.tools.extra = []tool.Tool{&fake{name: "deaf", is: is, call: runs.holds}}
			const limit = 8
			seen := w.witness()
			w.cfg.Limits = task.Limits{ToolTimeout: 10 * time.Millisecond, ToolGrace: 10 * time.Millisecond, Abandoned: limit}
			w.start()
			for n := range limit {
				w.rest(w.begin(w.calls("deaf", args{})))
				runs.want(t, n+1)
			}
			id := w.send(w.calls("deaf", args{})).ID
			w.wantState(w.get(id), a2a.TaskStateFailed)
			if r := w.mustResult(seen, id, "c1.1"); r.Outcome != task.OutcomeError || !strings.Contains(r.Error, "deaf") {
				t.Errorf("the planner was told %s, %q; want an error that names the tool", r.Outcome, r.Error)
			}
			runs.want(t, limit)
			w.wantState(w.send(w.calls("write", args{"amount": 1, "to": "x"})), a2a.TaskStateCompleted)
			w.wantState(w.send(w.calls("echo", args{})), a2a.TaskStateCompleted)
			runs.open()
			w.until("the tool is entered again", func() bool {
				return w.send(w.calls("deaf", args{})).Status.State == a2a.TaskStateCompleted
			})
		})
	}
}

// A call that does no harm when it is repeated is repeated when the process dies: at
// once, then after a pause, then after a longer one. A pause outlives restarts. After
// the third repetition a person is asked: it may be this very call that kills the
// process. A call that has kept a checkpoint is no exception, whatever it keeps on the way.
func TestRepeatsAfterDeathsAreBounded(t *testing.T) {
	t.Parallel()
	for _, is := range []tool.Annotations{{ReadOnly: true}, {Idempotent: true}, {ReadOnly: true, Idempotent: true}} {
		for _, gated := range []bool{false, true} {
			runOnEachDisk(t, fmt.Sprintf("%+v gated %t", is, gated), func(t *testing.T, w *world) { repeats(t, w, is, gated, false /* keeps */) })
		}
	}
	for _, gated := range []bool{false, true} {
		runOnEachDisk(t, fmt.Sprintf("checkpoints gated %t", gated), func(t *testing.T, w *world) { repeats(t, w, tool.Annotations{}, gated, true /* keeps */) })
	}
}

func repeats(t *testing.T, w *world, is tool.Annotations, gated, keeps bool) {
	const most = 3
	runs := w.counted()
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
	k := w.killer()
	w.cfg.Limits = task.Limits{ToolTimeout: 1000 * time.Hour}
	w.start()
	id := w.begin(w.calls("fatal", args{}))
	if gated {
		w.must(w.decide(alice, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Approve}))
	}
	synctest.Wait()
	runs.want(t, 1)
	var pauses []time.Duration
	for deaths := 1; ; deaths++ {
		if deaths > most+1 {
			t.Fatalf("after %d deaths the call was repeated %d times, want at most %d", deaths-1, runs.count()-1, most)
		}
		before := runs.count()
		k.crash()
		if runs.count() == before && len(w.waiting(id)) > 0 {
			break
		}
		pauses = append(pauses, w.afterPause(t, id, runs, before))
		runs.want(t, before+1)
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
	asked := w.asksOutcome(id)
	w.wantState(w.get(id), a2a.TaskStateInputRequired)
	runs.open()
	w.wantState(w.send(w.decision(id, approve(asked.ID))), a2a.TaskStateCompleted)
	runs.want(t, most+2)
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
	pass(pause - pause/2 + 10*time.Millisecond)
	return pause
}

// Of many who decide one approval at once, each in a way of its own, exactly one
// counts. All others are told that they came late, and what was decided by whom. What
// runs, if anything, is what the one has decided; whether the task rests meanwhile or
// is at work.
func TestOneOfManyDecidersCounts(t *testing.T) {
	t.Parallel()
	for _, atWork := range []bool{false, true} {
		for _, reads := range []bool{false, true} {
			runOnEachDisk(t, fmt.Sprintf("at work %t, reads %t", atWork, reads), func(t *testing.T, w *world) {
				rounds := 12
				if testing.Short() {
					rounds = 3
				}
				w.startTools(&fake{name: "pay", gated: true, is: tool.Annotations{ReadOnly: reads}, call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
					w.tools.ran(ctx, "pay", a)
					return map[string]any{"paid": a}, nil
				}})
				for range rounds {
					w.tools.reset()
					oneCounts(t, w, atWork)
					w.tools.release()
				}
			})
		}
	}
}

// opinion is what one of many decides.
type opinion struct {
	by     auth.Principal
	answer approval.Decision
	amount int // that runs when it counts; 0: nothing
	state  approval.State
	err    error
}

func oneCounts(t *testing.T, w *world, atWork bool) {
	const many = 64
	pairs := []any{"pay", args{"amount": 1000}}
	if atWork {
		pairs = append(pairs, "block", args{})
	}
	id := w.begin(w.calls(pairs...))
	if !atWork {
		w.rest(id)
	}
	question := w.onlyOne(id).ID
	opinions := make([]opinion, many)
	messages := make([]*a2a.Message, many)
	for i := range opinions {
		o := &opinions[i]
		o.by = auth.Principal{Tenant: "acme", Subject: fmt.Sprintf("decider-%d", i), Roles: []string{auth.RoleRequester, auth.RoleApprover}, Method: "test"}
		switch i {
		case 0:
			o.answer, o.amount, o.state = approval.Decision{Type: approval.Approve}, 1000, approval.Approved
		case 1:
			o.answer, o.state = approval.Decision{Type: approval.Reject, Reason: "no"}, approval.Rejected
		case 2:
			o.answer, o.state = approval.Decision{Type: approval.Cancel}, approval.Canceled
		default:
			o.answer, o.amount, o.state = approval.Decision{Type: approval.Edit, Args: fmt.Appendf(nil, `{"amount":%d}`, i)}, i, approval.Edited
		}
		o.answer.ID = question
		if i%2 == 1 { // by a message, which is always the owner's
			d := map[string]any{"id": question, "decision": string(o.answer.Type)}
			if o.answer.Type == approval.Edit {
				d["arguments"] = map[string]any{"amount": i}
			}
			o.by, messages[i] = alice, w.decision(id, d)
		}
	}
	now := make(chan struct{})
	var wg sync.WaitGroup
	for i := range opinions {
		wg.Go(func() {
			o := &opinions[i]
			<-now
			if messages[i] != nil {
				_, o.err = w.sendAs(alice, messages[i])
			} else {
				o.err = w.decide(o.by, id, o.answer)
			}
		})
	}
	close(now)
	wg.Wait()
	var winner *opinion
	for i := range opinions {
		if opinions[i].err != nil {
			continue
		}
		if winner != nil {
			t.Fatalf("both to %s and to %s counted", winner.answer.Type, opinions[i].answer.Type)
		}
		winner = &opinions[i]
	}
	if winner == nil {
		t.Fatalf("nobody's decision counted: %v", opinions[0].err)
	}
	w.tools.release()
	w.rest(id)
	got := w.asked(id)[0]
	if got.State != winner.state || got.Resolution == nil || got.Resolution.Decision != winner.answer.Type || got.Resolution.By.Subject != winner.by.Subject {
		t.Errorf("the approval is %s by %+v, want %s by %s", got.State, got.Resolution, winner.state, winner.by.Subject)
	}
	for i := range opinions {
		o := &opinions[i]
		if o == winner {
			continue
		}
		var said *approval.Error
		switch {
		case !errors.As(o.err, &said) || said.Reason != approval.ReasonConflict:
			t.Errorf("to %s, when to %s had counted, = %v; want a conflict", o.answer.Type, winner.answer.Type, o.err)
		case !strings.Contains(said.Message, string(winner.state)) || !strings.Contains(said.Message, winner.by.Subject):
			t.Errorf("the conflict says %q, want that it was %s by %s", said.Message, winner.state, winner.by.Subject)
		case said.Metadata["by"] != winner.by.Subject || said.Metadata["verb"] != string(winner.answer.Type):
			t.Errorf("the conflict has the metadata %v, want that of a decision to %s by %s", said.Metadata, winner.answer.Type, winner.by.Subject)
		default:
			continue
		}
		break
	}
	w.tools.mu.Lock()
	defer w.tools.mu.Unlock()
	ran, total := 0, 0
	for key, n := range w.tools.runs {
		if strings.HasPrefix(key, string(id)+" c1.1 ") {
			total += n
			if strings.HasSuffix(key, fmt.Sprintf(` pay {"amount":%d}`, winner.amount)) {
				ran += n
			}
		}
	}
	want := min(winner.amount, 1)
	if ran != want || total != want {
		t.Errorf("to %s counted; the call ran %d times, %d times as decided; want %d", winner.answer.Type, total, ran, want)
	}
}
