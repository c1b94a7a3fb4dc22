package push

import (
	"context"
	"errors"

	"a2a-server/store"
	"a2a-server/task/internal/outbox"
	"a2a-server/task/internal/record"
)

// job is a webhook with something to send: a [outbox.Lane].
type job struct {
	place
	d *Deliverer
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
	p.id, p.n, ok = record.ParsePushKey(row.Key)
	return p, ok
}

// Name implements [outbox.Lane].
func (j *job) Name() string { return string(j.task[:]) + string(j.key) }

// Shares implements [outbox.Lane]. The host of a webhook that cannot be read is "".
func (j *job) Shares(ctx context.Context) ([]outbox.Share, error) {
	var host string
	var shares []outbox.Share
	w, err := j.webhook(ctx)
	if err == nil && w != nil {
		host = hostOf(w.URL)
		if !j.d.cfg.Unshared {
			caller := store.Owner(w.By.Tenant, w.By.Subject).Key()
			shares = append(shares, outbox.Share{Name: "caller " + string(caller[:]), Most: perCaller})
		}
		var c record.PushCursor
		if c, _, err = j.cursor(ctx); err == nil && c.Tries > 0 {
			shares = append(shares, outbox.Share{Name: "retries", Most: maxRetries})
		}
	}
	if errors.Is(err, store.ErrDataLoss) || errors.Is(err, errOver) {
		err = nil // which its worker handles
	}
	return append(shares, outbox.Share{Name: "host " + host, Most: maxPerHost}), err
}

// errOver means that there is nothing more to do for a webhook: it was deleted or replaced, or
// another instance delivers to it.
var errOver = errors.New("the webhook is not ours any more")

// Failed implements [outbox.Lane].
func (j *job) Failed(err error) outbox.Next {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return outbox.Next{}
	case !errors.Is(err, errOver):
		j.d.cfg.Log.Error().Err(err).Str("task_id", j.task.String()).Msg("a webhook cannot be served for now; retrying")
	}
	return outbox.Next{Rest: outbox.MaxRest, Deaf: true}
}

// rows is the stored state of a webhook.
type rows struct {
	ready, at uint64 // revs of the rows push.ready and push.cursor
	cursor    record.PushCursor
	webhook   *record.Webhook
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
func (p *place) webhook(ctx context.Context) (*record.Webhook, error) {
	row, err := p.row(ctx, record.KindPush, []byte(p.id))
	if err != nil || row == nil {
		return nil, err
	}
	w, err := record.ParseWebhook(row)
	if err != nil || w.N != p.n {
		return nil, err
	}
	return &w, nil
}

// cursor returns the cursor of the webhook, and the rev of its row. errOver: there is none.
func (p *place) cursor(ctx context.Context) (c record.PushCursor, rev uint64, err error) {
	row, err := p.row(ctx, record.KindPushCursor, p.key)
	switch {
	case err != nil:
		return c, 0, err
	case row == nil:
		return c, 0, errOver
	}
	c, err = record.ParsePushCursor(row)
	return c, row.Rev, err
}

// read reads the rows of the webhook, or returns nil if there is nothing to do for it. The row
// push.ready comes first: a later addition to the log changes it.
func (j *job) read(ctx context.Context) (*rows, error) {
	ready, err := j.row(ctx, record.KindPushReady, j.key)
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

// Step implements [outbox.Lane].
func (j *job) Step(ctx context.Context, last bool) (outbox.Next, error) {
	more, err := j.one(ctx, last)
	return outbox.Next{More: more}, err
}

// one sends the next notification. more reports whether there may be another to send now. Then
// webhooks that are ready by now come first, if yield is set.
func (j *job) one(ctx context.Context, yield bool) (more bool, err error) {
	r, err := j.read(ctx)
	if err != nil || r == nil {
		return false, err
	}
	mine, err := j.d.box.Mine(ctx, r.cursor.Epoch)
	switch own := j.store.Epoch(); {
	case err != nil:
		return false, err
	case !mine:
		return false, errOver
	case r.cursor.Dead:
		_, err := j.write(ctx, r, r.cursor, j.unready(r))
		return false, err
	case r.cursor.Tries > 0 && j.d.box.Backoff.Waits(r.cursor.Next.Time(), j.d.box.Now()):
		_, err := j.write(ctx, r, r.cursor, record.Ready(j.key, r.ready, r.cursor.Next))
		return false, err
	case r.cursor.Epoch != own:
		r.cursor.Epoch = own
		if ok, err := j.write(ctx, r, r.cursor); !ok || err != nil {
			return false, err
		}
		r.at++
	}
	e, last, err := j.next(ctx, r.cursor.Seq)
	if err == nil && e == nil {
		c := r.cursor
		c.Seq = last
		ok, err := j.write(ctx, r, c, j.unready(r))
		return !ok && err == nil, err
	}
	var f *outbox.Failure
	switch {
	case errors.Is(err, store.ErrDataLoss):
		f = &outbox.Failure{Text: "stored data is damaged"}
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
	return j.succeed(ctx, r, e, last, yield)
}

// fail records a failure.
func (j *job) fail(ctx context.Context, r *rows, f *outbox.Failure) error {
	c := r.cursor
	c.Dead = j.d.box.Backoff.Fail(&c.Attempts, *f, j.d.box.Now())
	ready := j.unready(r)
	if !c.Dead {
		ready = record.Ready(j.key, r.ready, c.Next)
	}
	ok, err := j.write(ctx, r, c, ready)
	if err == nil && !ok { // the log has grown: push.ready has changed
		ok, err = j.write(ctx, r, c)
	}
	j.d.box.CountRefused("", ok && c.Dead)
	switch {
	case !ok:
	case c.Dead:
		j.d.cfg.Log.Warn().Str("task_id", j.task.String()).Str("webhook", j.id).Int("tries", c.Tries).Str("class", c.Error).
			Msg("webhook given up: its client has to set it again")
	case c.Tries == 1: // once until it accepts again, or is given up
		j.d.cfg.Log.Info().Str("task_id", j.task.String()).Str("webhook", j.id).Str("class", c.Error).
			Msg("webhook does not accept notifications: they are tried again")
	}
	return err
}

// succeed records that an event was accepted. last is not 0 if it was the newest for the
// webhook, and the log ends there.
func (j *job) succeed(ctx context.Context, r *rows, e *store.Event, last uint64, yield bool) (more bool, err error) {
	j.d.box.Count("", outbox.Stats{Sent: 1})
	accepted := func(seq uint64, ready ...store.RowChange) (bool, error) {
		return j.write(ctx, r, record.PushCursor{Seq: seq, Epoch: r.cursor.Epoch}, ready...)
	}
	ok := false
	switch {
	case last > 0:
		ok, err = accepted(last, j.unready(r))
	case yield:
		ok, err = accepted(e.Seq, record.Ready(j.key, r.ready, store.MillisOf(j.d.box.Now())))
	}
	if more = last == 0 || !ok; err == nil && !ok {
		ok, err = accepted(e.Seq)
	}
	if ok && r.cursor.Tries > 0 {
		j.d.cfg.Log.Info().Str("task_id", j.task.String()).Str("webhook", j.id).Int("tries", r.cursor.Tries).Msg("webhook accepts notifications again")
	}
	return more && ok, err
}

func (j *job) unready(r *rows) store.RowChange {
	return store.RowChange{Kind: record.KindPushReady, Key: j.key, IfRev: r.ready, Delete: true}
}

// write puts a cursor, with other changes. ok is false if a row has changed since it was read.
func (j *job) write(ctx context.Context, r *rows, c record.PushCursor, more ...store.RowChange) (ok bool, err error) {
	row, err := c.Row(j.key, r.at)
	if err != nil {
		return false, err
	}
	err = j.d.box.Write(ctx, &store.Batch{Scope: store.System(), Task: j.task, Rows: append([]store.RowChange{row}, more...)})
	if errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	return err == nil, err
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
			if seq = at.Seq; !record.Pushable(at) {
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
