package engine_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store/memstore"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// away is a toolset that cannot be reached while it is away.
type away struct {
	is   atomic.Bool
	err  error
	list []tool.Tool
}

func (s *away) Name() string { return "away" }
func (s *away) Tools(agent.ReadonlyContext) ([]tool.Tool, error) {
	if s.is.Load() {
		return nil, s.err
	}
	return s.list, nil
}

// timed runs a test in a bubble on memory, where time passes when nothing else can.
func timed(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, unstarted(t, &memDisk{memstore.New()})) })
}

// doubtedRun is an approved call whose tool could not be reached for a day, so that it
// was asked whether to wait on, and which has been entered since and holds.
func doubtedRun(t *testing.T, w *world) (*counted, *witness, a2a.TaskID, approval.Approval) {
	t.Helper()
	runs, seen := newCounted(), newWitness()
	t.Cleanup(runs.open)
	set := &away{err: errors.New("connection refused"), list: []tool.Tool{&fake{name: "pay", gated: true, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
		runs.enter(ctx)
		runs.hold()
		return map[string]any{"paid": true}, nil
	}}}}
	w.cfg.Limits = task.Limits{ToolTimeout: 1000 * time.Hour}
	w.startAs(func(cfg *engine.Config) {
		cfg.Tools = tool.NewRegistry(set)
		cfg.Planner = seen
	})
	id := w.begin(w.calls("pay", args{}))
	synctest.Wait()
	a := w.onlyOne(id)
	set.is.Store(true)
	if err := w.decide(bob, id, approval.Answer{ID: a.ID, Verb: approval.Approve}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(25 * time.Hour)
	doubt := w.onlyOne(id)
	set.is.Store(false)
	time.Sleep(10 * time.Minute)
	if n := runs.count(); n != 1 {
		t.Fatalf("the tool was entered %d times, want 1", n)
	}
	return runs, seen, id, doubt
}

// When the tool has been reached and runs, the question whether to wait for it is over.
func TestDoubtIsClosedWhenTheCallStarts(t *testing.T) {
	timed(t, func(t *testing.T, w *world) {
		_, _, id, doubt := doubtedRun(t, w)
		for _, a := range w.waiting(id) {
			t.Errorf("the call runs, and %s (%s) still asks: %s", a.ID, a.Kind, a.Hint)
		}
		_ = doubt
	})
}

// Whoever answers that question late ends no call that runs.
func TestDoubtAnsweredWhileTheCallRuns(t *testing.T) {
	timed(t, func(t *testing.T, w *world) {
		runs, seen, id, doubt := doubtedRun(t, w)
		err := w.decide(bob, id, approval.Answer{ID: doubt.ID, Verb: approval.Respond, Response: []byte(`"give up"`)})
		t.Logf("give up = %v", err)
		synctest.Wait()
		t.Logf("while the tool still runs: %s %q", w.get(id).Status.State, statusText(w.get(id)))
		if p := w.header(id).Phase; p == 3 {
			t.Errorf("the task is final while its tool runs")
		}
		runs.open()
		synctest.Wait()
		got := w.ended(id)
		r := w.mustResult(seen, id, "c1.1")
		t.Logf("planner was told %s %q", r.Outcome, r.Error)
		if r.Outcome != task.OutcomeOK {
			t.Errorf("the tool has run and returned, and the planner was told %s %q; task %s %q", r.Outcome, r.Error, got.Status.State, statusText(got))
		}
		all, err := w.store.Audit(w.ctx(), 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			t.Logf("audit %s", a.Data)
		}
	})
}

// The same when nobody answers it, and its deadline comes.
func TestDoubtExpiresWhileTheCallRuns(t *testing.T) {
	timed(t, func(t *testing.T, w *world) {
		p, err := approval.NewPolicy(approval.PolicyConfig{Defaults: approval.Terms{Expires: 3 * time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		w.cfg.Policy = p
		runs, seen, id, _ := doubtedRun(t, w)
		time.Sleep(4 * time.Hour)
		runs.open()
		synctest.Wait()
		got := w.ended(id)
		if r := w.mustResult(seen, id, "c1.1"); r.Outcome != task.OutcomeOK {
			t.Errorf("the tool has run and returned, and the planner was told %s %q; task %s %q", r.Outcome, r.Error, got.Status.State, statusText(got))
		}
	})
}
