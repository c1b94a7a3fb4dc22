package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// answered sends a text and returns what came of it.
func (w *world) answered(id a2a.TaskID, text string) (*a2a.Task, error) {
	m := w.message(a2a.NewTextPart(text))
	m.TaskID = id
	_, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: m})
	synctest.Wait()
	return w.get(id), err
}

// Whoever says yes means what was shown. When that is asked again because of this very
// message, nobody has been shown the new question.
func TestTextReachesWhatWasShownToolChanged(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		runs := newCounted()
		call := func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			runs.enter(ctx)
			return map[string]any{}, nil
		}
		set := &away{list: []tool.Tool{&fake{name: "pay", gated: true, call: call}}}
		w.start(func(c *engine.Config) { c.Tools = tool.NewRegistry(set) })
		id := w.begin(w.calls("pay", args{}))
		synctest.Wait()
		shown := w.onlyOne(id)
		set.list = []tool.Tool{&fake{name: "pay", gated: true, schema: map[string]any{"type": "object", "description": "pays everybody, twice"}, call: call}}
		got, err := w.answered(id, "yes")
		if n := runs.count(); n != 0 {
			t.Errorf("yes = %v; %s was shown, %s was approved, which nobody has seen, and ran; task %s", err, shown.ID, w.asked(id)[1].ID, got.Status.State)
		}
	})
}

// The same when what was shown is overdue, and the planner continues to another call.
func TestTextReachesWhatWasShownOverdue(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		p, err := approval.NewPolicy(approval.PolicyConfig{Defaults: approval.Terms{Expires: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		w.cfg.Policy = p
		runs := newCounted()
		w.tools.extra = []tool.Tool{
			&fake{name: "small", gated: true, call: func(tool.Context, map[string]any) (map[string]any, error) { return map[string]any{}, nil }},
			&fake{name: "large", gated: true, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				runs.enter(ctx)
				return map[string]any{}, nil
			}},
		}
		var ahead atomic.Int64
		w.start(func(c *engine.Config) {
			c.Planner = sequence{"small", "large"}
			c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		})
		id := w.begin(w.calls())
		synctest.Wait()
		if a := w.onlyOne(id); a.Tool != "small" {
			t.Fatalf("asked about %s", a.Tool)
		}
		ahead.Store(int64(time.Hour)) // the deadline has come, its row is not done yet
		got, err := w.answered(id, "yes")
		if n := runs.count(); n != 0 {
			t.Errorf("yes = %v: small was shown, large was approved and ran; task %s", err, got.Status.State)
		}
		for _, a := range w.asked(id) {
			t.Logf("%s %s %s", a.ID, a.Tool, a.State)
		}
	})
}

// early lets somebody else write just before the first batch with a message.
type early struct {
	store.Handle
	first *atomic.Pointer[func()]
}

func (e *early) Append(ctx context.Context, b *store.Batch) *store.Commit {
	if len(b.Events) > 0 && b.Events[0].Kind == "message.received.v1" {
		if f := e.first.Swap(nil); f != nil {
			(*f)()
		}
	}
	return e.Handle.Append(ctx, b)
}

// The same when somebody else has decided what was shown, between the look at the task
// and the batch: what the text means is not looked up again in what has come since.
func TestTextReachesWhatWasShownConflict(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		runs := newCounted()
		w.tools.extra = []tool.Tool{
			&fake{name: "small", gated: true, call: func(tool.Context, map[string]any) (map[string]any, error) { return map[string]any{}, nil }},
			&fake{name: "large", gated: true, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				runs.enter(ctx)
				return map[string]any{}, nil
			}},
		}
		var first atomic.Pointer[func()]
		w.wrap = func(h store.Handle) store.Handle { return &early{h, &first} }
		w.start(func(c *engine.Config) { c.Planner = sequence{"small", "large"} })
		id := w.begin(w.calls())
		synctest.Wait()
		a := w.onlyOne(id)
		decided := func() {
			if err := w.decide(bob, id, approval.Answer{ID: a.ID, Verb: approval.Reject}); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		first.Store(&decided)
		got, err := w.answered(id, "yes")
		t.Logf("%v %s %q", err, got.Status.State, statusText(got))
		if first.Load() != nil {
			t.Fatal("nobody has written before")
		}
		if n := runs.count(); n != 0 {
			t.Errorf("yes = %v: %s was meant, which bob has rejected meanwhile; large was approved and ran", err, a.Tool)
		}
	})
}

var _ task.Limits
