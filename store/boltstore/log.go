package boltstore

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
)

// window of values that one page looks at, at most.
const maxPageValues = 64

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

// readPage copies up to limit events behind seq n of a task into v. from, when it
// is not 0, is the position of a value known to begin not behind n+1.
func readPage(log *bolt.Bucket, t *record, n uint64, from uint64, limit store.Limit, v *store.View) error {
	if n >= t.Seq {
		return nil
	}
	start := finder{log: log}
	if err := start.seek(t.last); err != nil {
		return err
	}
	if from != 0 {
		if err := start.seek(from); err != nil {
			return err
		}
	} else if start.h.first > n+1 {
		// The wanted value is the one before the smallest that begins behind n+1.
		if err := start.back(func(h *head) bool { return h.first > n+1 }); err != nil {
			return err
		}
		if err := start.seek(start.h.prev); err != nil {
			return err
		}
	}
	// Links lead backwards only: find the page's last value, walk back, read forth.
	end := finder{log: log}
	if err := end.seek(t.last); err != nil {
		return err
	}
	if err := end.value(min(start.h.k+maxPageValues-1, t.values)); err != nil {
		return err
	}
	positions := make([]uint64, 0, maxPageValues)
	for {
		positions = append(positions, end.at)
		if end.h.k == start.h.k {
			break
		}
		if err := end.seek(end.h.prev); err != nil {
			return err
		}
	}
	var size int
	for i := len(positions) - 1; i >= 0; i-- {
		h, r, err := readHead(log, positions[i])
		if err != nil {
			return err
		}
		pub := h.pub
		for seq := h.first; seq < h.first+h.events; seq++ {
			e := r.event()
			if r.err != nil {
				return fmt.Errorf("log value at %d: %w", positions[i], r.err)
			}
			if e.Public {
				pub++
				e.Pub = pub
			}
			if seq <= n {
				continue
			}
			if len(v.Events) > 0 && (len(v.Events) == limit.Events || size+len(e.Data) > limit.Bytes) {
				v.More = true
				copyData(v.Events, size)
				return nil
			}
			e.Seq = seq
			size += len(e.Data)
			v.Events = append(v.Events, e)
		}
	}
	copyData(v.Events, size)
	v.More = len(v.Events) > 0 && v.Events[len(v.Events)-1].Seq < t.Seq
	return nil
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

// readSnapshot copies the newest snapshot of a task into v.
func readSnapshot(log *bolt.Bucket, t *record, v *store.View) error {
	h, r, err := readHead(log, t.snapshot)
	if err != nil {
		return err
	}
	for range h.events {
		r.event()
	}
	after := r.uint()
	snapshot := r.bytes()
	if r.err != nil || after != t.Header.Snapshot {
		return fmt.Errorf("%w: snapshot of task %s at %d", store.ErrDamaged, t.Task, t.snapshot)
	}
	v.Snapshot = append([]byte{}, snapshot...)
	return nil
}
