package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"a2a-server/store"
)

// model is a second, simple implementation of the contract: maps, and batches applied in
// sequence. It repeats the arithmetic and does not call store.Next.
type model struct {
	tasks map[store.TaskID]*modelTask
	ids   []store.TaskID // all there ever were, in the order of creation
	rows  map[rowKey]modelRow
	due   map[dueKey]string
	audit []store.AuditEntry
}

type modelTask struct {
	header  store.Header
	log     history
	fold    fold
	deleted bool
}

type rowKey struct {
	owner     store.Scope
	task      store.TaskID
	context   string
	kind, key string
}

// rowKeyOf is the key of a row of a batch. owner and contextID belong to its task.
func rowKeyOf(owner store.Scope, contextID string, b *store.Batch, c *store.RowChange) rowKey {
	if c.OfContext {
		return rowKey{owner: owner, context: contextID, kind: c.Kind, key: string(c.Key)}
	}
	if !c.Of.IsZero() {
		return rowKey{owner: c.Of, kind: c.Kind, key: string(c.Key)}
	}
	return rowKey{owner: owner, task: b.Task, kind: c.Kind, key: string(c.Key)}
}

type modelRow struct {
	rev   uint64
	value string
	index map[string]string
}

type dueKey struct {
	owner     store.Scope
	task      store.TaskID
	time      store.Millis
	kind, key string
}

// outcome is the expected result of Wait; err is a sentinel, a *ParkedError or a *ContextRowsError.
type outcome struct {
	receipt store.Receipt
	err     error
}

func emptyModel() model {
	return model{
		tasks: map[store.TaskID]*modelTask{},
		rows:  map[rowKey]modelRow{},
		due:   map[dueKey]string{},
	}
}

// find returns a task that s may see, else nil.
func (m *model) find(s store.Scope, id store.TaskID) *modelTask {
	task := m.tasks[id]
	if task == nil || task.deleted || !s.Covers(task.header.Owner) {
		return nil
	}
	return task
}

// apply commits b or says why not.
func (m *model) apply(b *store.Batch, epoch uint64) outcome {
	if err := b.Validate(); err != nil {
		return outcome{err: err}
	}
	if b.Task.IsZero() {
		switch {
		case b.Scope.IsZero():
			return outcome{err: store.ErrNotFound}
		case !m.rowsFit(b.Scope, "", b):
			return outcome{err: store.ErrConflict}
		}
		m.putRows(b.Scope, "", b)
		return outcome{}
	}
	var task *modelTask
	if b.Rev != nil && *b.Rev == 0 {
		switch {
		case b.Scope.IsZero():
			return outcome{err: store.ErrNotFound}
		case m.tasks[b.Task] != nil:
			return outcome{err: store.ErrConflict}
		case foreign(b.Scope, b):
			return outcome{err: store.ErrInvalid}
		case !m.rowsFit(b.Scope, "", b):
			return outcome{err: store.ErrConflict}
		}
		if open := m.open(b.Scope, b.Change.Context); b.Parked > 0 && open >= int64(b.Parked) {
			return outcome{err: &store.ParkedError{Open: open, Limit: b.Parked}}
		}
		task = &modelTask{header: store.Header{Task: b.Task, Owner: b.Scope, Context: b.Change.Context, Fence: 1}}
		m.tasks[b.Task] = task
		m.ids = append(m.ids, b.Task)
	} else {
		if task = m.find(b.Scope, b.Task); task == nil {
			return outcome{err: store.ErrNotFound}
		}
		if err := m.refuses(task, b); err != nil {
			return outcome{err: err}
		}
	}
	return outcome{receipt: m.commit(task, b, epoch)}
}

// open counts the tasks of a context that have not ended.
func (m *model) open(owner store.Scope, contextID string) (n int64) {
	for _, task := range m.tasks {
		if h := &task.header; !task.deleted && h.Owner == owner && h.Context == contextID && h.Phase != store.Final {
			n++
		}
	}
	return n
}

func (m *model) refuses(task *modelTask, b *store.Batch) error {
	h := &task.header
	if b.Fence != nil && (h.Phase != store.Live || *b.Fence != h.Fence) {
		return store.ErrFenced
	}
	if b.Rev != nil && *b.Rev != h.Rev {
		return store.ErrConflict
	}
	if h.Phase == store.Final && (b.Change.Status != nil || b.Change.Phase != 0 || b.Change.TakeFence) {
		return store.ErrInvalid
	}
	if h.Context == "" && slices.ContainsFunc(b.Rows, func(c store.RowChange) bool { return c.OfContext }) {
		return store.ErrInvalid
	}
	if foreign(h.Owner, b) {
		return store.ErrInvalid
	}
	if !m.rowsFit(h.Owner, h.Context, b) {
		return store.ErrConflict
	}
	return m.contextRowsFit(h, b)
}

// foreign reports whether b changes or needs rows of another owner than its task's.
func foreign(owner store.Scope, b *store.Batch) bool {
	return slices.ContainsFunc(b.Rows, func(c store.RowChange) bool { return !c.Of.IsZero() && c.Of != owner }) ||
		slices.ContainsFunc(b.Needs, func(n store.RowRef) bool { return n.Of != owner })
}

// contextRowsFit checks the bound of b on the rows of its task's context.
func (m *model) contextRowsFit(h *store.Header, b *store.Batch) error {
	after := map[rowKey]string{}
	kinds := map[string]bool{}
	use := func(rows map[rowKey]string, kind string) (sum store.RowBound) {
		for k, value := range rows {
			if k.kind == kind {
				sum.Rows, sum.Bytes = sum.Rows+1, sum.Bytes+uint64(len(k.key)+len(value))
			}
		}
		return sum
	}
	for k, r := range m.rows {
		if k.owner == h.Owner && k.context != "" && k.context == h.Context {
			after[k] = r.value
		}
	}
	before := maps.Clone(after)
	for i := range b.Rows {
		c := &b.Rows[i]
		if !c.OfContext {
			continue
		}
		kinds[c.Kind] = true
		k := rowKeyOf(h.Owner, h.Context, b, c)
		if after[k] = string(c.Value); c.Delete {
			delete(after, k)
		}
	}
	for kind := range kinds {
		was, is, limit := use(before, kind), use(after, kind), b.ContextRows
		if limit.Rows > 0 && is.Rows > limit.Rows && is.Rows > was.Rows || limit.Bytes > 0 && is.Bytes > limit.Bytes && is.Bytes > was.Bytes {
			return &store.ContextRowsError{}
		}
	}
	return nil
}

func (m *model) commit(task *modelTask, b *store.Batch, epoch uint64) store.Receipt {
	h := &task.header
	if s := b.Snapshot; s != nil && s.After == h.Seq && s.Rev == h.Rev && s.After > h.Snapshot {
		task.fold.kept(s)
		h.Snapshot, h.BulkSnapshot = task.fold.plain, task.fold.bulk
	}
	r := store.Receipt{Task: b.Task, First: h.Seq + 1}
	task.log.add(b.Events...)
	for _, e := range b.Events {
		if h.Bytes += uint64(len(e.Data)); e.Bulk {
			h.Bulk += uint64(len(e.Data))
		}
	}
	h.Seq, h.Pub = uint64(len(task.log.events)), task.log.pub
	if c := b.Change; b.Rev != nil {
		h.Rev++
		r.Rev = h.Rev
		if c.TakeFence {
			h.Fence++
		}
		if c.Status != nil {
			h.State, h.StatusTime = c.Status.State, c.Status.Time
		}
		if c.Pending != nil {
			h.Pending = *c.Pending
		}
		if c.Phase != 0 {
			h.Phase = c.Phase
		}
		if c.Phase == store.Live {
			h.Epoch = epoch
		}
	}
	m.putRows(h.Owner, h.Context, b)
	h.Due = 0
	for k := range m.due {
		if k.task == b.Task {
			h.Due++
		}
	}
	r.Last, r.Pub, r.Fence = h.Seq, h.Pub, h.Fence
	return r
}

func (m *model) rowsFit(owner store.Scope, contextID string, b *store.Batch) bool {
	for _, n := range b.Needs {
		if m.rows[rowKey{owner: n.Of, kind: n.Kind, key: string(n.Key)}].rev != n.Rev {
			return false
		}
	}
	revs := map[rowKey]uint64{} // after the changes before
	for _, c := range b.Rows {
		key := rowKeyOf(owner, contextID, b, &c)
		rev, changed := revs[key]
		if !changed {
			rev = m.rows[key].rev
		}
		if c.IfRev != store.Any && c.IfRev != rev {
			return false
		}
		if revs[key] = rev + 1; c.Delete {
			revs[key] = 0
		}
	}
	return true
}

// putRows does rows, due rows and audit.
func (m *model) putRows(owner store.Scope, contextID string, b *store.Batch) {
	for _, c := range b.Rows {
		key := rowKeyOf(owner, contextID, b, &c)
		if c.Delete {
			delete(m.rows, key)
			continue
		}
		row := modelRow{rev: m.rows[key].rev + 1, value: string(c.Value), index: map[string]string{}}
		for _, ix := range c.Index {
			row.index[ix.Index] = string(ix.Key)
		}
		m.rows[key] = row
	}
	for _, c := range b.Due {
		key := dueKey{owner, b.Task, c.Time, c.Kind, string(c.Key)}
		if c.Delete {
			delete(m.due, key)
		} else if _, there := m.due[key]; !there {
			m.due[key] = string(c.Payload)
		}
	}
	for _, data := range b.Audit {
		m.audit = append(m.audit, store.AuditEntry{N: uint64(len(m.audit)) + 1, Task: b.Task, Data: data})
	}
}

// claimable counts the tasks that Claim of a handle with this epoch would find.
func (m *model) claimable(epoch uint64) int {
	n := 0
	for _, task := range m.tasks {
		if !task.deleted && task.header.Phase == store.Live && task.header.Epoch < epoch {
			n++
		}
	}
	return n
}

// claim takes a task over, as Claim says that it did.
func (m *model) claim(id store.TaskID, epoch uint64) (store.Header, error) {
	task := m.tasks[id]
	if task == nil || task.deleted || task.header.Phase != store.Live || task.header.Epoch >= epoch {
		return store.Header{}, fmt.Errorf("task %s is not there to be claimed", id)
	}
	task.header.Rev++
	task.header.Fence++
	task.header.Epoch = epoch
	return task.header, nil
}

func (m *model) delete(s store.Scope, id store.TaskID, audit []byte) error {
	task := m.find(s, id)
	switch {
	case task == nil:
		return store.ErrNotFound
	case task.header.Phase != store.Final || task.header.Due > 0:
		return store.ErrBusy
	}
	if task.deleted = true; audit != nil {
		m.audit = append(m.audit, store.AuditEntry{N: uint64(len(m.audit)) + 1, Task: id, Data: audit})
	}
	last := true
	for _, other := range m.tasks {
		last = last && (other.deleted || other.header.Owner != task.header.Owner || other.header.Context != task.header.Context)
	}
	for k := range m.rows {
		if k.task == id || last && k.context != "" && k.context == task.header.Context && k.owner == task.header.Owner {
			delete(m.rows, k)
		}
	}
	return nil
}

// differs explains how the outcome of a batch differs from the model's.
func (want outcome) differs(r store.Receipt, err error) error {
	if full, ok := errors.AsType[*store.ParkedError](want.err); ok {
		return crowded(full.Open, full.Limit)(err)
	}
	if _, ok := errors.AsType[*store.ContextRowsError](want.err); ok {
		if _, is := errors.AsType[*store.ContextRowsError](err); !is {
			return fmt.Errorf("Append() = %+v, %s, want a ContextRowsError", r, said(err))
		}
		return nil
	}
	// Validate wraps its sentinels.
	for _, sentinel := range []error{store.ErrInvalid, store.ErrTooLarge} {
		if errors.Is(want.err, sentinel) && errors.Is(err, sentinel) {
			return nil
		}
	}
	if !errors.Is(err, want.err) || want.err == nil && r != want.receipt {
		return fmt.Errorf("Append() = %+v, %s, want %+v, %s", r, said(err), want.receipt, said(want.err))
	}
	return nil
}
