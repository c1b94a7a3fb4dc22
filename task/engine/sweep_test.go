package engine_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// denying has a policy that denies transfers.
func denying(t *testing.T) func(*engine.Config) {
	t.Helper()
	p, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{{Name: "frozen", Tool: "transfer", Action: approval.ActionDeny}}})
	if err != nil {
		t.Fatal(err)
	}
	return func(cfg *engine.Config) { cfg.Policy = p }
}

// A crash before any write of a sweep leaves no approval half ended, and the next process ends those that are
// left, under the same number. A start with the same gates that deny sweeps nothing.
func TestSweepAcrossCrashes(t *testing.T) {
	t.Parallel()
	for writes := range 5 { // the sweep, two approvals, that the sweep has ended; none fails
		runOnEachDisk(t, fmt.Sprintf("after %d writes", writes), func(t *testing.T, w *world) {
			k := w.killer()
			w.start()
			tasks := []a2a.TaskID{w.ask(alice, 1), w.ask(alice, 2)}
			w.stop()
			left := writes
			w.wrap = func(h store.Handle) store.Handle {
				return &onAppend{Handle: k.wrap(h), do: func(b *store.Batch) (*store.Batch, error) {
					if left--; left < 0 {
						return nil, errDead
					}
					return b, nil
				}}
			}
			w.restart(denying(t))
			synctest.Wait()
			w.wrap = k.wrap
			w.restart(denying(t))
			synctest.Wait()
			for _, id := range tasks {
				if got := w.get(id); got.Status.State != a2a.TaskStateFailed {
					t.Errorf("after a crash the task is %s", got.Status.State)
				}
			}
			if all := w.inbox(alice, 10); len(all) != 0 {
				t.Errorf("pending: %+v", all)
			}
			w.restart(denying(t))
			synctest.Wait()
			sweeps, ended := w.entries(approval.AuditSweep), w.entries(approval.AuditResolved)
			if len(sweeps) != 1 || len(ended) != 2 {
				t.Errorf("the audit has %d sweeps and %d ended approvals, want 1 and 2", len(sweeps), len(ended))
			}
		})
	}
}

// A sweep under rules that a reload has replaced ends nothing more: the later reload counts.
func TestLaterReloadSweeps(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		tools := tool.NewRegistry(tool.NewToolset("test", w.tools.all()...))
		id := w.ask(alice, 1)
		cfg := engine.Config{}
		denying(t)(&cfg)
		allows, err := approval.NewPolicy(approval.PolicyConfig{})
		w.must(err)
		for range 3 {
			w.engine.Reload(tools, cfg.Policy, nil)
			w.engine.Reload(tools, allows, nil)
		}
		synctest.Wait()
		if got := w.get(id); got.Status.State != a2a.TaskStateInputRequired {
			t.Errorf("the task is %s, though the later policy denies nothing", got.Status.State)
		}
		w.engine.Reload(tools, allows, nil)
		w.engine.Reload(tools, cfg.Policy, nil)
		synctest.Wait()
		if got := w.get(id); got.Status.State != a2a.TaskStateFailed {
			t.Errorf("the task is %s, though the later policy denies its call", got.Status.State)
		}
	})
}
