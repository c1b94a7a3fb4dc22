package engine_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// Whatever is done with a webhook, the one that is set next has a number that none of the
// task had before.
func TestWebhooksAreNeverTheSame(t *testing.T) {
	t.Parallel()
	w, counted := pushWorld(t)
	id := w.parkedTask()
	newest := uint64(0)
	for range 3 {
		for _, name := range []string{"a", "b", "a", "a"} {
			if _, err := w.engine.SetPush(w.ctx(), alice, id, webhook(name)); err != nil {
				t.Fatalf("SetPush() = %v", err)
			}
			page, err := counted.Rows(w.ctx(), store.System(), store.RowQuery{Kind: task.RowPush, Task: id, Key: []byte(name)})
			if err != nil || len(page.Rows) != 1 {
				t.Fatalf("Rows() = %+v, %v", page, err)
			}
			set, err := task.ParseWebhook(&page.Rows[0])
			if err != nil || set.N <= newest {
				t.Errorf("webhook %s has the number %d, %v; want more than %d", name, set.N, err, newest)
			}
			newest = set.N
		}
		if err := w.engine.DeletePush(w.ctx(), alice, id, "a"); err != nil {
			t.Fatalf("DeletePush() = %v", err)
		}
	}
}

// Who sets a webhook again and again fills only the part of the log that is open: then it is
// refused, can still be deleted, and the task can still be decided and end.
func TestWebhooksLeaveRoom(t *testing.T) {
	t.Parallel()
	w, _ := pushWorld(t)
	w.cfg.Limits = fullLimits()
	w.restart()
	id := w.parkedTask()
	refused := (*task.InvalidError)(nil)
	for size := 60_000; size > 1000; {
		if _, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.remark(a2a.TaskID(id.String()), size)}); err != nil {
			size /= 2
		}
	}
	for n := 0; ; n++ {
		_, err := w.engine.SetPush(w.ctx(), alice, id, webhook("a"))
		if errors.As(err, &refused) {
			break
		}
		if err != nil || n > 100 {
			t.Fatalf("SetPush() %d = %v", n, err)
		}
	}
	w.bounded(t, a2a.TaskID(id.String()))
	if err := w.engine.DeletePush(w.ctx(), alice, id, "a"); err != nil {
		t.Errorf("DeletePush() = %v", err)
	}
	if err := w.engine.Cancel(w.ctx(), alice, id); err != nil {
		t.Errorf("Cancel() = %v", err)
	}
}

// Who has many roles takes as much of the log as is written about them, and no more than is
// open; deleting takes next to nothing of a log that is full.
func TestWebhooksOfManyRolesLeaveRoom(t *testing.T) {
	t.Parallel()
	w, _ := pushWorld(t)
	w.cfg.Limits = fullLimits()
	w.restart()
	id := w.parkedTask()
	many := alice
	for i := range 2000 {
		many.Roles = append(many.Roles, fmt.Sprintf("a role with the number %05d", i))
	}
	open := uint64(w.cfg.Limits.OpenRoom(0))
	full := func() uint64 { return w.header(a2a.TaskID(id.String())).Bytes }
	for n := 0; ; n++ {
		_, err := w.engine.SetPush(w.ctx(), many, id, webhook(fmt.Sprint(n%10)))
		if refused := (*task.InvalidError)(nil); errors.As(err, &refused) {
			break
		}
		if err != nil || n > 1000 {
			t.Fatalf("SetPush() %d = %v", n, err)
		}
	}
	before := full()
	if before > open || before < open-200_000 {
		t.Errorf("webhooks fill the log to %d bytes, of which %d are open", before, open)
	}
	for n := range 10 {
		if err := w.engine.DeletePush(w.ctx(), many, id, fmt.Sprint(n)); err != nil {
			t.Errorf("DeletePush() = %v", err)
		}
	}
	if after := full(); after > max(before, open)+10*(2*256+64) {
		t.Errorf("deleting ten webhooks takes %d bytes of a log that is full", after-before)
	}
	w.bounded(t, a2a.TaskID(id.String()))
	if err := w.engine.Cancel(w.ctx(), many, id); err != nil {
		t.Errorf("Cancel() = %v", err)
	}
}

// The page token of one task's webhooks is of no use for another task, or another caller.
func TestWebhookPagesOfAnotherTask(t *testing.T) {
	t.Parallel()
	w, _ := pushWorld(t)
	one, other := w.parkedTask(), w.parkedTask()
	for _, id := range []store.TaskID{one, other} {
		for _, name := range []string{"a", "b"} {
			if _, err := w.engine.SetPush(w.ctx(), alice, id, webhook(name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	page, err := w.engine.PushList(w.ctx(), alice, one, 1, "")
	if err != nil || page.Next == "" {
		t.Fatalf("PushList() = %+v, %v", page, err)
	}
	refused := (*task.InvalidError)(nil)
	if got, err := w.engine.PushList(w.ctx(), alice, other, 1, page.Next); !errors.As(err, &refused) || refused.Field != "pageToken" {
		t.Errorf("PushList() of another task = %+v, %v", got, err)
	}
	if got, err := w.engine.PushList(w.ctx(), alice, one, 1, page.Next); err != nil || len(got.Configs) != 1 || got.Configs[0].ID != "b" {
		t.Errorf("PushList() = %+v, %v", got, err)
	}
}
