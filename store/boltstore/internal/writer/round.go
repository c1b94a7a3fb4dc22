package writer

import (
	"fmt"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/counts"
	"a2a-server/store/boltstore/internal/layout"
)

// round is a transaction of the writer. The fate of a batch is decided before its first write,
// so that a failed batch leaves nothing behind.
type round struct {
	w       *Writer
	tx      *bolt.Tx
	txid    uint64 // tx says -1 when it has been committed
	tasks   map[store.TaskID]*work
	order   []*work               // as tasks were first touched
	opened  map[counts.Key]int64  // the round's change to how many tasks are open; nil: not asked yet
	grown   map[store.Scope]int64 // … and to the disk usage of owners
	inFile  int64                 // bytes that the file occupied before the round; 0: not asked yet
	size    uint64                // of the batches that have passed, as they will be in the file
	arena   []byte
	epoch   uint64 // of the instance that begins with the round; 0: none does
	dirty   bool
	cut     bool // values were deleted from the log
	rows    []changedRow
	charged []chargedRow // rows of contexts
	puts    int          // writes so far
	err     error        // the transaction cannot be used any more

	meta, log, task, live, list, listCtx, row, rowIdx, due, audit *bolt.Bucket
	nextAudit                                                     uint64
}

// work is a task in a round.
type work struct {
	before  layout.HeaderValue // as on disk; rev 0: not there
	now     layout.HeaderValue
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

func (w *Writer) begin() (*round, error) {
	tx, err := w.File.Tx(true /* writable */)
	if err != nil {
		return nil, err
	}
	return &round{w: w, tx: tx, txid: uint64(tx.ID()), tasks: map[store.TaskID]*work{}, arena: w.arena[:0]}, nil
}

// openBuckets opens the buckets.
func (r *round) openBuckets() {
	for i, b := range []**bolt.Bucket{&r.meta, &r.log, &r.task, &r.live, &r.list, &r.listCtx, &r.row, &r.rowIdx, &r.due, &r.audit} {
		*b = r.tx.Bucket(layout.Buckets[i])
		(*b).FillPercent = layout.FillPercent
	}
	r.row.FillPercent = layout.RowFillPercent
}

// end leaves the memory of the values to the next round, unless it is large.
func (r *round) end() {
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
func (r *round) put(b *bolt.Bucket, key, value []byte) error {
	r.dirty = true
	r.puts++
	r.note(b, key, true /* put */)
	if err := b.Put(key, value); err != nil && r.err == nil {
		r.err = fmt.Errorf("write: %w", err)
	}
	return r.err
}

// next returns the number after the newest key of a bucket that only grows. It panics if a key at or
// after that number exists: the newest key is damaged, and existing values must not be overwritten.
func (r *round) next(b *bolt.Bucket) uint64 {
	c := b.Cursor()
	if r.cut {
		// bbolt's Last does not return from a bucket of several pages of which the transaction
		// has deleted everything.
		if first, _ := c.First(); first == nil {
			return 1
		}
	}
	newest, _ := c.Last()
	n := layout.ReadU64(newest) + 1
	if key, _ := c.Seek(layout.U64(n)); key != nil {
		panic(fmt.Sprintf("there is something at %x, which is after the newest key", key))
	}
	return n
}

func (r *round) delete(b *bolt.Bucket, key []byte) {
	r.dirty = true
	r.puts++
	r.note(b, key, false /* put */)
	if err := b.Delete(key); err != nil && r.err == nil {
		r.err = fmt.Errorf("delete: %w", err)
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
	t := &work{}
	if value := r.task.Get(id[:]); value != nil { // Seek would read the page after it, too
		rec, err := layout.DecodeHeader(id, value)
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

// publish makes a committed round visible. It never fails and never blocks.
func (r *round) publish() {
	w := r.w
	w.Counts.Publish(r.txid, r.changes)
	for _, t := range r.order {
		if t.changed || t.gone {
			w.usage.move(&t.before, &t.now, t.gone)
		}
		if t.changed {
			w.Tails.Publish(&t.now.Header, t.now.Visible(), t.first, t.committed)
		}
	}
	for i := range r.charged {
		c := &r.charged[i]
		w.usage.moveRow(c.key, c.owner, c.bytes)
	}
	for _, row := range r.rows {
		w.Rows.Wake(row.kind, row.owner)
	}
}

// changes yields the headers of each task that the round has changed, before and after.
func (r *round) changes(yield func(before, now *layout.HeaderValue) bool) {
	for _, t := range r.order {
		if t.changed && !yield(&t.before, &t.now) {
			return
		}
	}
}

// committed yields the batches of the round for t, with their receipts.
func (t *work) committed(yield func(*store.Batch, store.Receipt) bool) {
	for _, o := range t.batches {
		if !yield(o.batch, o.receipt) {
			return
		}
	}
}

// keepSealed is keep for a value at key of a bucket; it adds the checksum.
func (r *round) keepSealed(bucket, key []byte, write func([]byte) []byte) []byte {
	return r.keep(func(b []byte) []byte {
		start := len(b)
		return layout.AppendSum(write(b), start, bucket, key)
	})
}

// keepParts is keepSealed for a value that consists of parts.
func (r *round) keepParts(bucket, key []byte, parts ...[]byte) []byte {
	return r.keepSealed(bucket, key, func(b []byte) []byte {
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	})
}
