package boltstore

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
)

const (
	// maxPageValues is how many values one page looks at, at most, unless it is without
	// bulk: then as many times that as maxWindows, until it has an event.
	maxPageValues = 64
	maxWindows    = 64
)

func appendSnapshot(b []byte, after uint64, snapshot []byte) []byte {
	return appendBytes(binary.AppendUvarint(b, after), snapshot)
}

// readHead reads the head of the value at position and returns a reader that
// stands at its first event.
func readHead(log *bolt.Bucket, position uint64) (head, reader, error) {
	r := reader{b: log.Get(u64(position))}
	h := r.head()
	if r.err != nil {
		return head{}, r, fmt.Errorf("log value at %d: %w", position, r.err)
	}
	return h, r, nil
}

// finder walks the values of one task.
type finder struct {
	log *bolt.Bucket
	at  uint64 // position of h
	h   head
}

func (f *finder) seek(position uint64) (err error) {
	f.at = position
	f.h, _, err = readHead(f.log, position)
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
			if err := f.seek(f.h.jump); err != nil {
				return err
			}
			if keep(&f.h) {
				continue
			}
			*f = here
		}
		if err := f.seek(f.h.prev); err != nil {
			return err
		}
		if !keep(&f.h) {
			*f = here
			return nil
		}
	}
	return nil
}

// value walks to value number k, which must not lie behind f.
func (f *finder) value(k uint64) error {
	for f.h.k > k {
		to := f.h.prev
		if f.h.k-1<<bits.TrailingZeros64(f.h.k) >= k {
			to = f.h.jump
		}
		if err := f.seek(to); err != nil {
			return err
		}
	}
	return nil
}

// pager reads one page of a task into a view, whose Next says where it begins.
type pager struct {
	log   *bolt.Bucket
	task  *record
	near  uint64 // position of a value known to begin not behind the page, 0: none
	limit store.Limit
	view  *store.View
	size  int // of the events so far
}

// snapshot copies the newest snapshot of the task, and its bulk unless that is left
// out.
func (p *pager) snapshot() (err error) {
	t := p.task
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

// part copies the snapshot, or the bulk of one, that the value at position has.
func (p *pager) part(position, after uint64, bulk bool) ([]byte, error) {
	h, r, err := readHead(p.log, position)
	if err != nil {
		return nil, err
	}
	for range h.events {
		r.event()
	}
	has, data := r.uint(), r.bytes()
	if bulk && h.snapshot {
		has, data = r.uint(), r.bytes()
	}
	if r.err != nil || has != after {
		return nil, fmt.Errorf("%w: snapshot of task %s at %d", store.ErrDamaged, p.task.Task, position)
	}
	if n, _ := p.view.Next.Seq(); n == after {
		p.near = position
	}
	return append([]byte{}, data...), nil
}

// read copies as many events as the limit allows.
func (p *pager) read() error {
	v, t := p.view, p.task
	for windows := 0; len(v.Events) == 0 && windows < maxWindows; windows++ {
		n, _ := v.Next.Seq()
		if n >= t.Seq {
			break
		}
		positions, err := p.window(n)
		if err != nil {
			return err
		}
		for i := len(positions) - 1; i >= 0; i-- {
			full, err := p.value(positions[i])
			if err != nil {
				return err
			}
			if full {
				copyData(v.Events, p.size)
				v.More = true
				return nil
			}
		}
		p.near = positions[0]
	}
	copyData(v.Events, p.size)
	n, _ := v.Next.Seq()
	v.More = n < t.Seq
	return nil
}

// window returns the positions of the value that holds the event behind n and of the
// next ones, the last one first.
func (p *pager) window(n uint64) ([]uint64, error) {
	start := finder{log: p.log}
	at := p.task.last
	if p.near != 0 {
		at = p.near
	}
	if err := start.seek(at); err != nil {
		return nil, err
	}
	if start.h.first > n+1 {
		// The wanted value is the one before the smallest that begins behind n+1.
		if err := start.back(func(h *head) bool { return h.first > n+1 }); err != nil {
			return nil, err
		}
		if err := start.seek(start.h.prev); err != nil {
			return nil, err
		}
	}
	// Links lead backwards only: find the window's last value, walk back.
	end := finder{log: p.log}
	if err := end.seek(p.task.last); err != nil {
		return nil, err
	}
	if err := end.value(min(start.h.k+maxPageValues-1, p.task.values)); err != nil {
		return nil, err
	}
	positions := make([]uint64, 0, maxPageValues)
	for {
		positions = append(positions, end.at)
		if end.h.k == start.h.k {
			return positions, nil
		}
		if err := end.seek(end.h.prev); err != nil {
			return nil, err
		}
	}
}

// value adds the events of one value, and moves the view's Next behind what it has
// added or passed over. full: there was no room for all.
func (p *pager) value(position uint64) (full bool, err error) {
	h, r, err := readHead(p.log, position)
	if err != nil {
		return false, err
	}
	v := p.view
	if last := h.first + h.events - 1; h.onlyBulk && p.limit.NoBulk {
		if n, _ := v.Next.Seq(); last > n {
			v.Next = v.Next.Behind(last)
		}
		return false, nil
	}
	pub := h.pub
	for seq := h.first; seq < h.first+h.events; seq++ {
		e := r.event()
		if r.err != nil {
			return false, fmt.Errorf("log value at %d: %w", position, r.err)
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
		v.Next = v.Next.Behind(seq)
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
