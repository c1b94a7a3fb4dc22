package writer

import (
	"context"
	"errors"
	"fmt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/layout"
	"a2a-server/store/boltstore/internal/read"
)

// NewEpoch returns the number of a new instance, which is durable.
func (w *Writer) NewEpoch() (epoch uint64, err error) {
	err = w.do(context.Background(), func(r *round) error {
		epoch = layout.ReadU64(r.meta.Get(layout.KeyEpoch)) + 1
		r.epoch = epoch
		return r.put(r.meta, layout.KeyEpoch, layout.U64(epoch))
	})
	if err != nil {
		return 0, fmt.Errorf("raise epoch: %w", err)
	}
	return epoch, nil
}

// Release marks the file to be moved, durably: a copy of it may be used, and it may not.
func (w *Writer) Release() error {
	return w.do(context.Background(), func(r *round) error { return r.put(r.meta, layout.KeyReleased, []byte{1}) })
}

// Claim takes over up to limit tasks of older epochs, from a task on; see [store.Store].
func (w *Writer) Claim(ctx context.Context, epoch uint64, from store.TaskID, limit int) (claimed []store.Header, err error) {
	err = w.do(ctx, func(r *round) error {
		claimed = nil // a round may be tried again
		if err := r.claim(epoch, from[:], nil, limit, &claimed); err != nil {
			return err
		}
		if len(claimed) < limit && !from.IsZero() {
			// Tasks before the place where the last call ended may have gone live
			// under an older epoch since.
			return r.claim(epoch, nil, from[:], limit, &claimed)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("claim tasks: %w", err)
	}
	return claimed, nil
}

// claim claims from key from, inclusive, to key to, exclusive (nil: the end).
func (r *round) claim(epoch uint64, from, to []byte, limit int, claimed *[]store.Header) error {
	c := r.live.Cursor() // as the round began: live is written at the end
	for k, v := c.Seek(from); k != nil && (to == nil || string(k) < string(to)) && len(*claimed) < limit; k, v = c.Next() {
		if entry := read.LiveEntryAt(v); entry.Epoch >= epoch {
			continue // no instance holds an older epoch: this instance is later
		}
		t, err := r.load(store.TaskID(k))
		if errors.Is(err, store.ErrDataLoss) {
			continue
		}
		if err != nil {
			return err
		}
		// An earlier batch of the round may have come first.
		if !t.now.Visible() || t.now.Phase != store.Live || t.now.Epoch >= epoch {
			continue
		}
		t.now.Fence++
		t.now.Rev++
		t.now.Epoch = epoch
		t.changed, r.dirty = true, true
		*claimed = append(*claimed, t.now.Header)
	}
	return nil
}
