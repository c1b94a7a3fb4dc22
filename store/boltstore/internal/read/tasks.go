package read

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/layout"
)

// Tasks returns a page of headers after the position of a cursor; total returns how many
// tasks of an owner match.
func Tasks(tx *bolt.Tx, s store.Scope, q store.Query, at []byte, total func(*Lister) int64) (page store.TaskPage, err error) {
	if !s.IsOwner() {
		page.Total = -1
		walkTasks(tx, s, q, at, &page)
		return page, nil
	}
	l := NewLister(tx, s, q)
	if err := l.fill(at, &page); err != nil {
		return page, err
	}
	page.Total = total(l)
	return page, nil
}

// walkTasks lists for a Tenant or System: newest id first.
func walkTasks(tx *bolt.Tx, s store.Scope, q store.Query, at []byte, page *store.TaskPage) {
	limit := store.PageSize(q.Limit)
	c := tx.Bucket(layout.BucketTask).Cursor()
	for k, v := Before(c, at); k != nil; k, v = c.Prev() {
		t, err := layout.DecodeHeader(store.TaskID(k), v)
		switch {
		case err == nil && (!t.Visible() || !s.Covers(t.Owner) || !q.Matches(&t.Header)):
			continue
		case err != nil && (s != store.System() || q.Context != "" || q.State != 0):
			continue // unknown whether it belongs to the list
		case err != nil:
			t.Header = store.Header{Task: store.TaskID(k), Damaged: true}
		}
		if len(page.Tasks) == limit {
			last := page.Tasks[limit-1].Task
			page.Next = q.EncodeCursor(s, last[:])
			return
		}
		page.Tasks = append(page.Tasks, t.Header)
	}
}

// Lister lists an owner's tasks: the few Live tasks from the bucket live, all other tasks from
// an ordered index.
type Lister struct {
	Tx     *bolt.Tx
	tasks  values
	Scope  store.Scope
	Query  store.Query
	atWork []atWork // of the owner, matching the query, best first
}

// NewLister returns a lister that has collected the owner's Live tasks.
func NewLister(tx *bolt.Tx, owner store.Scope, q store.Query) *Lister {
	l := &Lister{Tx: tx, tasks: valuesOf(tx, layout.BucketTask), Scope: owner, Query: q}
	l.live()
	return l
}

// atWork is a task that is Live, as the index has it.
type atWork struct {
	id     store.TaskID
	status store.Millis
	state  store.State
}

func (a *atWork) position() []byte { return store.TaskPosition(a.status, a.id) }

// later orders as positions do, without making them.
func later(a, b atWork) int {
	return cmp.Or(cmp.Compare(uint64(b.status), uint64(a.status)), bytes.Compare(b.id[:], a.id[:]))
}

// live collects the owner's Live tasks that match.
func (l *Lister) live() {
	c, sc, cx := l.Tx.Bucket(layout.BucketLive).Cursor(), l.Scope.Key(), store.ContextKey(l.Query.Context)
	for k, v := c.First(); k != nil; k, v = c.Next() {
		e, id := LiveEntryAt(v), store.TaskID(k)
		if e.Owner != sc || e.Status < l.Query.Since || l.Query.State != 0 && e.State != l.Query.State || l.Query.Context != "" && e.Context != cx {
			continue
		}
		l.atWork = append(l.atWork, atWork{id, e.Status, e.State})
	}
	slices.SortFunc(l.atWork, later)
}

// header returns the header of the task at a position. For a task that is damaged, or missing
// although an index has it, it returns the fields that the indexes have.
func (l *Lister) header(t store.Millis, id store.TaskID) store.Header {
	if rec, err := Header(l.tasks, id); err == nil && rec.Visible() {
		return rec.Header
	}
	h := store.Header{Task: id, Owner: l.Scope, Context: l.Query.Context, StatusTime: t, Damaged: true}
	if v := l.Tx.Bucket(layout.BucketLive).Get(id[:]); v != nil {
		h.State = LiveEntryAt(v).State
	}
	c, sc := l.Tx.Bucket(layout.BucketList).Cursor(), l.Scope.Key()
	for state := store.State(1); state <= store.MaxState; state++ {
		key := append(layout.ListPrefix(sc, state), store.TaskPosition(t, id)...)
		if k, _ := c.Seek(key); bytes.Equal(k, key) {
			h.State = state
		}
	}
	return h
}

// ranges returns the ranges of the index that hold the tasks that are not Live: bucket
// and prefixes. A prefix is followed by a task's position.
func (l *Lister) ranges() (*bolt.Bucket, [][]byte) {
	sc := l.Scope.Key()
	if l.Query.Context != "" {
		return l.Tx.Bucket(layout.BucketListCtx), [][]byte{layout.ContextPrefix(sc, store.ContextKey(l.Query.Context))}
	}
	list := l.Tx.Bucket(layout.BucketList)
	if l.Query.State != 0 {
		return list, [][]byte{layout.ListPrefix(sc, l.Query.State)}
	}
	var prefixes [][]byte
	for state := store.State(1); state <= store.MaxState; state++ {
		prefixes = append(prefixes, layout.ListPrefix(sc, state))
	}
	return list, prefixes
}

// source yields the positions of a range, the newest first.
type source struct {
	c      *bolt.Cursor
	prefix []byte
	at     []byte // current position, nil: exhausted
}

func (s *source) set(k []byte) {
	s.at = nil
	if k != nil && bytes.HasPrefix(k, s.prefix) {
		s.at = k[len(s.prefix):]
	}
}

// fill merges the sources after position before.
func (l *Lister) fill(before []byte, page *store.TaskPage) error {
	if before != nil {
		if _, _, err := store.ParseTaskPosition(before); err != nil {
			return err
		}
	}
	bucket, prefixes := l.ranges()
	sources := make([]source, len(prefixes))
	for i, prefix := range prefixes {
		end := layout.After(prefix)
		if before != nil {
			end = append(bytes.Clone(prefix), before...)
		}
		s := &sources[i]
		s.c, s.prefix = bucket.Cursor(), prefix
		k, _ := Before(s.c, end)
		s.set(k)
	}
	work := l.atWork
	for before != nil && len(work) > 0 && bytes.Compare(work[0].position(), before) >= 0 {
		work = work[1:]
	}
	limit := store.PageSize(l.Query.Limit)
	for {
		var best *source
		for i := range sources {
			if s := &sources[i]; s.at != nil && (best == nil || bytes.Compare(s.at, best.at) > 0) {
				best = s
			}
		}
		var next []byte
		switch {
		case len(work) > 0 && (best == nil || bytes.Compare(work[0].position(), best.at) > 0):
			next, work = work[0].position(), work[1:]
		case best != nil:
			next = best.at
			k, _ := best.c.Prev()
			best.set(k)
		default:
			return nil
		}
		t, id, err := store.ParseTaskPosition(next)
		if err != nil {
			return fmt.Errorf("%w: index entry %x: %w", store.ErrDataLoss, next, err)
		}
		if t < l.Query.Since {
			return nil // all further positions of every source are older still
		}
		h := l.header(t, id)
		if !l.Scope.Covers(h.Owner) || !l.Query.Matches(&h) {
			continue // list.ctx knows no state, and contexts share keys by hash
		}
		if len(page.Tasks) == limit {
			last := &page.Tasks[limit-1]
			page.Next = l.Query.EncodeCursor(l.Scope, store.TaskPosition(last.StatusTime, last.Task))
			return nil
		}
		page.Tasks = append(page.Tasks, h)
	}
}
