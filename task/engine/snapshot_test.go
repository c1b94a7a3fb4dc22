package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// A turn lets go of what it has published beyond a bound. What is stored, shown and
// moved on from is the same: the whole, whether it is folded from a snapshot or from
// the first event.
func TestLargeTask(t *testing.T) {
	const n = 20_000 // chunks, 400 KiB in a view
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		got := w.send(w.calls("stream", args{"n": n}, "transfer", args{"amount": 1, "to": "x"}))
		w.wantState(got, a2a.TaskStateInputRequired)
		scope, id := engine.ScopeFor(alice, auth.Read), mustID(got.ID)
		v, err := w.store.Read(w.ctx(), scope, id, store.AtSnapshot(), store.Limit{})
		if err != nil || v.Header.Snapshot < n/4 {
			t.Fatalf("the newest snapshot is of %d events of %d, %v; want one that is of more", v.Header.Snapshot, v.Header.Seq, err)
		}
		w.restart()
		got = w.send(w.decision(got.ID, approve(w.pending(got)[0])))
		w.wantState(got, a2a.TaskStateCompleted)
		if len(got.Artifacts) != 2 || len(got.Artifacts[0].Parts) != n {
			t.Fatalf("the task has %d artifacts, the first with %d parts; want 2, and %d", len(got.Artifacts), len(got.Artifacts[0].Parts), n)
		}
		for i, p := range got.Artifacts[0].Parts {
			if want := fmt.Sprintf("chunk %d;", i); p.Text() != want {
				t.Fatalf("part %d is %q, want %q", i, p.Text(), want)
			}
		}
		if len(got.History) != 4 { // the message, the question at work and at rest, the answer
			t.Errorf("the task has %d messages in its history, want 4", len(got.History))
		}
		if diff := cmp.Diff(got, w.get(got.ID)); diff != "" {
			t.Errorf("the task as it was read later (-at rest +later):\n%s", diff)
		}
	})
}

// A snapshot is a cache: one that cannot be read is as none.
func TestUnreadableSnapshot(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		got := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}))
		id := mustID(got.ID)
		v, err := w.store.Read(w.ctx(), engine.ScopeFor(alice, auth.Read), id, store.AtSnapshot(), store.Limit{})
		w.must(err)
		rev := v.Header.Rev
		_, err = w.store.Append(w.ctx(), &store.Batch{
			Scope: store.System(), Task: id, Rev: &rev, Snapshot: &store.Snapshot{After: v.Header.Seq, Rev: rev, Bytes: []byte("of a program to come")},
		}).Wait()
		w.must(err)
		if v, err = w.store.Read(w.ctx(), engine.ScopeFor(alice, auth.Read), id, store.AtSnapshot(), store.Limit{}); err != nil || v.Snapshot == nil {
			t.Fatalf("the store has no snapshot, %v", err)
		}
		if diff := cmp.Diff(got, w.get(got.ID)); diff != "" {
			t.Errorf("the task as it is read without its snapshot (-before +now):\n%s", diff)
		}
		w.wantState(w.send(w.decision(got.ID, approve(w.pending(got)[0]))), a2a.TaskStateCompleted)
	})
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
		runInMemory(t, name, func(t *testing.T, w *world) {
			var mu sync.Mutex
			var batches, snapshots, eventBytes, snapshotBytes int
			w.wrap = func(h store.Handle) store.Handle {
				return &onAppend{h, func(b *store.Batch) (*store.Batch, error) {
					mu.Lock()
					defer mu.Unlock()
					batches++
					for i := range b.Events {
						eventBytes += len(b.Events[i].Data)
					}
					if b.Snapshot != nil {
						snapshots++
						snapshotBytes += len(b.Snapshot.Bytes) + len(b.Snapshot.Bulk)
					}
					return b, nil
				}}
			}
			w.cfg.Planner = &stepper{n: 120, inline: true, step: func(i int) *task.Step {
				return &task.Step{Output: tc.output(i), Calls: []task.PlannedCall{{Tool: tc.tool, Args: []byte(tc.args)}}}
			}}
			w.start()
			w.wantState(w.ended(w.begin(w.message(a2a.NewTextPart("go")))), a2a.TaskStateCompleted)
			w.stop()
			if batches < 120 || eventBytes < 400<<10 {
				t.Fatalf("the task has %d KiB of events in %d batches, want at least 400 in 120", eventBytes>>10, batches)
			}
			if snapshots == 0 {
				t.Error("there was no snapshot")
			}
			// Those of the fold weigh at most twice the events, as when one was made just
			// now; those of artifacts, which are no more than half of the events, once.
			if snapshotBytes >= 3*eventBytes {
				t.Errorf("%d snapshots of %d KiB for %d KiB of events in %d batches, want less than three times the events",
					snapshots, snapshotBytes>>10, eventBytes>>10, batches)
			}
		})
	}
}
