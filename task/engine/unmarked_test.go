package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// unmarking is a store as an earlier server used it: nothing in it is bulk.
type unmarking struct{ store.Handle }

func (s *unmarking) Append(ctx context.Context, b *store.Batch) *store.Commit {
	old := *b
	old.Snapshot, old.Events = nil, slices.Clone(b.Events)
	for i := range old.Events {
		old.Events[i].Bulk = false
	}
	return s.Handle.Append(ctx, &old)
}

// A task that an earlier server began keeps its artifacts when this one continues with it:
// no snapshot is made without them.
func TestArtifactsOfAnEarlierServer(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		w.cfg.Planner = &stepper{n: 5, inline: true, step: func(i int) *task.Step {
			if i%2 == 0 {
				return &task.Step{Calls: []task.PlannedCall{{Tool: "pour", Args: json.RawMessage(`{"n":10,"size":61440}`)}}}
			}
			return &task.Step{Calls: []task.PlannedCall{{Tool: "transfer", Args: json.RawMessage(`{"amount":1,"to":"x"}`)}}}
		}}
		w.tools.extra = []tool.Tool{pours(false /* holds */)}
		w.wrap = func(h store.Handle) store.Handle { return &unmarking{h} }
		w.start()
		id := w.begin(w.message(a2a.NewTextPart("go")))
		rested := func() {
			t.Helper()
			if !w.rested(id) {
				t.Fatal("the task does not come to rest")
			}
		}
		rested()
		w.wrap = nil
		w.restart()
		for range 2 {
			if err := w.decide(bob, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Approve}); err != nil {
				t.Fatal(err)
			}
			rested()
			w.restart()
		}
		got := w.get(id)
		w.wantState(got, a2a.TaskStateCompleted)
		parts := 0
		for _, a := range got.Artifacts {
			parts += len(a.Parts)
		}
		if parts < 30 {
			t.Errorf("%d artifacts with %d parts, want those of all three streams", len(got.Artifacts), parts)
		}
		list, err := w.engine.List(w.ctx(), alice, engine.Query{Artifacts: true})
		if err != nil || len(list.Tasks) != 1 || len(w.task(list.Tasks[0]).Artifacts) != len(got.Artifacts) {
			t.Errorf("List() = %v, want the task with its artifacts", err)
		}
		if h := w.header(id); h.Snapshot == 0 || h.BulkSnapshot == 0 {
			t.Errorf("snapshots are up to %d and %d, want some of both", h.Snapshot, h.BulkSnapshot)
		}
	})
}
