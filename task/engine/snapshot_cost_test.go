package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
)

// weighed is a store that weighs what it is given.
type weighed struct {
	store.Handle
	mu                        sync.Mutex
	batches, snapshots        int
	eventBytes, snapshotBytes int
}

func (s *weighed) Append(ctx context.Context, b *store.Batch) *store.Commit {
	s.mu.Lock()
	s.batches++
	for i := range b.Events {
		s.eventBytes += len(b.Events[i].Data)
	}
	if b.Snapshot != nil {
		s.snapshots++
		s.snapshotBytes += len(b.Snapshot.Bytes) + len(b.Snapshot.Bulk)
	}
	s.mu.Unlock()
	return s.Handle.Append(ctx, b)
}

// Snapshots never outweigh events, whatever a task consists of, and in however many
// batches it is written.
func TestSnapshotsDoNotOutweighEvents(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 3<<10)
	piece := func(i int) []task.Output {
		return []task.Output{{Artifact: &task.ArtifactPiece{ID: "a", Parts: []*a2a.Part{a2a.NewTextPart(text)}, Append: i > 0}}}
	}
	say := func(int) []task.Output {
		return []task.Output{{Status: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))}}
	}
	none := func(int) []task.Output { return nil }
	for name, tc := range map[string]struct {
		output func(i int) []task.Output
		tool   string
		args   string
	}{
		"artifact": {piece, "write", `{"amount":1,"to":"x"}`},
		"read":     {piece, "echo", `{}`},
		"status":   {say, "write", `{"amount":1,"to":"x"}`},
		"calls":    {none, "write", fmt.Sprintf(`{"amount":1,"to":%q}`, text)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDisk(t, func(t *testing.T, w *world) {
				var scale *weighed
				w.wrap = func(h store.Handle) store.Handle {
					scale = &weighed{Handle: h}
					return scale
				}
				w.cfg.Planner = &stepper{n: 120, inline: true, step: func(i int) *task.Step {
					return &task.Step{Output: tc.output(i), Calls: []task.PlannedCall{{Tool: tc.tool, Args: []byte(tc.args)}}}
				}}
				w.start()
				w.wantState(w.ended(w.begin(w.message(a2a.NewTextPart("go")))), a2a.TaskStateCompleted)
				w.stop()
				if scale.batches < 120 || scale.eventBytes < 400<<10 {
					t.Fatalf("the task has %d KiB of events in %d batches, want at least 400 in 120", scale.eventBytes>>10, scale.batches)
				}
				if scale.snapshots == 0 {
					t.Error("there was no snapshot")
				}
				// Those of the fold weigh at most twice the events, as when one was made just
				// now; those of artifacts, which are no more than half of the events, once.
				if scale.snapshotBytes >= 3*scale.eventBytes {
					t.Errorf("%d snapshots of %d KiB for %d KiB of events in %d batches, want less than three times the events",
						scale.snapshots, scale.snapshotBytes>>10, scale.eventBytes>>10, scale.batches)
				}
			})
		})
	}
}
