package memstore

import (
	"context"

	"a2a-server/store"
)

// Append commits b at once and returns a commit that is already answered; see
// [store.Store].
func (h *handle) Append(ctx context.Context, b *store.Batch) *store.Commit {
	return store.Answered(h.commit(ctx, b))
}

// commit checks all of b before it changes anything, so a batch that fails leaves
// no trace.
func (h *handle) commit(ctx context.Context, b *store.Batch) (store.Receipt, error) {
	if err := b.CheckHolds(); err != nil {
		return store.Receipt{}, err
	}
	if err := h.lock(ctx); err != nil {
		return store.Receipt{}, err
	}
	defer h.db.mu.Unlock()
	if err := b.Validate(); err != nil {
		return store.Receipt{}, err
	}
	if b.Task.IsZero() {
		return store.Receipt{}, h.db.commitRows(b)
	}
	return h.commitTask(b)
}

// commitRows commits a batch without a task.
func (db *DB) commitRows(b *store.Batch) error {
	if b.Scope.IsZero() {
		return store.ErrNotFound
	}
	in := places{own: place{owner: b.Scope}}
	if err := db.checkRows(in, b); err != nil {
		return err
	}
	db.putRows(in, b.Rows)
	db.putDue(in.own, b.Due)
	db.putAudit(b.Task, b.Audit...)
	db.wakeRows(b.Rows, b.Scope)
	return nil
}

func (h *handle) commitTask(b *store.Batch) (store.Receipt, error) {
	db := h.db
	t := db.tasks[b.Task]
	var old *store.Header
	if t != nil {
		old = &t.header
	}
	header, receipt, err := store.Next(old, b, h.epoch)
	if err != nil {
		return store.Receipt{}, err
	}
	in := places{own: place{task: b.Task}, context: place{owner: header.Owner, context: header.Context}}
	if err := db.checkRows(in, b); err != nil {
		return store.Receipt{}, err
	}
	if err := db.checkContextRows(in, b); err != nil {
		return store.Receipt{}, err
	}
	if b.Creates() {
		if err := db.checkParked(b); err != nil {
			return store.Receipt{}, err
		}
		if receipt.Disk, err = db.checkDisk(b); err != nil {
			return store.Receipt{}, err
		}
	}

	// Nothing fails from here on.
	if t == nil {
		t = &task{}
		db.tasks[b.Task] = t
	}
	if b.KeepsSnapshot(t.header.Seq, t.header.Rev, t.header.Snapshot) {
		header.Snapshot = b.Snapshot.After
		t.snapshot = b.Snapshot.Bytes
		if b.Snapshot.Bulk != nil {
			header.BulkSnapshot = b.Snapshot.After
			t.bulk = b.Snapshot.Bulk
		}
	}
	if numbered := b.Number(receipt); t.events == nil {
		t.events = numbered
	} else {
		t.events = append(t.events, numbered...)
	}
	db.putRows(in, b.Rows)
	header.Due = uint32(int(header.Due) + db.putDue(in.own, b.Due))
	db.putAudit(b.Task, b.Audit...)
	t.header = header
	if !b.IsAside() {
		db.ofTasks.Wake(header.Task, header.Owner)
	}
	db.wakeRows(b.Rows, header.Owner)
	return receipt, nil
}

// checkParked refuses a create in a context that already has too many open tasks.
func (db *DB) checkParked(b *store.Batch) error {
	if b.Parked == 0 {
		return nil
	}
	var open int64
	for _, t := range db.tasks {
		if h := &t.header; h.Owner == b.Scope && h.Context == b.Change.Context && h.Phase != store.Final {
			open++
		}
	}
	if open >= int64(b.Parked) {
		return &store.ParkedError{Open: open, Limit: b.Parked}
	}
	return nil
}

// checkDisk returns the usage after a create, or refuses it.
func (db *DB) checkDisk(b *store.Batch) (store.Disk, error) {
	if b.Disk == (store.Disk{}) {
		return store.Disk{}, nil
	}
	var used store.Disk
	for _, t := range db.tasks {
		n := t.header.DiskBytes()
		if used.All += n; t.header.Owner == b.Scope {
			used.Owner += n
		}
	}
	for _, r := range walk(&db.rows, "", "", "") {
		if r.id.in.context == "" {
			continue
		}
		n := store.RowBytes([]byte(r.id.key), r.value)
		if used.All += n; r.id.in.owner == b.Scope {
			used.Owner += n
		}
	}
	return b.Fits(used)
}
