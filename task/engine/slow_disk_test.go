package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/tool"
)

// slowDisk is a store that, while it is held, commits a batch only when it is told to.
type slowDisk struct {
	store.Handle
	mu    sync.Mutex
	held  bool
	queue []*heldBatch // oldest first
}

type heldBatch struct {
	ctx    context.Context //nolint:containedctx // of a queued call
	batch  *store.Batch
	commit *store.Commit
}

func (d *slowDisk) Append(ctx context.Context, b *store.Batch) *store.Commit {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.held {
		return d.Handle.Append(ctx, b)
	}
	q := &heldBatch{ctx: ctx, batch: b, commit: store.NewCommit()}
	d.queue = append(d.queue, q)
	return q.commit
}

func (d *slowDisk) hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = true
}

// waiting returns how many batches wait.
func (d *slowDisk) waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.queue)
}

// let commits the batch at a place of the queue.
func (d *slowDisk) let(i int) {
	d.mu.Lock()
	q := d.queue[i]
	d.queue = append(d.queue[:i:i], d.queue[i+1:]...)
	d.mu.Unlock()
	r, err := d.Handle.Append(q.ctx, q.batch).Wait()
	q.commit.Answer(r, err)
}

// drain commits all that waits, and what comes of it, once nothing else can happen.
func (d *slowDisk) drain() {
	for synctest.Wait(); d.waiting() > 0; synctest.Wait() {
		d.let(0)
	}
}

// release commits all that waits, and holds nothing any more.
func (d *slowDisk) release() {
	for d.waiting() > 0 {
		d.let(0)
	}
	d.mu.Lock()
	d.held = false
	d.mu.Unlock()
}

// onSlowDisk runs a test in a bubble, on a slow disk that is not held yet.
func onSlowDisk(t *testing.T, test func(t *testing.T, w *world, d *slowDisk)) {
	t.Helper()
	inMemory(t, func(t *testing.T, w *world) {
		d := &slowDisk{}
		w.wrap = func(h store.Handle) store.Handle {
			d.Handle = h
			return d
		}
		t.Cleanup(d.release)
		test(t, w, d)
	})
}

// A tool is entered when its start is in the log of the disk, and not before: for a new
// task, after an approval, beside a sibling that runs, and in a later step.
func TestToolIsEnteredAfterItsStartIsDurable(t *testing.T) {
	t.Parallel()
	approve := func(w *world, id a2a.TaskID) {
		if err := w.decide(alice, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Approve}); err != nil {
			w.t.Error(err)
		}
	}
	for name, play := range map[string]struct {
		begin []any // calls of a task that is there before
		goOn  func(w *world, id a2a.TaskID)
	}{
		"a new task":       {nil, func(w *world, _ a2a.TaskID) { w.begin(w.calls("pay", args{"n": 1})) }},
		"an approved call": {[]any{"gated", args{"n": 1}}, approve},
		"beside a sibling": {[]any{"block", args{}, "gated", args{"n": 1}}, approve},
		"a later step":     {[]any{"block", args{}}, func(w *world, _ a2a.TaskID) { w.tools.release() }},
	} {
		t.Run(name, func(t *testing.T) {
			onSlowDisk(t, func(t *testing.T, w *world, d *slowDisk) {
				entered, early := 0, 0
				call := func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
					entered++
					if !d.started(ctx.TaskID(), ctx.FunctionCallID()) {
						early++
					}
					return map[string]any{"ok": true}, nil
				}
				w.tools.extra = []tool.Tool{&fake{name: "pay", call: call}, &fake{name: "gated", gated: true, call: call}}
				if name == "a later step" {
					w.cfg.Planner = &stepper{n: 2, inline: true, step: func(i int) *task.Step {
						return &task.Step{Calls: []task.PlannedCall{{Tool: []string{"block", "pay"}[i]}}}
					}}
				}
				w.start()
				id := a2a.TaskID("")
				if play.begin != nil {
					id = w.begin(w.calls(play.begin...))
				}
				synctest.Wait()
				d.hold()
				go play.goOn(w, id)
				d.drain()
				if entered != 1 || early > 0 {
					t.Errorf("the tool was entered %d times, %d times before its start was durable", entered, early)
				}
			})
		})
	}
}

// started reports whether the disk has the start of a call.
func (d *slowDisk) started(id, call string) bool {
	v, err := d.Read(context.Background(), store.System(), mustID(a2a.TaskID(id)), store.After(0), store.Limit{})
	if err != nil {
		return false
	}
	for _, e := range v.Events {
		var s struct{ Call string }
		if e.Kind == "call.started.v1" && json.Unmarshal(e.Data, &s) == nil && s.Call == call {
			return true
		}
	}
	return false
}

// A tool that streams runs ahead of the disk by a window, and waits for it then. What it
// has handed over is shown when the disk has it.
func TestToolIsAheadOfTheDiskByAWindow(t *testing.T) {
	onSlowDisk(t, func(t *testing.T, w *world, d *slowDisk) {
		const chunk, window, all = 1000, 20_000, 500
		handed := 0
		w.cfg.Limits = task.Limits{Window: window}
		w.startTools(&streamer{fake: fake{name: "pour"}, stream: func(_ tool.Context, _ map[string]any, yield func(*tool.Result, error) bool) {
			d.hold()
			for range all {
				if !yield(piece(strings.Repeat("x", chunk)), nil) {
					return
				}
				handed++
			}
		}})
		id := w.begun(alice, w.calls("pour", args{}))
		if most := (window/chunk + 1) * 4; handed == 0 || handed > most {
			t.Errorf("the tool has handed over %d chunks to a disk that takes none, want at most %d", handed, most)
		}
		if got := w.get(id); len(got.Artifacts) > 0 {
			t.Errorf("%d chunks are shown that the disk does not have", len(got.Artifacts[0].Parts))
		}
		d.drain()
		got := w.ended(id)
		if w.wantState(got, a2a.TaskStateCompleted); len(got.Artifacts[0].Parts) != all {
			t.Errorf("the artifact has %d parts, want %d", len(got.Artifacts[0].Parts), all)
		}
	})
}

// A turn that waits for the disk before it reads its task back keeps no other turn from
// reading its own.
func TestReadingBackWaitsForNoOtherTask(t *testing.T) {
	onSlowDisk(t, func(t *testing.T, w *world, d *slowDisk) {
		gates := map[string]chan struct{}{"first": make(chan struct{}), "second": make(chan struct{})}
		w.startTools(&streamer{fake: fake{name: "pour"}, stream: func(_ tool.Context, a map[string]any, yield func(*tool.Result, error) bool) {
			for range 100 {
				yield(piece(strings.Repeat("x", 10_000)), nil)
			}
			for range gates[fmt.Sprint(a["gate"])] {
				yield(piece("piece"), nil)
			}
		}})
		first, second := w.begin(w.calls("pour", args{"gate": "first"})), w.begun(alice, w.calls("pour", args{"gate": "second"}))
		d.hold()
		gates["first"] <- struct{}{}
		synctest.Wait()
		close(gates["first"])
		synctest.Wait()
		if n := d.waiting(); n != 1 {
			t.Errorf("%d batches wait, want that of the piece: the first task cannot be read back before it", n)
		}
		close(gates["second"])
		synctest.Wait()
		if n := d.waiting(); n != 2 {
			t.Errorf("%d batches wait, want the result of the second task, too", n)
		}
		d.drain()
		for _, id := range []a2a.TaskID{first, second} {
			w.wantState(w.get(id), a2a.TaskStateCompleted)
		}
	})
}
