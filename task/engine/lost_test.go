package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// rotten is a store of which parts cannot be read, or nothing can be written.
type rotten struct {
	store.Handle
	mu      sync.Mutex
	lost    store.TaskID // cannot be read
	reads   int          // of the lost one
	due     error        // what Due returns, if it is not nil
	claim   error        // likewise
	claims  int          // that have failed
	writes  error        // likewise of all batches
	refused int          // batches
}

func (r *rotten) set(change func(*rotten)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

func (r *rotten) Read(ctx context.Context, s store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.LogPage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id == r.lost {
		r.reads++
		return store.LogPage{}, store.ErrDataLoss
	}
	return r.Handle.Read(ctx, s, id, from, limit)
}

func (r *rotten) Due(ctx context.Context, now store.Millis, after store.DuePosition, limit int) ([]store.Due, store.Millis, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.due != nil {
		return nil, 0, r.due
	}
	return r.Handle.Due(ctx, now, after, limit)
}

func (r *rotten) Claim(ctx context.Context, limit int) ([]store.Header, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.claim != nil {
		r.claims++
		return nil, r.claim
	}
	return r.Handle.Claim(ctx, limit)
}

func (r *rotten) Append(ctx context.Context, b *store.Batch) *store.Commit {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writes != nil {
		r.refused++
		c := store.NewCommit()
		c.Answer(store.Receipt{}, r.writes)
		return c
	}
	return r.Handle.Append(ctx, b)
}

// onRotten runs a test in a bubble, on a store that is sound at first.
func onRotten(t *testing.T, test func(t *testing.T, w *world, r *rotten)) {
	inMemory(t, func(t *testing.T, w *world) {
		r := &rotten{}
		w.wrap = func(h store.Handle) store.Handle {
			r.set(func(r *rotten) { r.Handle = h })
			return r
		}
		w.start()
		test(t, w, r)
	})
}

// A task that cannot be read is in lists all the same, with what its header says, and
// hides no other; whoever asks for it is told.
func TestLostTaskIsListed(t *testing.T) {
	onRotten(t, func(t *testing.T, w *world, r *rotten) {
		first, second := w.send(w.calls("echo", args{"text": "a"})), w.send(w.calls("echo", args{"text": "b"}))
		w.restart() // what is cached of them is gone
		id, _ := store.ParseTaskID(string(first.ID))
		r.set(func(r *rotten) { r.lost = id })
		answer := w.engine.ReserveRead(alice)
		defer answer.Release()
		list, err := answer.List(w.ctx(), engine.Query{Artifacts: true})
		if err != nil || len(list.Tasks) != 2 || list.Total != 2 {
			t.Fatalf("List() = %v, %v, want both tasks", list, err)
		}
		for _, v := range list.Tasks {
			got := w.task(v)
			damaged, _ := got.Metadata[task.Damaged].(bool)
			if damaged != (got.ID == first.ID) || got.Status.State != a2a.TaskStateCompleted || got.Status.Timestamp == nil || !damaged && got.ID != second.ID {
				t.Errorf("List() has %+v, damaged %t", got, damaged)
			}
		}
		if _, err := answer.Get(w.ctx(), string(first.ID)); !errors.Is(err, store.ErrDataLoss) {
			t.Errorf("Get() = %v, want ErrDataLoss", err)
		}
		m := w.reply(first.ID, a2a.NewTextPart("more"))
		if _, err := w.sendAs(alice, m); !errors.Is(err, store.ErrDataLoss) {
			t.Errorf("Send() = %v, want ErrDataLoss", err)
		}
	})
}

// A task that cannot be read is not recovered, and not tried again forever.
func TestLostTaskStandsStill(t *testing.T) {
	onRotten(t, func(t *testing.T, w *world, r *rotten) {
		id := w.begin(w.calls("block", args{}))
		parsed, _ := store.ParseTaskID(string(id))
		w.stop()
		r.set(func(r *rotten) { r.lost, r.reads = parsed, 0 })
		w.start()
		pass(24 * time.Hour)
		r.set(func(r *rotten) {
			if r.reads != 1 {
				t.Errorf("it was read %d times in a day, want once", r.reads)
			}
		})
		w.wantState(w.send(w.calls("echo", args{"text": "a"})), a2a.TaskStateCompleted)
		r.set(func(r *rotten) { r.lost = store.TaskID{} })
	})
}

// Deadlines and timers that cannot be read for a while are late, and the engine continues.
func TestDueWorkThatCannotBeRead(t *testing.T) {
	for name, why := range map[string]error{"not now": store.ErrUnavailable, "damaged": store.ErrDataLoss} {
		t.Run(name, func(t *testing.T) {
			onRotten(t, func(t *testing.T, w *world, r *rotten) {
				s, runs := sleeper(time.Minute, 0)
				w.stop()
				w.startWith(&outlet{tools: []tool.Tool{s}}, callsOf("sleeper", `{}`))
				id := w.begun(alice, w.message(a2a.NewTextPart("go")))
				r.set(func(r *rotten) { r.due = why })
				pass(time.Hour)
				runs.want(t, 1)
				r.set(func(r *rotten) { r.due = nil })
				time.Sleep(2 * time.Minute)
				w.wantState(w.ended(id), a2a.TaskStateCompleted)
			})
		})
	}
}

// A disk that is full when the process starts keeps nothing from being recovered, later;
// a store that takes nothing more keeps nothing from being served.
func TestRecoveryThatIsRefused(t *testing.T) {
	t.Run("for now", func(t *testing.T) {
		onRotten(t, func(t *testing.T, w *world, r *rotten) {
			id := w.begin(w.calls("block", args{}))
			w.stop()
			r.set(func(r *rotten) { r.claim = store.ErrUnavailable })
			w.start()
			time.Sleep(time.Hour)
			r.set(func(r *rotten) { r.claim = nil })
			pass(2 * time.Minute)
			w.wantState(w.get(id), a2a.TaskStateInputRequired)
		})
	})
	t.Run("for good", func(t *testing.T) {
		onRotten(t, func(t *testing.T, w *world, r *rotten) {
			id := w.begin(w.calls("block", args{}))
			w.stop()
			r.set(func(r *rotten) { r.claim, r.writes = store.ErrDataLoss, store.ErrDataLoss })
			w.start()
			time.Sleep(time.Hour)
			r.set(func(r *rotten) {
				if r.claims != 1 {
					t.Errorf("it was tried %d times, want once", r.claims)
				}
			})
			w.wantState(w.get(id), a2a.TaskStateWorking)
			if _, err := w.sendAs(alice, w.calls("echo", args{"text": "a"})); !errors.Is(err, store.ErrDataLoss) {
				t.Errorf("Send() = %v, want ErrDataLoss", err)
			}
		})
	})
}

// A turn whose store takes nothing more ends, and whoever waits for its task is told.
func TestTurnThatCannotBeWritten(t *testing.T) {
	onRotten(t, func(t *testing.T, w *world, r *rotten) {
		sent := w.sent(w.calls("block", args{}))
		waited := make(chan error, 1)
		go func() {
			answer := w.engine.ReserveRead(alice)
			defer answer.Release()
			_, err := answer.Await(w.ctx(), sent)
			waited <- err
		}()
		synctest.Wait()
		r.set(func(r *rotten) { r.writes = store.ErrDataLoss })
		w.tools.release()
		synctest.Wait()
		select {
		case err := <-waited:
			recorded, ok := errors.AsType[*engine.RecordedError](err)
			if !errors.Is(err, store.ErrDataLoss) || !ok || !strings.Contains(err.Error(), "started, and their results are unknown: block (c1.1)") {
				t.Errorf("Await() = %v (%+v), want ErrDataLoss, that the message was recorded and what was started", err, recorded)
			}
		default:
			t.Error("who waits for the task is not told that it stands still")
		}
		w.wantState(w.get(a2a.TaskID(sent.Task.String())), a2a.TaskStateWorking)
	})
}
