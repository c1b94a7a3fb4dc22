package push

import (
	"context"
	"errors"
	"time"

	"a2a-server/store"
	"a2a-server/task"
)

// waits reports whether a webhook has to wait until a time. None waits longer than the
// longest pause: a time that is further away was written before the clock was set back.
func (d *Deliverer) waits(until, now time.Time) bool {
	pause := until.Sub(now)
	return pause > 0 && pause <= d.backoff.most
}

// checkClock makes webhooks ready whose time is too far away, after the start and whenever the
// clock has been set back. Otherwise they would wait for the clock to catch up.
func (d *Deliverer) checkClock(ctx context.Context) error {
	now := d.cfg.Now().Round(0)
	back := now.Before(d.newest)
	d.newest = now
	if d.clockChecked && !back {
		return nil
	}
	d.clockChecked = false
	for q := (store.RowQuery{Kind: task.RowPushReady, Index: task.IndexReady, Limit: page}); ; {
		rows, err := d.store.Rows(ctx, store.System(), q)
		if err != nil {
			return err
		}
		var commits []*store.Commit
		for i := range rows.Rows {
			row := &rows.Rows[i]
			at, ok := task.ParseReadyKey(row.Value)
			if row.Damaged || !ok || !at.Time().After(now) || d.waits(at.Time(), now) {
				continue
			}
			commits = append(commits, d.store.Append(ctx, &store.Batch{
				Scope: store.System(), Task: row.Task, Rows: []store.RowChange{task.ReadyRow(row.Key, row.Rev, store.MillisOf(now))},
			}))
		}
		for _, c := range commits {
			switch err := d.committed(c); {
			case err == nil, errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound): // it has changed
			case errors.Is(err, store.ErrUnavailable):
				return nil // the next pass tries again
			default:
				return err
			}
		}
		if rows.Next == "" {
			d.clockChecked = true
			return nil
		}
		q.Cursor = rows.Next
	}
}
