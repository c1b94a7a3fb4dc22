package tasklog

import (
	"context"
	"errors"
	"fmt"

	"a2a-server/store"
	"a2a-server/task/internal/fold"
)

// Bounds of [Reader.Earlier]. A task with a larger log is left out.
const (
	maxEarlier     = 50
	maxEarlierTask = 1 << 20
)

// Earlier calls each with the ended tasks of a context that owner sees, newest first, until it
// wants no more. The task except is left out, and so are tasks that cannot be read.
func (r *Reader) Earlier(ctx context.Context, owner store.Scope, contextID, except string, each func(*fold.Fold) (more bool, err error)) error {
	page, err := r.env.Store.Tasks(ctx, owner, store.Query{Context: contextID, Limit: maxEarlier})
	if err != nil {
		return fmt.Errorf("list the earlier tasks of the context: %w", err)
	}
	for i := range page.Tasks {
		h := &page.Tasks[i]
		if h.Task.String() == except || h.Phase != store.Final || h.Damaged {
			continue
		}
		f, _, err := r.Ended(ctx, owner, h.Task)
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		if more, err := each(f); err != nil || !more {
			return err
		}
	}
	return nil
}

// Ended returns the fold and the header of an ended task of owner. Without an error, the fold is nil if the
// task cannot be read or has a larger log than [Reader.Earlier] reads, and the header is zero if there is no
// such task or it has not ended.
func (r *Reader) Ended(ctx context.Context, owner store.Scope, id store.TaskID) (*fold.Fold, store.Header, error) {
	f, h, err := r.Load(ctx, owner, id, Reading{Most: maxEarlierTask})
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrDataLoss), err == nil && h.Phase != store.Final:
		return nil, store.Header{}, nil
	case err != nil:
		return nil, store.Header{}, err
	}
	return f, h, nil
}
