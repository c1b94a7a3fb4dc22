package boltstore

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
)

// fill is how full pages are made when they split: in every bucket most keys are added after
// the others of their kind, because they begin with a time.
const fill = 0.95

// round is a transaction of the writer. The fate of a batch is decided before its first write,
// so that a failed batch leaves nothing behind.
type round struct {
	w       *writer
	tx      *bolt.Tx
	im      *image // as the round began
	txid    uint64 // tx says -1 when it has been committed
	tasks   map[store.TaskID]*work
	order   []*work                     // as tasks were first touched
	dedup   map[store.Hash]store.TaskID // new in this round
	opened  map[countKey]int64          // the round's change to how many tasks are open; nil: not asked yet
	grown   map[store.Scope]int64       // … and to the disk usage of owners
	inFile  int64                       // bytes that the file occupied before the round; 0: not asked yet
	size    uint64                      // of the batches that have passed, as they will be in the file
	arena   []byte
	dirty   bool
	cut     bool // values were deleted from the log
	rows    []changedRow
	charged []chargedRow // rows of contexts
	puts    int          // writes so far
	err     error        // the transaction cannot be used any more

	meta, log, task, live, list, listCtx, row, rowIdx, due, audit changing
	nextAudit                                                     uint64
}

// work is a task in a round.
type work struct {
	before  record // as on disk; rev 0: not there
	now     record
	changed bool

	count    uint64 // of events
	plain    bool   // has an event that is not bulk
	first    uint64 // seq of the first event, or its would-be seq without events
	pub      uint64
	gone     bool   // its last step of deletion was taken
	snapshot []byte // nil: none
	bulk     []byte // of a snapshot; nil: none
	batches  []*op  // the snapshots that passed, with the events
}

// changedRow is a row that the round has put or removed, for the watchers of its kind.
type changedRow struct {
	kind  string
	owner store.Scope
}

// there reports whether the task can be seen.
func (t *record) there() bool { return t.Rev > 0 && !t.deleting }

func (w *writer) begin() (*round, error) {
	tx, err := w.db.tx(true /* writable */)
	if errors.Is(err, store.ErrDataLoss) {
		return nil, w.db.met(err, false /* locked */)
	} else if err != nil {
		return nil, err
	}
	return &round{
		w: w, tx: tx, txid: uint64(tx.ID()),
		tasks: w.tasks, dedup: w.dedup,
		arena: w.arena[:0], order: w.order[:0],
	}, nil
}

// open opens the buckets.
func (r *round) open() {
	r.im = newImage(r.tx)
	r.im.checkSmall()
	for i, b := range r.buckets() {
		*b = changing{Bucket: r.tx.Bucket(buckets[i]), was: r.im.bucket(buckets[i])}
		b.FillPercent = fill
	}
}

// buckets returns all of them.
func (r *round) buckets() []*changing {
	return []*changing{&r.meta, &r.log, &r.task, &r.live, &r.list, &r.listCtx, &r.row, &r.rowIdx, &r.due, &r.audit}
}

// end keeps the memory that the next round can reuse, and drops the rest.
func (r *round) end() {
	clear(r.tasks)
	clear(r.dedup)
	for _, t := range r.order {
		clear(t.batches)
		*t = work{batches: t.batches[:0]}
		if cap(t.batches) > maxKeptOps {
			t.batches = nil
		}
		if len(r.w.works) < maxRoundOps {
			r.w.works = append(r.w.works, t)
		}
	}
	clear(r.order)
	r.w.order = r.order
	if cap(r.arena) <= 4*maxRoundBytes {
		r.w.arena = r.arena
	}
}

// run decides an op and applies it when it passes.
func (r *round) run(o *op) bool {
	if o.fn != nil {
		puts := r.puts
		if o.err = o.fn(r); o.err != nil && r.puts != puts && r.err == nil {
			r.err = o.err // it failed half-way
		}
	} else {
		o.err = r.apply(o)
	}
	return o.err == nil
}

// put, and delete, write to the transaction. The first failure is kept in r.err
// and undoes the round.
func (r *round) put(b *changing, key, value []byte) error {
	r.dirty = true
	r.puts++
	if err := b.Put(key, value); err != nil && r.err == nil {
		r.err = err
	}
	return r.err
}

// next returns the number after the newest key of a bucket that only grows. If a key at or
// after that number exists, the newest key is damaged, and existing values must not be
// overwritten: r.err records that.
func (r *round) next(b *changing) uint64 {
	b.check(u64(math.MaxUint64))
	c := b.Cursor()
	if r.cut {
		// bbolt's Last does not return from a bucket of several pages of which the transaction
		// has deleted everything.
		b.check(nil)
		if first, _ := c.First(); first == nil {
			return 1
		}
	}
	newest, _ := c.Last()
	n := readU64(newest) + 1
	if key, _ := c.Seek(u64(n)); key != nil && r.err == nil {
		r.err = r.w.db.met(fmt.Errorf("there is something at %x, which is after the newest key", key), false /* locked */)
	}
	return n
}

func (r *round) delete(b *changing, key []byte) {
	r.dirty = true
	r.puts++
	if err := b.Delete(key); err != nil && r.err == nil {
		r.err = err
	}
}

// keep copies into the arena, whose bytes stay as they are until the commit.
func (r *round) keep(write func([]byte) []byte) []byte {
	start := len(r.arena)
	r.arena = write(r.arena)
	return r.arena[start:len(r.arena):len(r.arena)]
}

func (r *round) load(id store.TaskID) (*work, error) {
	if t, ok := r.tasks[id]; ok {
		return t, nil
	}
	t := r.w.work()
	if value := r.task.Get(id[:]); value != nil { // Seek would read the page after it, too
		rec, err := decodeRecord(id, value)
		if err != nil {
			return nil, err
		}
		t.before, t.now = rec, rec
	}
	t.first, t.pub = t.now.Seq+1, t.now.Pub
	r.tasks[id] = t
	r.order = append(r.order, t)
	return t, nil
}

// apply checks a batch against the transaction as it stands, and writes it.
func (r *round) apply(o *op) error {
	b := o.batch
	var t *work
	var next store.Header
	if b.Task.IsZero() {
		if b.Scope.IsZero() {
			return store.ErrNotFound
		}
	} else {
		var err error
		if t, err = r.load(b.Task); err != nil {
			return err
		}
		var h *store.Header
		if t.now.there() {
			h = &t.now.Header
		}
		if next, o.receipt, err = store.Next(h, b, o.epoch); err != nil {
			return err
		}
		if t.now.deleting {
			return store.ErrNotFound
		}
	}
	if err := r.checkRows(b, t); err != nil {
		return err
	}
	if err := r.checkContextRows(b, t); err != nil {
		return err
	}
	if !b.Dedup.IsZero() {
		first, known := r.dedup[b.Dedup]
		if !known {
			first, known = r.w.window.find(b.Dedup)
		}
		if known {
			return &store.DuplicateError{Task: first}
		}
	}
	if err := r.checkParked(o); err != nil {
		return err
	}

	if b.Disk != (store.Disk{}) {
		var err error
		if o.receipt.Disk, err = b.Fits(r.used(b.Scope)); err != nil {
			return err
		}
	}

	if !b.Dedup.IsZero() {
		r.dedup[b.Dedup] = b.Task
	}
	r.size += uint64(o.size) + batchBytes
	aside := b.IsAside()
	if t != nil && !aside {
		before := t.now
		t.add(o, next)
		r.countOpen(&before, &t.now)
		r.countDisk(&before, &t.now)
		r.dirty = true
	}
	owner := b.Scope
	if t != nil {
		owner = t.now.Owner
	}
	for i := range b.Rows {
		r.rows = append(r.rows, changedRow{b.Rows[i].Kind, owner})
	}
	r.putRows(b, t)
	if more := r.putDue(b, t); aside && more != 0 {
		t.changed = true // apart from that, an aside leaves the header as it is
	}
	for _, entry := range b.Audit {
		r.putAudit(b.Task, entry)
	}
	return r.err
}

// checkParked refuses a create in a context that already has too many open tasks, counting
// the changes of this round.
func (r *round) checkParked(o *op) error {
	if o.open == nil {
		return nil
	}
	if r.opened == nil {
		r.opened = map[countKey]int64{}
		for _, t := range r.order {
			r.countOpen(&t.before, &t.now)
		}
	}
	b := o.batch
	if open := o.open.open() + r.opened[o.open.key]; open >= int64(b.Parked) {
		return &store.ParkedError{Open: open, Limit: b.Parked}
	}
	return nil
}

// countOpen notes by how much a step of the round changes the number of open tasks.
func (r *round) countOpen(before, now *record) {
	if n := openTasks(now) - openTasks(before); n != 0 && r.opened != nil {
		r.opened[countKey{now.Owner, now.Context}] += n
	}
}

// add takes a batch that has passed into the task's part of the round.
func (t *work) add(o *op, next store.Header) {
	b := o.batch
	if b.KeepsSnapshot(t.now.Seq, t.now.Rev, t.now.Header.Snapshot) {
		t.snapshot, next.Snapshot = b.Snapshot.Bytes, b.Snapshot.After
		if b.Snapshot.Bulk != nil {
			t.bulk, next.BulkSnapshot = b.Snapshot.Bulk, b.Snapshot.After
		}
	}
	t.count += uint64(len(b.Events))
	t.plain = t.plain || slices.ContainsFunc(b.Events, func(e store.Event) bool { return !e.Bulk })
	t.now.Header = next
	t.changed = true
	t.batches = append(t.batches, o)
}

// flush writes the changes of each task in the round.
func (r *round) flush() {
	var position uint64 // in the log
	for _, t := range r.order {
		if !t.changed {
			continue
		}
		if t.count > 0 || t.snapshot != nil {
			if position++; position == 1 {
				if position = r.next(&r.log); r.err != nil {
					return
				}
			}
			r.putValue(t, position)
		}
		r.putDerived(t)
		id := t.now.Task
		_ = r.put(&r.task, id[:], r.keepSealed(bucketTask, id[:], t.now.append))
	}
}

// putValue writes the events of t as a value of the log.
func (r *round) putValue(t *work, position uint64) {
	h := head{
		task: t.now.Task, k: t.before.values + 1, prev: t.before.last,
		first: t.first, pub: t.pub, events: t.count,
		snapshot: t.snapshot != nil, bulk: t.bulk != nil, onlyBulk: t.count > 0 && !t.plain,
	}
	jump, err := r.jumpFrom(&t.before, h.k)
	if err != nil {
		r.err = err
		return
	}
	h.jump = jump
	key := u64(position)
	body := r.w.body[:0]
	for _, o := range t.batches {
		for i := range o.batch.Events {
			body = appendEvent(body, &o.batch.Events[i])
		}
	}
	if h.snapshot {
		body = appendSnapshot(body, t.now.Header.Snapshot, t.snapshot)
	}
	if h.bulk {
		body = appendSnapshot(body, t.now.BulkSnapshot, t.bulk)
	}
	if r.w.body = body; cap(body) > maxCompressed {
		r.w.body = nil
	}
	packed, ok := r.w.compress(r.w.packed[:0], body)
	if r.w.packed = packed; ok {
		h.compressed, body = true, packed
	}
	value := r.keepSealed(bucketLog, key, func(b []byte) []byte { return append(h.append(b, key), body...) })
	_ = r.put(&r.log, key, value)
	t.now.last, t.now.values = position, h.k
	if h.snapshot {
		t.now.snapshot = position
	}
	if h.bulk {
		t.now.bulk = position
	}
}

// jumpFrom returns the position of value k−lowbit(k) of a task, found on the jump chain
// of value k−1, which is its newest.
func (r *round) jumpFrom(t *record, k uint64) (uint64, error) {
	target := k - 1<<bits.TrailingZeros64(k)
	if target == 0 {
		return 0, nil
	}
	at := t.newest()
	for at.k != target {
		h, err := readHead(&r.log, t.Task, at.position, at.k)
		if err != nil {
			return 0, err
		}
		at = h.far()
	}
	return at.position, nil
}

// putDerived moves the task's rows of live, list and list.ctx.
func (r *round) putDerived(t *work) {
	var was, is [2][]byte
	wasLive, isLive := t.before.there() && t.before.Phase == store.Live, t.now.there() && t.now.Phase == store.Live
	if t.before.there() && !wasLive {
		was[0], was[1] = listKeys(&t.before.Header)
	}
	if t.now.there() && !isLive {
		is[0], is[1] = listKeys(&t.now.Header)
	}
	for i, b := range []*changing{&r.list, &r.listCtx} {
		if string(was[i]) == string(is[i]) {
			continue
		}
		if was[i] != nil {
			r.delete(b, was[i])
		}
		if is[i] != nil {
			_ = r.put(b, is[i], nil)
		}
	}
	id := t.now.Task
	switch {
	case isLive:
		if entry := liveEntryOf(&t.now.Header); !wasLive || entry != liveEntryOf(&t.before.Header) {
			_ = r.put(&r.live, id[:], entry.encode())
		}
	case wasLive && !isLive:
		r.delete(&r.live, id[:])
	}
}

// publish makes a committed round visible. It never fails and never blocks.
func (r *round) publish() {
	db := r.w.db
	db.counts.publish(r.txid, r.order)
	for _, t := range r.order {
		r.w.usage.move(t)
		if t.changed {
			if t.before.Rev == 0 && !t.now.Message.IsZero() {
				r.w.window.add(&t.now.Header)
			}
			db.tails.publish(t)
		}
	}
	for i := range r.charged {
		r.w.usage.moveRow(&r.charged[i])
	}
	for _, row := range r.rows {
		db.ofRows.Wake(row.kind, row.owner)
	}
}
