package engine_test

import (
	"fmt"
	"iter"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/store/memstore"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// A turn lets go of what it has published beyond a bound. What is stored, shown and
// moved on from is the same: the whole, whether it is folded from a snapshot or from
// the first event.
func TestLargeTask(t *testing.T) {
	t.Parallel()
	const n = 20_000 // chunks, 400 KiB in a view
	onEach(t, func(t *testing.T, w *world) {
		got := w.send(w.calls("stream", args{"n": n}, "transfer", args{"amount": 1, "to": "x"}))
		w.wantState(got, a2a.TaskStateInputRequired)
		scope, id := engine.ScopeFor(alice, auth.Read), mustID(got.ID)
		v, err := w.store.Read(w.ctx(), scope, id, store.AtSnapshot(), store.Limit{})
		if err != nil || v.Header.Snapshot < n/4 {
			t.Fatalf("the newest snapshot is of %d events of %d, %v; want one that is of more", v.Header.Snapshot, v.Header.Seq, err)
		}
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

// What a stream contains does not depend on whether its last chunk was out before
// its tool returned.
func TestStreamIsClosed(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{true, false} {
		out := make(chan struct{})
		w := &world{t: t, disk: &memDisk{memstore.New()}, tools: newToolbox()}
		slow := &streamer{fake: fake{name: "slow"}}
		slow.stream = func(tool.Context, map[string]any) iter.Seq2[*tool.Result, error] {
			return func(yield func(*tool.Result, error) bool) {
				if yield(&tool.Result{Content: "one", Streaming: true}, nil) && yield(&tool.Result{Content: "two", Streaming: true}, nil) && early {
					<-out
				}
			}
		}
		w.tools.extra = []tool.Tool{slow}
		w.start()
		t.Cleanup(func() { w.stop() })
		sent, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.calls("slow", args{})})
		if err != nil {
			t.Fatal(err)
		}
		if early {
			w.until("both chunks are out", func() bool {
				a := w.get(a2a.TaskID(sent.Task.String())).Artifacts
				return len(a) == 1 && len(a[0].Parts) == 2
			})
			close(out)
		}
		got := w.await(sent)
		w.wantState(got, a2a.TaskStateCompleted)
		if n := len(got.Artifacts[0].Parts); n != 2 {
			t.Errorf("last chunk out early: %t: the artifact has %d parts, want 2", early, n)
		}
	}
}

// A snapshot is a cache: one that cannot be read is as none.
func TestUnreadableSnapshot(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		got := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}))
		id := mustID(got.ID)
		v, err := w.store.Read(w.ctx(), engine.ScopeFor(alice, auth.Read), id, store.AtSnapshot(), store.Limit{})
		if err != nil {
			t.Fatal(err)
		}
		rev := v.Header.Rev
		_, err = w.store.Append(w.ctx(), &store.Batch{
			Scope: store.System(), Task: id, Rev: &rev, Snapshot: &store.Snapshot{After: v.Header.Seq, Rev: rev, Bytes: []byte("of a program to come")},
		}).Wait()
		if err != nil {
			t.Fatal(err)
		}
		if v, err = w.store.Read(w.ctx(), engine.ScopeFor(alice, auth.Read), id, store.AtSnapshot(), store.Limit{}); err != nil || v.Snapshot == nil {
			t.Fatalf("the store has no snapshot, %v", err)
		}
		if diff := cmp.Diff(got, w.get(got.ID)); diff != "" {
			t.Errorf("the task as it is read without its snapshot (-before +now):\n%s", diff)
		}
		w.wantState(w.send(w.decision(got.ID, approve(w.pending(got)[0]))), a2a.TaskStateCompleted)
	})
}

// A turn that has left lets go of the engine's context: one that is held there for
// each task of a process is a leak.
func TestTurnIsLetGo(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		for _, name := range []string{"write", "echo", "transfer"} {
			sent, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.calls(name, args{"amount": 1, "to": "x"})})
			if err != nil {
				t.Fatal(err)
			}
			w.await(sent)
			if !sent.Ended(w.ctx()) {
				t.Errorf("the turn of %s has left, and its context has not ended", name)
			}
		}
	})
}
