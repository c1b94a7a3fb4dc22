package push_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task/engine"
	"a2a-server/task/internal/record"
)

// recorder notes what an engine and a deliverer ask of a store.
type recorder struct {
	store.Handle
	mu             sync.Mutex
	batches, puts  int // puts: rows, due rows, audit entries, events and snapshots
	reads, queries int
	rows           map[string]int
}

func (r *recorder) Append(ctx context.Context, b *store.Batch) *store.Commit {
	r.mu.Lock()
	r.batches++
	r.puts += len(b.Rows) + len(b.Due) + len(b.Audit) + len(b.Events)
	for i := range b.Rows {
		r.rows[b.Rows[i].Kind]++
	}
	r.mu.Unlock()
	return r.Handle.Append(ctx, b)
}

func (r *recorder) Read(ctx context.Context, s store.Scope, id store.TaskID, from store.From, l store.Limit) (store.LogPage, error) {
	r.mu.Lock()
	r.reads++
	r.mu.Unlock()
	return r.Handle.Read(ctx, s, id, from, l)
}

func (r *recorder) Rows(ctx context.Context, s store.Scope, q store.RowQuery) (store.RowPage, error) {
	r.mu.Lock()
	if q.Kind != record.KindPushReady || q.Index == "" { // the deliverer looks there once at its start
		r.queries++
	}
	r.mu.Unlock()
	return r.Handle.Rows(ctx, s, q)
}

func (r *recorder) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%d batches, %d puts, %d reads, %d queries, rows %v", r.batches, r.puts, r.reads, r.queries, r.rows)
}

// A task without webhooks costs exactly what it costs where there are none at all: the same
// batches with the same contents, and no reads more. beforePush are the numbers of this run
// that the version before push notifications had, and the event with the key of the audit, and
// the queries whether the store was restored, and which gates denied when
// its approvals were swept.
func TestTasksWithoutWebhooksPayNothing(t *testing.T) {
	t.Parallel()
	const beforePush = "5 batches, 31 puts, 1 reads, 5 queries, rows map[approval:2 message:2]"
	run := func(enabled bool) string {
		open := newBolt(t).open
		rec := &recorder{rows: map[string]int{}}
		w := &world{t: t, open: func() (store.Handle, error) {
			h, err := open()
			rec.Handle = h
			return rec, err
		}}
		w.prepare = func(c *engine.Config) {
			if !enabled {
				c.Push = nil
			}
		}
		w.start(!enabled)
		w.send("echo", nil)
		sent := must(w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.message("ask", map[string]any{})}))
		a := w.engine.ReserveRead(alice)
		defer a.Release()
		must(a.Await(w.ctx(), sent))
		of := fmt.Sprintf("%s.a1", sent.Task)
		err := w.engine.Approvals().Decide(w.ctx(), alice, approval.Decision{ID: of, Type: approval.Approve})
		if err != nil {
			t.Fatalf("Decide() = %v", err)
		}
		w.until("the task ends", func() bool {
			page, err := rec.Handle.Read(w.ctx(), store.System(), sent.Task, store.After(0), store.Limit{Events: 1})
			return err == nil && page.Header.Phase == store.Final
		})
		w.stop()
		return rec.said()
	}
	for _, enabled := range []bool{false, true} {
		if got := run(enabled); got != beforePush {
			t.Errorf("push notifications enabled: %t: %s, want %s", enabled, got, beforePush)
		}
	}
}
