package push

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"a2a-server/store"
	"a2a-server/task"
)

// job is the work of a worker for a webhook, until nothing is left to send, it fails, or it
// has had its share.
type job struct {
	place
	d    *Deliverer
	left int // notifications that it may still send, before another webhook may have its worker
}

// place is where the rows of a webhook are.
type place struct {
	store store.Handle
	task  store.TaskID
	key   []byte // of its rows
	id    string
	n     uint64
}

// placeOf returns the place of the webhook that has a row. ok is false if none can have it.
func placeOf(h store.Handle, row *store.Row) (p place, ok bool) {
	p = place{store: h, task: row.Task, key: row.Key}
	p.id, p.n, ok = task.ParsePushKey(row.Key)
	return p, ok
}

func (j *job) name() string { return string(j.task[:]) + string(j.key) }

// errOver means that there is nothing more to do for a webhook: it was deleted or replaced, or
// another instance delivers to it.
var errOver = errors.New("the webhook is not ours any more")

// run does the job. It returns how long the webhook is to be left alone.
func (j *job) run(ctx, lasting context.Context) (later time.Duration) {
	defer func() {
		if p := recover(); p != nil {
			j.d.cfg.Log.Error().Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Str("task_id", j.task.String()).Msg("a push notification panicked")
			later = aside
		}
	}()
	for j.left = maxRun; j.left > 0; j.left-- {
		if ctx.Err() != nil {
			return 0
		}
		more, err := j.one(lasting)
		switch {
		case err == nil && more:
		case err == nil, lasting.Err() != nil, errors.Is(err, store.ErrNotFound):
			return 0
		case errors.Is(err, errOver):
			return aside
		default:
			j.d.cfg.Log.Error().Err(err).Str("task_id", j.task.String()).Msg("a webhook cannot be served for now; retrying")
			return aside
		}
	}
	return 0
}

// rows is the stored state of a webhook.
type rows struct {
	ready, at uint64 // revs of the rows push.ready and push.cursor
	cursor    task.PushCursor
	webhook   *task.Webhook
}

// row returns a row of the task, nil if it does not exist.
func (p *place) row(ctx context.Context, kind string, key []byte) (*store.Row, error) {
	page, err := p.store.Rows(ctx, store.System(), store.RowQuery{Kind: kind, Task: p.task, Key: key})
	if err != nil || len(page.Rows) == 0 {
		return nil, err
	}
	return &page.Rows[0], nil
}

// webhook returns the webhook, nil if it was deleted or replaced.
func (p *place) webhook(ctx context.Context) (*task.Webhook, error) {
	row, err := p.row(ctx, task.RowPush, []byte(p.id))
	if err != nil || row == nil {
		return nil, err
	}
	w, err := task.ParseWebhook(row)
	if err != nil || w.N != p.n {
		return nil, err
	}
	return &w, nil
}

// cursor returns the cursor of the webhook, and the rev of its row. errOver: there is none.
func (p *place) cursor(ctx context.Context) (c task.PushCursor, rev uint64, err error) {
	row, err := p.row(ctx, task.RowPushCursor, p.key)
	switch {
	case err != nil:
		return c, 0, err
	case row == nil:
		return c, 0, errOver
	}
	c, err = task.ParsePushCursor(row)
	return c, row.Rev, err
}

// read reads the rows of the webhook, or returns nil if there is nothing to do for it. The row
// push.ready comes first: a later addition to the log changes it.
func (j *job) read(ctx context.Context) (*rows, error) {
	ready, err := j.row(ctx, task.RowPushReady, j.key)
	if err != nil || ready == nil {
		return nil, err
	}
	r := &rows{ready: ready.Rev}
	if r.cursor, r.at, err = j.cursor(ctx); err != nil {
		return nil, err
	}
	if r.webhook, err = j.webhook(ctx); err == nil && r.webhook == nil {
		err = errOver
	}
	return r, err
}

// one sends the next notification. more reports whether there may be another to send now.
func (j *job) one(ctx context.Context) (more bool, err error) {
	r, err := j.read(ctx)
	if err != nil || r == nil {
		return false, err
	}
	now := j.d.cfg.Now()
	mine := j.store.Epoch()
	switch {
	case r.cursor.Epoch > mine:
		return false, errOver
	case r.cursor.Dead:
		_, err := j.write(ctx, r, r.cursor, j.unready(r))
		return false, err
	case r.cursor.Tries > 0 && j.d.waits(r.cursor.Next.Time(), now):
		_, err := j.write(ctx, r, r.cursor, task.ReadyRow(j.key, r.ready, r.cursor.Next))
		return false, err
	case r.cursor.Epoch < mine:
		lease, err := j.store.Lease(ctx, r.cursor.Epoch)
		if err != nil {
			return false, err
		}
		if lease.Held {
			return false, errOver
		}
		c := r.cursor
		c.Epoch = mine
		if ok, err := j.write(ctx, r, c); !ok || err != nil {
			return false, err
		}
		r.cursor = c
		r.at++
	}
	e, last, err := j.next(ctx, r.cursor.Seq)
	if err == nil && e == nil {
		c := r.cursor
		c.Seq = last
		ok, err := j.write(ctx, r, c, j.unready(r))
		return !ok && err == nil, err
	}
	var f *failure
	switch {
	case errors.Is(err, store.ErrDataLoss):
		f = &failure{class: "stored data is damaged"}
	case err != nil:
		return false, err
	default:
		if f, err = j.send(ctx, r.webhook, e); err != nil {
			return false, err
		}
	}
	if err := ctx.Err(); err != nil {
		return false, err // whatever came of it: it is sent again
	}
	if j.d.cfg.CrashPoint != nil {
		j.d.cfg.CrashPoint(PointSent)
	}
	if f != nil {
		return false, j.fail(ctx, r, f)
	}
	return j.succeed(ctx, r, e, last)
}

// fail records a failure.
func (j *job) fail(ctx context.Context, r *rows, f *failure) error {
	d := j.d
	d.failed.Add(1)
	c := d.backoff.failed(r.cursor, f, d.cfg.Now())
	ready := j.unready(r)
	if !c.Dead {
		ready = task.ReadyRow(j.key, r.ready, c.Next)
	}
	ok, err := j.write(ctx, r, c, ready)
	if err == nil && !ok { // the log has grown: push.ready has changed
		ok, err = j.write(ctx, r, c)
	}
	switch {
	case !ok:
	case c.Dead:
		d.died.Add(1)
		d.cfg.Log.Warn().Str("task_id", j.task.String()).Str("webhook", j.id).Int("tries", c.Tries).Str("class", c.Error).
			Msg("webhook given up: its client has to set it again")
	case c.Tries == 1: // once until it accepts again, or is given up
		d.cfg.Log.Info().Str("task_id", j.task.String()).Str("webhook", j.id).Str("class", c.Error).
			Msg("webhook does not accept notifications: they are tried again")
	}
	return err
}

// succeed records that an event was accepted. last is not 0 if it was the newest for the
// webhook, and the log ends there.
func (j *job) succeed(ctx context.Context, r *rows, e *store.Event, last uint64) (more bool, err error) {
	d := j.d
	d.delivered.Add(1)
	ok := false
	switch {
	case last > 0:
		ok, err = j.write(ctx, r, delivered(r.cursor, last), j.unready(r))
	case j.left == 1: // webhooks that are ready by now come first
		more = true
		ok, err = j.write(ctx, r, delivered(r.cursor, e.Seq), task.ReadyRow(j.key, r.ready, store.MillisOf(d.cfg.Now())))
	}
	if err != nil {
		return false, err
	}
	if !ok {
		more = true
		if ok, err = j.write(ctx, r, delivered(r.cursor, e.Seq)); err != nil {
			return false, err
		}
	}
	if ok && r.cursor.Tries > 0 {
		d.cfg.Log.Info().Str("task_id", j.task.String()).Str("webhook", j.id).Int("tries", r.cursor.Tries).Msg("webhook accepts notifications again")
	}
	return more && ok, nil
}

func (j *job) unready(r *rows) store.RowChange {
	return store.RowChange{Kind: task.RowPushReady, Key: j.key, IfRev: r.ready, Delete: true}
}

// write puts a cursor, with other changes. ok is false if a row has changed since it was read.
// While the disk cannot be written it keeps trying: a sent notification must not be sent again
// and again.
func (j *job) write(ctx context.Context, r *rows, c task.PushCursor, more ...store.RowChange) (ok bool, err error) {
	row, err := c.Row(j.key, r.at)
	if err != nil {
		return false, err
	}
	b := &store.Batch{Scope: store.System(), Task: j.task, Rows: append([]store.RowChange{row}, more...)}
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := j.d.committed(j.store.Append(ctx, b))
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, store.ErrConflict):
			return false, nil
		case !errors.Is(err, store.ErrUnavailable):
			return false, err
		}
		if j.d.pause(ctx, pause, nil, nil) == pauseOver {
			return false, ctx.Err()
		}
	}
}

// next returns the first event after seq that the webhook is notified of, or nil if there is
// none. If no such event follows it, last is the seq of the log's end.
func (j *job) next(ctx context.Context, seq uint64) (e *store.Event, last uint64, err error) {
	for {
		p, err := j.store.Read(ctx, store.System(), j.task, store.After(seq), store.Limit{})
		if err != nil {
			return nil, 0, err
		}
		for i := range p.Events {
			at := &p.Events[i]
			if seq = at.Seq; !task.Pushable(at) {
				continue
			}
			if e != nil {
				return e, 0, nil
			}
			e = at
		}
		switch {
		case !p.More:
			return e, seq, nil
		case e != nil:
			return e, 0, nil
		}
	}
}
