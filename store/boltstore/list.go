package boltstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"a2a-server/store"
)

// Tasks lists headers; see [store.Store].
func (h *Handle) Tasks(ctx context.Context, s store.Scope, q store.Query) (store.TaskPage, error) {
	at, err := q.DecodeCursor(s)
	if err != nil {
		return store.TaskPage{}, err
	}
	if s.IsZero() {
		return store.TaskPage{}, nil
	}
	var page store.TaskPage
	err = h.view(ctx, func(im *image) error {
		if !s.IsOwner() {
			page.Total = -1
			return walkTasks(im, s, q, at, &page)
		}
		if err := im.whole(); err != nil {
			return err
		}
		l := lister{im: im, tasks: im.bucket(bucketTask), scope: s, query: q}
		l.live()
		if err := l.page(at, &page); err != nil {
			return err
		}
		page.Total = h.db.counts.total(&l)
		return nil
	})
	if err != nil {
		return store.TaskPage{}, err
	}
	return page, nil
}

// walkTasks lists for a Tenant or System: newest id first.
func walkTasks(im *image, s store.Scope, q store.Query, at []byte, page *store.TaskPage) error {
	limit := store.PageSize(q.Limit)
	c := im.bucket(bucketTask).Cursor()
	for k, v := c.Before(at); k != nil; k, v = c.Prev() {
		t, err := decodeRecord(store.TaskID(k), v)
		switch {
		case err == nil && (!t.there() || !s.Covers(t.Owner) || !q.Matches(&t.Header)):
			continue
		case err != nil && (s != store.System() || q.Context != "" || q.State != 0):
			continue // unknown whether it belongs to the list
		case err != nil:
			t.Header = store.Header{Task: store.TaskID(k), Damaged: true}
		}
		if len(page.Tasks) == limit {
			last := page.Tasks[limit-1].Task
			page.Next = q.EncodeCursor(s, last[:])
			return nil
		}
		page.Tasks = append(page.Tasks, t.Header)
	}
	return nil
}

// lister lists an owner's tasks: the few Live tasks from the bucket live, all other tasks from
// an ordered index.
type lister struct {
	im     *image
	tasks  *bucket
	scope  store.Scope
	query  store.Query
	atWork []atWork // of the owner, matching the query, best first
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
func (l *lister) live() {
	c, sc, cx := l.im.bucket(bucketLive).Cursor(), l.scope.Key(), store.ContextKey(l.query.Context)
	for k, v := c.First(); k != nil; k, v = c.Next() {
		e, id := decodeLive(v), store.TaskID(k)
		if e.owner != sc || e.status < l.query.Since || l.query.State != 0 && e.state != l.query.State || l.query.Context != "" && e.context != cx {
			continue
		}
		l.atWork = append(l.atWork, atWork{id, e.status, e.state})
	}
	slices.SortFunc(l.atWork, later)
}

// header returns the header of the task at a position. For a task that is damaged, or missing
// although an index has it, it returns the fields that the indexes have.
func (l *lister) header(t store.Millis, id store.TaskID) store.Header {
	if rec, err := readRecord(l.tasks, id); err == nil && rec.there() {
		return rec.Header
	}
	h := store.Header{Task: id, Owner: l.scope, Context: l.query.Context, StatusTime: t, Damaged: true}
	if v := l.im.bucket(bucketLive).Get(id[:]); v != nil {
		h.State = decodeLive(v).state
	}
	c, sc := l.im.bucket(bucketList).Cursor(), l.scope.Key()
	for state := store.State(1); state <= store.MaxState; state++ {
		key := append(listPrefix(sc, state), store.TaskPosition(t, id)...)
		if k, _ := c.Seek(key); bytes.Equal(k, key) {
			h.State = state
		}
	}
	return h
}

// ranges returns the ranges of the index that hold the tasks that are not Live: bucket
// and prefixes. A prefix is followed by a task's position.
func (l *lister) ranges() (*bucket, [][]byte) {
	sc := l.scope.Key()
	if l.query.Context != "" {
		return l.im.bucket(bucketListCtx), [][]byte{ctxPrefix(sc, store.ContextKey(l.query.Context))}
	}
	list := l.im.bucket(bucketList)
	if l.query.State != 0 {
		return list, [][]byte{listPrefix(sc, l.query.State)}
	}
	var prefixes [][]byte
	for state := store.State(1); state <= store.MaxState; state++ {
		prefixes = append(prefixes, listPrefix(sc, state))
	}
	return list, prefixes
}

// source yields the positions of a range, the newest first.
type source struct {
	c      *cursor
	prefix []byte
	at     []byte // current position, nil: exhausted
}

func (s *source) set(k []byte) {
	s.at = nil
	if k != nil && bytes.HasPrefix(k, s.prefix) {
		s.at = k[len(s.prefix):]
	}
}

// page merges the sources after position before.
func (l *lister) page(before []byte, page *store.TaskPage) error {
	if before != nil {
		if _, _, err := store.ParseTaskPosition(before); err != nil {
			return err
		}
	}
	bucket, prefixes := l.ranges()
	sources := make([]source, len(prefixes))
	for i, prefix := range prefixes {
		end := after(prefix)
		if before != nil {
			end = append(bytes.Clone(prefix), before...)
		}
		s := &sources[i]
		s.c, s.prefix = bucket.Cursor(), prefix
		k, _ := s.c.Before(end)
		s.set(k)
	}
	work := l.atWork
	for before != nil && len(work) > 0 && bytes.Compare(work[0].position(), before) >= 0 {
		work = work[1:]
	}
	limit := store.PageSize(l.query.Limit)
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
		if t < l.query.Since {
			return nil // all further positions of every source are older still
		}
		h := l.header(t, id)
		if !l.scope.Covers(h.Owner) || !l.query.Matches(&h) {
			continue // list.ctx knows no state, and contexts share keys by hash
		}
		if len(page.Tasks) == limit {
			last := &page.Tasks[limit-1]
			page.Next = l.query.EncodeCursor(l.scope, store.TaskPosition(last.StatusTime, last.Task))
			return nil
		}
		page.Tasks = append(page.Tasks, h)
	}
}
