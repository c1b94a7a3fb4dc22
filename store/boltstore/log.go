package boltstore

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"

	"a2a-server/store"
)

const (
	// maxPageValues is the most values that a page looks at. A page without bulk looks at up
	// to maxWindows times as many, until it has an event.
	maxPageValues = 64
	maxWindows    = 64
)

func appendSnapshot(b []byte, after uint64, snapshot []byte) []byte {
	return appendBytes(binary.AppendUvarint(b, after), snapshot)
}

// readHead reads only the head of a task's value at position, which must be number k: a
// walk looks at many heads to find a few values.
func readHead(log values, task store.TaskID, position, k uint64) (head, error) {
	key := u64(position)
	r := reader{b: log.Get(key)}
	h := r.head(key, true /* check */)
	if r.err == nil && (h.task != task || h.k != k) {
		r.err = fmt.Errorf("%w: it is number %d of task %s", store.ErrDataLoss, h.k, h.task)
	}
	if r.err != nil {
		return head{}, fmt.Errorf("log value at %d, number %d of task %s: %w", position, k, task, r.err)
	}
	return h, nil
}

// readValue reads the whole of a task's value at position, and returns its head and a
// reader positioned at its first event.
func readValue(log values, task store.TaskID, position uint64) (head, reader, error) {
	key := u64(position)
	r := open(bucketLog, key, log.Get(key))
	h := r.head(key, false /* check */)
	if r.err == nil && h.task != task {
		r.err = fmt.Errorf("%w: it is of task %s", store.ErrDataLoss, h.task)
	}
	if r.err == nil && h.compressed {
		r.expand()
	}
	if r.err != nil {
		return head{}, r, fmt.Errorf("log value at %d, of task %s: %w", position, task, r.err)
	}
	return h, r, nil
}

// finder walks the values of a task.
type finder struct {
	log  *bucket
	task store.TaskID
	at   place // of h
	h    head
}

// place is where a value of a task is: its position and its number.
type place struct{ position, k uint64 }

// newest returns the place of the task's newest value.
func (t *record) newest() place { return place{t.last, t.values} }

// before and far return the places that a head names.
func (h *head) before() place { return place{h.prev, h.k - 1} }
func (h *head) far() place    { return place{h.jump, h.k - 1<<bits.TrailingZeros64(h.k)} }

func (f *finder) seek(to place) (err error) {
	f.at = to
	f.h, err = readHead(f.log, f.task, to.position, to.k)
	return err
}

// back walks to the smallest value for which keep still holds; keep must hold for
// the value f stands at and for a run of values that ends there.
func (f *finder) back(keep func(*head) bool) error {
	for f.h.prev != 0 {
		here := *f
		// Try the far jump first. When it overshoots, the step to k−1 has a jump
		// half as wide; that makes the walk O(log² k).
		if f.h.jump != 0 && f.h.jump != f.h.prev {
			if err := f.seek(f.h.far()); err != nil {
				return err
			}
			if keep(&f.h) {
				continue
			}
			*f = here
		}
		if err := f.seek(f.h.before()); err != nil {
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
	for f.h.k > k {
		to := f.h.before()
		if far := f.h.far(); far.k >= k {
			to = far
		}
		if err := f.seek(to); err != nil {
			return err
		}
	}
	return nil
}

// pager reads a page of a task into a view, whose Next is where the page begins.
type pager struct {
	log   *bucket
	task  record
	near  place // of a value known not to begin after the page; zero: none is
	limit store.Limit
	view  store.LogPage
	size  int // of the events so far
}

// pagers keeps pagers for the next pages. Without it, each page would leave 560 bytes of
// garbage between the allocations that waiting streams keep.
var pagers = sync.Pool{New: func() any { return new(pager) }}

// snapshot copies the newest snapshot of the task, and its bulk unless that is left
// out.
func (p *pager) snapshot() (err error) {
	t := &p.task
	if t.snapshot == 0 {
		return nil
	}
	if p.view.Snapshot, err = p.part(t.snapshot, t.Header.Snapshot, false /* bulk */); err != nil || p.limit.NoBulk {
		return err
	}
	if t.bulk != 0 {
		if p.view.Bulk, err = p.part(t.bulk, t.BulkSnapshot, true /* bulk */); err != nil {
			return err
		}
	}
	return nil
}

// part copies the snapshot, or a snapshot's bulk, of the value at position.
func (p *pager) part(position, after uint64, bulk bool) ([]byte, error) {
	h, r, err := readValue(p.log, p.task.Task, position)
	if err != nil {
		return nil, err
	}
	for range h.events {
		if r.event(); r.err != nil {
			break
		}
	}
	has, data := r.uint(), r.bytes()
	if bulk && h.snapshot {
		has, data = r.uint(), r.bytes()
	}
	if r.err != nil || has != after {
		return nil, fmt.Errorf("%w: snapshot of task %s at %d", store.ErrDataLoss, p.task.Task, position)
	}
	if n, _ := p.view.Next.Seq(); n == after {
		p.near = place{position, h.k}
	}
	return append([]byte{}, data...), nil
}

// read copies as many events as the limit allows.
func (p *pager) read() error {
	v, t := &p.view, &p.task
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
		p.near = places[0]
	}
	copyData(v.Events, p.size)
	n, _ := v.Next.Seq()
	v.More = n < t.Seq
	return nil
}

// window returns the places of the value that holds the event after n and of the next values,
// in descending order.
func (p *pager) window(n uint64) ([]place, error) {
	start := finder{log: p.log, task: p.task.Task}
	at := p.task.newest()
	if p.near != (place{}) {
		at = p.near
	}
	if err := start.seek(at); err != nil {
		return nil, err
	}
	if start.h.first > n+1 {
		// The wanted value precedes the smallest value that begins after n+1.
		if err := start.back(func(h *head) bool { return h.first > n+1 }); err != nil {
			return nil, err
		}
		if err := start.seek(start.h.before()); err != nil {
			return nil, err
		}
	}
	// Links lead backwards only: find the window's last value, walk back.
	end := finder{log: p.log, task: p.task.Task}
	if err := end.seek(p.task.newest()); err != nil {
		return nil, err
	}
	if err := end.value(min(start.h.k+maxPageValues-1, p.task.values)); err != nil {
		return nil, err
	}
	places := make([]place, 0, min(end.h.k-start.h.k+1, maxPageValues))
	for {
		places = append(places, end.at)
		if end.h.k == start.h.k {
			return places, nil
		}
		if err := end.seek(end.h.before()); err != nil {
			return nil, err
		}
	}
}

// value adds the events of a value, and moves the view's Next past the events that it has
// added or skipped. full: there was no room for all.
func (p *pager) value(at place) (full bool, err error) {
	v := &p.view
	if p.limit.NoBulk {
		// Skipped events are not read, so that a list costs nothing for artifacts.
		h, err := readHead(p.log, p.task.Task, at.position, at.k)
		if err != nil {
			return false, err
		}
		if n, _ := v.Next.Seq(); h.onlyBulk {
			if last := h.first + h.events - 1; last > n {
				v.Next = v.Next.Advance(last)
			}
			return false, nil
		}
	}
	h, r, err := readValue(p.log, p.task.Task, at.position)
	if err != nil {
		return false, err
	}
	if n, _ := v.Next.Seq(); h.k != at.k || h.first > n+1 {
		return false, fmt.Errorf("%w: log value at %d of task %s does not follow its predecessor", store.ErrDataLoss, at.position, p.task.Task)
	}
	pub := h.pub
	for seq := h.first; seq < h.first+h.events; seq++ {
		e := r.event()
		if r.err != nil {
			return false, fmt.Errorf("log value at %d: %w", at.position, r.err)
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
