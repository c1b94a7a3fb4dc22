package engine_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// audits returns the audit of a task.
func (w *world) audits(id a2a.TaskID) []approval.Audit {
	w.t.Helper()
	var all []approval.Audit
	entries, err := w.store.Audit(w.ctx(), 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		var a approval.Audit
		if err := json.Unmarshal(e.Data, &a); err != nil {
			w.t.Fatal(err)
		}
		if a.Task == string(id) {
			all = append(all, a)
		}
	}
	return all
}

func find(all []approval.Audit, what approval.AuditEvent) *approval.Audit {
	for i := range all {
		if all[i].What == what {
			return &all[i]
		}
	}
	return nil
}

// However long the error of a tool is, it ends that call, and the planner hears of it.
func TestLongErrorOfATool(t *testing.T) {
	for name, n := range map[string]int{"1 MiB": 1 << 20, "3 MiB": 3 << 20, "20 MiB": 20 << 20} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				seen := newWitness()
				w.tools.extra = []tool.Tool{&fake{name: "long", call: func(tool.Context, map[string]any) (map[string]any, error) {
					return nil, errors.New(strings.Repeat("x", n))
				}}}
				w.start(func(cfg *engine.Config) { cfg.Planner = seen })
				id := w.begin(w.calls("long", args{}, "write", args{"amount": 1, "to": "x"}))
				synctest.Wait()
				got := w.ended(id)
				if text := statusText(got); len(text) > 1<<20 {
					t.Errorf("the status has %d bytes, an event may have %d", len(text), 1<<20)
				} else if strings.Contains(text, "store") || strings.Contains(text, "nobody knows") {
					t.Errorf("status %s %.300q", got.Status.State, text)
				}
				if _, ok := seen.result(id, "c1.1"); !ok {
					t.Errorf("the planner never heard of the call; task %s %.300q", got.Status.State, statusText(got))
				}
				for _, a := range w.audits(id) {
					if a.What == approval.AuditFinished {
						t.Logf("finished %s %s %.80s", a.Call, a.Outcome, a.Reason)
					}
				}
			})
		})
	}
}

// Whatever a tool returns late, the audit says that it did.
func TestLateIsAudited(t *testing.T) {
	for name, c := range map[string]struct {
		result map[string]any
		err    error
	}{
		"small":        {result: map[string]any{"x": "y"}},
		"long result":  {result: map[string]any{"x": strings.Repeat("y", 17<<20)}},
		"long error":   {err: errors.New(strings.Repeat("y", 3<<20))},
		"longer error": {err: errors.New(strings.Repeat("y", 17<<20))},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				runs := newCounted()
				t.Cleanup(runs.open)
				w.tools.extra = []tool.Tool{&fake{name: "late", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
					runs.enter(ctx)
					runs.hold()
					return c.result, c.err
				}}}
				w.cfg.Limits = task.Limits{ToolTimeout: time.Minute}
				w.start()
				id := w.begin(w.calls("late", args{}))
				time.Sleep(2 * time.Minute)
				w.onlyOne(id)
				runs.open()
				synctest.Wait()
				if find(w.audits(id), approval.AuditLate) == nil {
					t.Errorf("the tool has returned late, and the audit does not say so")
				}
			})
		})
	}
}

// A late result belongs to the run that gave it, not to the one that somebody has
// allowed since.
func TestLateNamesItsAttempt(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		first, second := make(chan struct{}), make(chan struct{})
		runs := newCounted()
		w.tools.extra = []tool.Tool{&fake{name: "late", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			if runs.enter(ctx) == 1 {
				<-first
				return map[string]any{"run": 1}, nil
			}
			<-second
			return map[string]any{"run": 2}, nil
		}}}
		w.cfg.Limits = task.Limits{ToolTimeout: time.Minute}
		w.start()
		id := w.begin(w.calls("late", args{}))
		time.Sleep(2 * time.Minute)
		if err := w.decide(bob, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Approve}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		close(first)
		synctest.Wait()
		close(second)
		synctest.Wait()
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		if late := find(w.audits(id), approval.AuditLate); late == nil || late.Attempt != 1 {
			t.Errorf("audit of the late result = %+v, want attempt 1", late)
		}
	})
}

// A toolset may fail with as long an error as it likes: the call stays as it is.
func TestLongErrorOfAToolset(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		runs := newCounted()
		set := &away{err: errors.New(strings.Repeat("<html>", 3<<20)), list: []tool.Tool{&fake{name: "pay", gated: true, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			runs.enter(ctx)
			return nil, nil
		}}}}
		w.start(func(cfg *engine.Config) { cfg.Tools = tool.NewRegistry(set) })
		id := w.begin(w.calls("pay", args{}))
		synctest.Wait()
		a := w.onlyOne(id)
		set.is.Store(true)
		err := w.decide(bob, id, approval.Answer{ID: a.ID, Verb: approval.Approve})
		if err != nil {
			t.Errorf("Decide() = %.200v: the decision is refused because the tool cannot be looked up", err)
		}
		time.Sleep(time.Minute)
		set.is.Store(false)
		time.Sleep(time.Hour)
		if n := runs.count(); n != 1 {
			t.Errorf("the approved call was entered %d times, want 1; task %s %.200q", n, w.get(id).Status.State, statusText(w.get(id)))
		}
	})
}
