package sim

import (
	"context"
	"fmt"
	"slices"

	"a2a-server/store"
	"a2a-server/store/memstore"
)

// Disk is a memstore that commits when the scheduler says so. Batches are queued by
// all processes and committed in the order in which they were queued.
type Disk struct {
	s        *Scheduler
	db       *memstore.DB
	queue    []*queued
	restored uint64 // how often

	// Committed, when set, is called after each batch that was committed or refused, before
	// the routine that queued it is told.
	Committed func(Committed)
	// Claimed, when set, is called after each Claim with the tasks that it took over.
	Claimed func(*Process, []store.Header)
	// Pauses makes each read a place where other routines may continue first.
	Pauses bool
}

// Committed is the outcome of a batch.
type Committed struct {
	Process *Process
	Epoch   uint64 // of its handle
	Batch   *store.Batch
	Receipt store.Receipt
	Err     error
	Lost    bool // the process died before it was told
}

// queued is a batch on its way.
type queued struct {
	ctx    context.Context //nolint:containedctx // that of Append, which counts until the batch is taken
	h      *handle
	batch  *store.Batch
	commit *store.Commit
}

// NewDisk returns an empty disk, the only disk of s.
func NewDisk(s *Scheduler) *Disk {
	d := &Disk{s: s, db: memstore.New()}
	s.disk = d
	return d
}

// Handle returns a process's handle. It is dead when the process is.
func (d *Disk) Handle(p *Process) store.Handle {
	h := &handle{Handle: d.Durable(), d: d, p: p}
	p.AtDeath(func() { d.lose(p) })
	return h
}

// Durable returns a handle that sees, at once, all durable data, for checks. Its epoch is not
// that of a process, so nothing may be appended or claimed by it.
func (d *Disk) Durable() store.Handle {
	h, err := d.db.Handle()
	if err != nil {
		panic(err) // the DB is never closed
	}
	return h
}

func (d *Disk) queued() int {
	if d == nil {
		return 0
	}
	return len(d.queue)
}

// Queued returns how many batches of a process are not committed.
func (d *Disk) Queued(p *Process) int {
	n := 0
	for _, q := range d.queue {
		if q.h.p == p {
			n++
		}
	}
	return n
}

// Commit commits the n oldest batches.
func (d *Disk) Commit(n int) {
	for ; n > 0 && len(d.queue) > 0; n-- {
		q := d.queue[0]
		d.queue = d.queue[1:]
		d.commit(q, false /* lost */)
	}
}

// CommitLost commits the n oldest batches of a process which it is not told of,
// because it dies before: it must be killed next.
func (d *Disk) CommitLost(p *Process, n int) {
	for i := 0; i < len(d.queue) && n > 0; {
		q := d.queue[i]
		if q.h.p != p {
			i++
			continue
		}
		d.queue = append(d.queue[:i:i], d.queue[i+1:]...)
		d.commit(q, true /* lost */)
		n--
	}
}

// commit commits a batch. A batch whose context has ended may have been taken before that, or
// not.
func (d *Disk) commit(q *queued, lost bool) {
	if err := q.ctx.Err(); err != nil && !d.s.choices.Rarely(Commits, 2) {
		d.answer(q, store.Receipt{}, err, lost)
		return
	}
	r, err := q.h.Handle.Append(context.Background(), q.batch).Wait()
	d.answer(q, r, err, lost)
}

func (d *Disk) answer(q *queued, r store.Receipt, err error, lost bool) {
	d.s.mark('c', int(r.Last), int(r.Rev), func() string { return describe(q, r, err, lost) })
	for i := range q.batch.Events {
		_, _ = d.s.sum.Write(q.batch.Events[i].Data)
	}
	if d.Committed != nil {
		d.Committed(Committed{Process: q.h.p, Epoch: q.h.Epoch(), Batch: q.batch, Receipt: r, Err: err, Lost: lost})
	}
	q.commit.Answer(r, err) // a lost batch, too: a later batch may name it as its After
}

func describe(q *queued, r store.Receipt, err error, lost bool) string {
	kinds := ""
	for i := range q.batch.Events {
		kinds += " " + q.batch.Events[i].Kind
	}
	outcome := fmt.Sprintf("seq %d-%d rev %d fence %d", r.First, r.Last, r.Rev, r.Fence)
	if err != nil {
		outcome = err.Error()
	}
	if lost {
		outcome += ", never told"
	}
	id := q.batch.Task.String()
	return fmt.Sprintf("%s commit of %s:%s: %s", q.h.p.name, id[max(0, len(id)-4):], kinds, outcome)
}

// lose drops the queued batches of a process without notice.
func (d *Disk) lose(p *Process) {
	d.queue = slices.DeleteFunc(d.queue, func(q *queued) bool {
		if q.h.p == p {
			d.s.mark('l', len(q.batch.Events), 0, func() string { return describe(q, store.Receipt{}, errLost, true) })
		}
		return q.h.p == p
	})
}

// handle is a process's handle of a disk. Calls that do not concern the queue go to memstore,
// which has the durable data.
type handle struct {
	store.Handle
	d *Disk
	p *Process
}

// Incarnation is that of the disk: another after each restoration.
func (h *handle) Incarnation() uint64 { return 1 + h.d.restored }

var errLost = fmt.Errorf("lost: %w", store.ErrClosed)

// Append queues b. A dead process's batch is never answered.
func (h *handle) Append(ctx context.Context, b *store.Batch) *store.Commit {
	c := store.NewCommit()
	if !h.p.dead {
		h.d.queue = append(h.d.queue, &queued{ctx: ctx, h: h, batch: b, commit: c})
	}
	return c
}

// pause lets other routines continue first: the data to be read may be about to change.
func (h *handle) pause() error {
	if h.p.dead {
		return store.ErrClosed
	}
	if h.d.Pauses && h.p.within() {
		h.p.Yield()
	}
	return nil
}

func (h *handle) Read(ctx context.Context, s store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.LogPage, error) {
	if err := h.pause(); err != nil {
		return store.LogPage{}, err
	}
	return h.Handle.Read(ctx, s, id, from, limit)
}

func (h *handle) Tasks(ctx context.Context, s store.Scope, q store.Query) (store.TaskPage, error) {
	if err := h.pause(); err != nil {
		return store.TaskPage{}, err
	}
	return h.Handle.Tasks(ctx, s, q)
}

func (h *handle) Rows(ctx context.Context, s store.Scope, q store.RowQuery) (store.RowPage, error) {
	if err := h.pause(); err != nil {
		return store.RowPage{}, err
	}
	return h.Handle.Rows(ctx, s, q)
}

func (h *handle) Due(ctx context.Context, now store.Millis, after store.DuePosition, limit int) ([]store.Due, store.Millis, error) {
	if err := h.pause(); err != nil {
		return nil, 0, err
	}
	return h.Handle.Due(ctx, now, after, limit)
}

func (h *handle) Claim(ctx context.Context, limit int) ([]store.Header, error) {
	if err := h.pause(); err != nil {
		return nil, err
	}
	claimed, err := h.Handle.Claim(ctx, limit)
	h.d.s.mark('k', len(claimed), 0, func() string { return fmt.Sprintf("%s claims %d tasks", h.p.name, len(claimed)) })
	if h.d.Claimed != nil {
		h.d.Claimed(h.p, claimed)
	}
	return claimed, err
}

func (h *handle) Delete(ctx context.Context, s store.Scope, id store.TaskID, audit []byte) error {
	if err := h.pause(); err != nil {
		return err
	}
	return h.Handle.Delete(ctx, s, id, audit)
}
