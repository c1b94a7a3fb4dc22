package engine_test

import (
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// A suspended call whose tool cannot be reached is tried by its own timer, not whenever
// another task has something due.
func TestPostponedCallIsNotWokenByOthers(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		set := &away{err: errors.New("connection refused"), list: []tool.Tool{&fake{name: "job", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			if _, ok := tool.Resumed(ctx); ok {
				return map[string]any{}, nil
			}
			return nil, &tool.Suspension{Wake: time.Now().Add(time.Hour)}
		}}}}
		nap := &fake{name: "nap", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			return nil, &tool.Suspension{Wake: time.Now().Add(1000 * time.Hour)}
		}}
		w.start(func(c *engine.Config) { c.Tools = tool.NewRegistry(tool.NewToolset("x", nap), set) })
		id := w.begin(w.calls("job", args{}))
		synctest.Wait()
		set.is.Store(true)
		time.Sleep(4 * time.Hour)
		before := w.header(id)
		for range 50 {
			w.begin(w.calls("nap", args{}))
			synctest.Wait()
		}
		after := w.header(id)
		if n := after.Rev - before.Rev; n > 2 {
			t.Errorf("at one moment 50 other tasks put due work, and the task was written %d times (fence +%d, events +%d)", n, after.Fence-before.Fence, after.Seq-before.Seq)
		}
	})
}

// To wait for a tool does not fill the log: when it comes back, the call runs.
func TestWaitingFillsTheLog(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		runs := newCounted()
		set := &away{err: errors.New("502 Bad Gateway: " + strings.Repeat("<html>", 700)), list: []tool.Tool{&fake{name: "pay", gated: true, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			runs.enter(ctx)
			return map[string]any{}, nil
		}}}}
		w.cfg.Limits = task.Limits{Task: 2 << 20}
		all := w.tools.all()
		w.start(func(c *engine.Config) { c.Tools = tool.NewRegistry(tool.NewToolset("x", all...), set) })
		id := w.begin(w.calls("pay", args{}))
		synctest.Wait()
		a := w.onlyOne(id)
		set.is.Store(true)
		if err := w.decide(bob, id, approval.Answer{ID: a.ID, Verb: approval.Approve}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(36 * time.Hour)
		t.Logf("log of %d KiB, of at most %d", w.header(id).Bytes>>10, 2<<10)
		set.is.Store(false)
		time.Sleep(time.Hour)
		if n := runs.count(); n != 1 {
			t.Errorf("the approved call was entered %d times, want 1: %.300q", n, statusText(w.get(id)))
		}
	})
}

// What the defaults of the policy say of everybody's approvals holds for the question
// what came of a call that needed none.
func TestDefaultsOfOutcomeQuestion(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		p, err := approval.NewPolicy(approval.PolicyConfig{Defaults: approval.Terms{FourEyes: true}})
		if err != nil {
			t.Fatal(err)
		}
		w.cfg.Policy = p
		runs := newCounted()
		t.Cleanup(runs.open)
		w.tools.extra = []tool.Tool{&fake{name: "late", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			runs.enter(ctx)
			runs.hold()
			return map[string]any{}, nil
		}}}
		w.cfg.Limits = task.Limits{ToolTimeout: time.Minute}
		w.start()
		id := w.begin(w.calls("late", args{}))
		time.Sleep(2 * time.Minute)
		a := w.onlyOne(id)
		if !a.Terms.FourEyes {
			t.Errorf("every approval wants four eyes, and the question of the %s has the terms %+v", a.Kind, a.Terms)
		}
		if err := w.decide(alice, id, approval.Answer{ID: a.ID, Verb: approval.Approve}); err == nil {
			synctest.Wait()
			t.Errorf("who asked for the call has decided that it runs again; it was entered %d times", runs.count())
		}
	})
}

// A chunk of nothing makes no task that cannot be read.
func TestChunkOfNothing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.tools.extra = []tool.Tool{&streamer{fake: fake{name: "pieces"}, stream: func(tool.Context, map[string]any) iter.Seq2[*tool.Result, error] {
			return func(yield func(*tool.Result, error) bool) {
				_ = yield(&tool.Result{Streaming: true}, nil) && yield(&tool.Result{Content: "done"}, nil)
			}
		}}}
		w.start()
		id := w.begin(w.calls("pieces", args{}))
		synctest.Wait()
		w.readable(id)
	})
}

// A rejection of a call that has something running elsewhere leaves that to nobody.
func TestRejectedSuspendedCallHasItsChildCanceled(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var gated atomic.Bool
		g := &childGate{argGate: argGate{fake: fake{name: "remote"}, gate: gated.Load}}
		g.call = func(tool.Context, map[string]any) (map[string]any, error) {
			return nil, &tool.Suspension{Wake: time.Now().Add(time.Hour), State: []byte(`"remote task 7"`)}
		}
		w.tools.extra = []tool.Tool{g}
		w.start()
		id := w.begin(w.calls("remote", args{}))
		synctest.Wait()
		gated.Store(true)
		time.Sleep(2 * time.Hour)
		if err := w.decide(bob, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Reject}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if g.told.Load() == 0 {
			t.Errorf("the call has ended (%s), and nobody has told what it runs elsewhere", w.get(id).Status.State)
		}
	})
}

type childGate struct {
	argGate
	told atomic.Int32
}

func (c *childGate) StopJob(tool.Context, json.RawMessage) error {
	c.told.Add(1)
	return nil
}

var _ a2a.TaskID
