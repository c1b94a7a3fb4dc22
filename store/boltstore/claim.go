package boltstore

import (
	"context"
	"errors"
	"fmt"

	"a2a-server/store"
)

// Claim takes over tasks of older epochs; see [store.Store].
func (h *Handle) Claim(ctx context.Context, limit int) ([]store.Header, error) {
	if err := h.alive(); err != nil {
		return nil, err
	}
	limit = store.PageSize(limit)
	h.mu.Lock()
	from := h.claim
	h.mu.Unlock()
	var claimed []store.Header
	claim := func(r *round) error {
		claimed = nil // a round may be tried again
		if r.w.db.rebuilding.under() != nil {
			return errRebuilding // live lacks tasks
		}
		if err := r.claim(h.epoch, from[:], nil, limit, &claimed); err != nil {
			return err
		}
		if len(claimed) < limit && !from.IsZero() {
			// Tasks before the place where the last call ended may have gone live
			// under an older epoch since.
			return r.claim(h.epoch, nil, from[:], limit, &claimed)
		}
		return nil
	}
	err := error(errRebuilding)
	for errors.Is(err, errRebuilding) {
		if err = h.db.rebuilding.wait(ctx, h.db); err != nil {
			break
		}
		err = h.db.do(ctx, claim)
	}
	if err != nil {
		return nil, fmt.Errorf("claim tasks: %w", err)
	}
	h.mu.Lock()
	h.claim = store.TaskID{}
	if len(claimed) > 0 {
		h.claim = claimed[len(claimed)-1].Task
	}
	h.mu.Unlock()
	return claimed, nil
}

// claim claims from key from, inclusive, to key to, exclusive (nil: the end).
func (r *round) claim(epoch uint64, from, to []byte, limit int, claimed *[]store.Header) error {
	c := r.im.bucket(bucketLive).Cursor() // as the round began: live is written at the end
	for k, v := c.Seek(from); k != nil && (to == nil || string(k) < string(to)) && len(*claimed) < limit; k, v = c.Next() {
		if entry := decodeLive(v); entry.epoch >= epoch {
			continue
		}
		t, err := r.load(store.TaskID(k))
		if errors.Is(err, store.ErrDataLoss) {
			continue
		}
		if err != nil {
			return err
		}
		// An earlier batch of the round may have come first.
		if !t.now.there() || t.now.Phase != store.Live || t.now.Epoch >= epoch {
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
