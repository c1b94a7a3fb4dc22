package read

import (
	"fmt"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/layout"
)

const (
	// maxPageValues is the most values that a page looks at. A page without bulk looks at up
	// to maxWindows times as many, until it has an event.
	maxPageValues = 64
	maxWindows    = 64
)

// finder walks the values of a task.
type finder struct {
	log  values
	task store.TaskID
	at   layout.Place // of h
	h    layout.LogHead
}

func (f *finder) seek(to layout.Place) (err error) {
	f.at = to
	f.h, err = layout.ReadHead(f.log, f.task, to.Position, to.K)
	return err
}

// back walks to the smallest value for which keep still holds; keep must hold for
// the value f stands at and for a run of values that ends there.
func (f *finder) back(keep func(*layout.LogHead) bool) error {
	for f.h.Prev != 0 {
		here := *f
		// Try the far jump first. When it overshoots, the step to k−1 has a jump
		// half as wide; that makes the walk O(log² k).
		if f.h.Jump != 0 && f.h.Jump != f.h.Prev {
			if err := f.seek(f.h.Far()); err != nil {
				return err
			}
			if keep(&f.h) {
				continue
			}
			*f = here
		}
		if err := f.seek(f.h.Before()); err != nil {
			return err
		}
		if !keep(&f.h) {
			*f = here
			return nil
		}
	}
	return nil
}

// value walks to value number k, which must not be after f.
func (f *finder) value(k uint64) error {
	for f.h.K > k {
		to := f.h.Before()
		if far := f.h.Far(); far.K >= k {
			to = far
		}
		if err := f.seek(to); err != nil {
			return err
		}
	}
	return nil
}

// Log returns a page of the log of a task in scope s, which begins at from.
func Log(tx *bolt.Tx, s store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.LogPage, error) {
	t, err := Task(tx.Bucket(layout.BucketTask), s, id)
	if err != nil {
		return store.LogPage{}, err
	}
	p := pager{log: valuesOf(tx, layout.BucketLog), task: t, limit: limit}
	p.page.Header, p.page.Next = t.Header, from.Start(&t.Header, limit.NoBulk)
	if limit.Refuses(&t.Header) {
		n, _ := p.page.Next.Seq()
		p.page.More = n < t.Seq
		return p.page, nil
	}
	if _, exact := from.Seq(); !exact {
		err = p.snapshot()
	}
	if err == nil {
		err = p.read()
	}
	return p.page, err
}

// pager reads a page of a task. The Next of the page is where it begins, and then the place after the
// events so far.
type pager struct {
	log   values
	task  layout.HeaderValue
	known layout.Place // of a value known not to begin after the page; zero: none is
	limit store.Limit
	page  store.LogPage
	size  int // of the events so far
}

// snapshot copies the newest snapshot of the task, and its bulk unless that is left
// out.
func (p *pager) snapshot() (err error) {
	t := &p.task
	if t.SnapshotAt == 0 {
		return nil
	}
	if p.page.Snapshot, err = p.snapshotAt(t.SnapshotAt, t.Header.Snapshot, false /* bulk */); err != nil || p.limit.NoBulk {
		return err
	}
	if t.BulkAt != 0 {
		if p.page.Bulk, err = p.snapshotAt(t.BulkAt, t.BulkSnapshot, true /* bulk */); err != nil {
			return err
		}
	}
	return nil
}

// snapshotAt copies the snapshot, or a snapshot's bulk, of the value at position.
func (p *pager) snapshotAt(position, after uint64, bulk bool) ([]byte, error) {
	h, r, err := layout.ReadValue(p.log, p.task.Task, position)
	if err != nil {
		return nil, err
	}
	for range h.Events {
		if r.Event(); r.Err != nil {
			break
		}
	}
	has, data := r.Uint(), r.Bytes()
	if bulk && h.Snapshot {
		has, data = r.Uint(), r.Bytes()
	}
	if r.Err != nil || has != after {
		return nil, fmt.Errorf("%w: snapshot of task %s at %d", store.ErrDataLoss, p.task.Task, position)
	}
	if n, _ := p.page.Next.Seq(); n == after {
		p.known = layout.Place{Position: position, K: h.K}
	}
	return append([]byte{}, data...), nil
}

// read copies as many events as the limit allows.
func (p *pager) read() error {
	v, t := &p.page, &p.task
	for windows := 0; len(v.Events) == 0 && windows < maxWindows; windows++ {
		n, _ := v.Next.Seq()
		if n >= t.Seq {
			break
		}
		places, err := p.window(n)
		if err != nil {
			return err
		}
		for i := len(places) - 1; i >= 0; i-- {
			full, err := p.value(places[i])
			if err != nil {
				return err
			}
			if full {
				copyData(v.Events, p.size)
				v.More = true
				return nil
			}
		}
		p.known = places[0]
	}
	copyData(v.Events, p.size)
	n, _ := v.Next.Seq()
	v.More = n < t.Seq
	return nil
}

// window returns the places of the value that holds the event after n and of the next values,
// in descending order.
func (p *pager) window(n uint64) ([]layout.Place, error) {
	start := finder{log: p.log, task: p.task.Task}
	at := p.task.Newest()
	if p.known != (layout.Place{}) {
		at = p.known
	}
	if err := start.seek(at); err != nil {
		return nil, err
	}
	if start.h.First > n+1 {
		// The wanted value precedes the smallest value that begins after n+1.
		if err := start.back(func(h *layout.LogHead) bool { return h.First > n+1 }); err != nil {
			return nil, err
		}
		if err := start.seek(start.h.Before()); err != nil {
			return nil, err
		}
	}
	// Links lead backwards only: find the window's last value, walk back.
	end := finder{log: p.log, task: p.task.Task}
	if err := end.seek(p.task.Newest()); err != nil {
		return nil, err
	}
	if err := end.value(min(start.h.K+maxPageValues-1, p.task.Values)); err != nil {
		return nil, err
	}
	places := make([]layout.Place, 0, min(end.h.K-start.h.K+1, maxPageValues))
	for {
		places = append(places, end.at)
		if end.h.K == start.h.K {
			return places, nil
		}
		if err := end.seek(end.h.Before()); err != nil {
			return nil, err
		}
	}
}

// value adds the events of a value, and moves the view's Next past the events that it has
// added or skipped. full: there was no room for all.
func (p *pager) value(at layout.Place) (full bool, err error) {
	v := &p.page
	if p.limit.NoBulk {
		// Skipped events are not read, so that a list costs nothing for artifacts.
		h, err := layout.ReadHead(p.log, p.task.Task, at.Position, at.K)
		if err != nil {
			return false, err
		}
		if n, _ := v.Next.Seq(); h.OnlyBulk {
			if last := h.First + h.Events - 1; last > n {
				v.Next = v.Next.Advance(last)
			}
			return false, nil
		}
	}
	h, r, err := layout.ReadValue(p.log, p.task.Task, at.Position)
	if err != nil {
		return false, err
	}
	if n, _ := v.Next.Seq(); h.K != at.K || h.First > n+1 {
		return false, fmt.Errorf("%w: log value at %d of task %s does not follow its predecessor", store.ErrDataLoss, at.Position, p.task.Task)
	}
	pub := h.Pub
	for seq := h.First; seq < h.First+h.Events; seq++ {
		e := r.Event()
		if r.Err != nil {
			return false, fmt.Errorf("log value at %d: %w", at.Position, r.Err)
		}
		if e.Public {
			pub++
			e.Pub = pub
		}
		if n, _ := v.Next.Seq(); seq <= n {
			continue
		}
		e.Seq = seq
		if v.Next.Holds(&e, p.limit.NoBulk) {
			if len(v.Events) > 0 && (len(v.Events) == p.limit.Events || p.size+len(e.Data) > p.limit.Bytes) {
				return true, nil
			}
			p.size += len(e.Data)
			v.Events = append(v.Events, e)
		}
		v.Next = v.Next.Advance(seq)
	}
	return false, nil
}

// copyData moves the data of all events out of the file into one allocation.
func copyData(events []store.Event, size int) {
	buf := make([]byte, 0, size)
	for i := range events {
		start := len(buf)
		buf = append(buf, events[i].Data...)
		events[i].Data = buf[start:len(buf):len(buf)]
	}
}
