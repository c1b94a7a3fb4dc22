package memstore

import (
	"testing"

	"a2a-server/store"
	"a2a-server/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Backend { return backend{New()} })
}

type backend struct{ *DB }

func (b backend) Reopen() error {
	if err := b.Close(); err != nil {
		return err
	}
	b.DB.Reopen()
	return nil
}

// Rebuild has no more to do: nothing is derived.
func (b backend) Rebuild() error { return b.Reopen() }

var (
	alice = store.Owner("acme", "alice")
)

func open(t *testing.T) (*DB, store.Handle) {
	t.Helper()
	db := New()
	return db, newHandle(t, db)
}

func newHandle(t *testing.T, db *DB) store.Handle {
	t.Helper()
	h, err := db.Handle()
	if err != nil {
		t.Fatalf("Handle() = %v", err)
	}
	return h
}

// create returns a batch that creates a task with one public event.
func create(owner store.Scope) *store.Batch {
	return &store.Batch{
		Scope: owner, Task: store.NewTaskID(), Rev: new(uint64(0)),
		Change: store.Change{Status: &store.Status{State: 1, Time: 1000}, Phase: store.Live},
		Events: []store.Event{{Public: true, Kind: "task", Data: []byte("created")}},
	}
}

func must(t *testing.T, c *store.Commit) store.Receipt {
	t.Helper()
	r, err := c.Wait()
	if err != nil {
		t.Fatalf("Wait() = %v", err)
	}
	return r
}

// Of a task that was deleted nothing is kept, but the audit.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	db, h := open(t)
	c := create(alice)
	c.Rows = []store.RowChange{{Kind: "k", Key: []byte("a"), Index: []store.IndexKey{{Index: "i", Key: []byte("b")}}}}
	c.Due = []store.DueChange{{Time: 1, Kind: "d"}}
	wake, stop := h.Watch(alice, c.Task)
	must(t, h.Append(t.Context(), c))
	must(t, h.Append(t.Context(), &store.Batch{
		Scope: alice, Task: c.Task, Rev: new(uint64(1)), Change: store.Change{Phase: store.Final}, Due: []store.DueChange{{Time: 1, Kind: "d", Delete: true}},
	}))
	if err := h.Delete(t.Context(), alice, c.Task, []byte("deleted")); err != nil {
		t.Errorf("Delete() = %v", err)
	}
	<-wake
	stop()
	stop()
	if len(db.tasks)+db.rows.Len()+db.due.Len()+db.ofTasks.Len() != 0 || len(db.audit) != 1 {
		t.Errorf("%d tasks, %d rows, %d due rows, %d watchers are left, and %d audit entries", len(db.tasks), db.rows.Len(), db.due.Len(), db.ofTasks.Len(), len(db.audit))
	}
}
