package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task/internal/outbox"
	"a2a-server/task/internal/record"
)

// worker sends the messages of a route: a [outbox.Lane].
type worker struct {
	p     *Pump
	name  string
	route atomic.Pointer[Route] // nil: it is gone
	lost  map[string]bool       // keys of rows whose task is damaged, so that they cannot be changed

	mailed []mailed // in the last hour; see mayMail
}

// mailed is a message that was sent to a requester.
type mailed struct {
	to, key string
	at      time.Time
}

// Name implements [outbox.Lane].
func (w *worker) Name() string { return w.name }

// Shares implements [outbox.Lane]: a dead route holds up no other.
func (w *worker) Shares(context.Context) ([]outbox.Share, error) { return nil, nil }

// Failed implements [outbox.Lane].
func (w *worker) Failed(err error) outbox.Next {
	text := "the notifications of a route cannot be read; retrying"
	if errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrDamaged) {
		text = "the route sends no more notifications, because the store accepts no writes"
	}
	w.p.cfg.Log.Error().Err(err).Str("route", w.name).Msg(text)
	return outbox.Next{Rest: time.Second, Deaf: true}
}

func (w *worker) now() time.Time { return w.p.box.Now() }

// Step implements [outbox.Lane]: it does what is next for the route.
func (w *worker) Step(ctx context.Context, _ bool) (outbox.Next, error) {
	r, now, more := w.route.Load(), w.now(), outbox.Next{More: true}
	if r == nil {
		return outbox.Next{}, nil
	}
	s, err := w.load(ctx)
	if err != nil {
		return more, err
	}
	if mine, err := w.claim(ctx, s); err != nil || !mine {
		return outbox.Next{Rest: outbox.MaxRest, Deaf: true}, settled(err)
	}
	switch {
	case len(s.Counting) > 0:
		return more, settled(w.uncount(ctx, s))
	case s.over(now) && s.full():
		return more, settled(w.fold(ctx, s))
	case s.Summary != nil && w.due(s.Summary.Next, now):
		return more, settled(w.summarize(ctx, r, s))
	}
	first, at, err := w.first(ctx, s, now)
	if err != nil {
		return more, err
	}
	if first != nil {
		return more, settled(w.handle(ctx, r, s, first))
	}
	full := s.full() && !s.over(now)
	if full {
		at = min(at, store.MillisOf(s.Start.Time().Add(hour)))
	}
	if s.Summary != nil {
		at = min(at, s.Summary.Next)
	}
	return outbox.Next{Rest: at.Time().Sub(now), Deaf: full}, nil
}

// job is a notification and its row.
type job struct {
	row *store.Row
	n   record.Notification
}

// first returns the first message that may be sent now. Without one, at is when the first retry is
// due.
func (w *worker) first(ctx context.Context, s *state, now time.Time) (best *job, at store.Millis, err error) {
	at = store.MillisOf(now.Add(outbox.MaxRest))
	var since store.Millis
	for _, index := range []string{record.IndexNew, record.IndexRetry} {
		seen := 0
		for j, err := range w.p.all(ctx, index, record.RoutePrefix(w.name)) {
			if err != nil {
				return nil, at, err
			}
			from := j.n.At
			if j.n.Tries > 0 {
				if from = j.n.Next; !w.due(from, now) {
					at = min(at, from)
					break
				}
			}
			if j.n.Route != w.name || w.lost[string(j.row.Key)] {
				continue // whose prefix is the same by chance
			}
			if seen++; !s.has(j.row.Key) && s.full() && !s.over(now) {
				if index == record.IndexNew && seen > page { // messages of the hour come first
					break
				}
				continue
			}
			if best == nil || from < since {
				best, since = j, from
			}
			break
		}
	}
	return best, at, nil
}

// handle sends a message, or drops it if it is out of date.
func (w *worker) handle(ctx context.Context, r *Route, s *state, j *job) error {
	m, err := w.p.message(ctx, r, j)
	switch {
	case errors.Is(err, store.ErrDataLoss):
		return w.lose(j.row.Key, w.fail(ctx, j, fmt.Errorf("%w: stored data of the approval is damaged", ErrPermanent)))
	case err != nil:
		return err
	case m == nil, m.To != "" && !w.mayMail(m.To, string(j.row.Key)):
		return w.lose(j.row.Key, w.p.remove(ctx, j.row))
	case m.To == "":
		if err := w.admit(ctx, s, j.row.Key); err != nil {
			return err
		}
	}
	sent := w.send(ctx, r, m)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // whatever came of it: it is sent again
	}
	if sent != nil {
		return w.lose(j.row.Key, w.fail(ctx, j, sent))
	}
	w.p.box.Count(w.name, outbox.Stats{Sent: 1})
	w.p.cfg.Log.Debug().Str("task_id", m.Task).Str("approval_id", m.Approval).Str("route", w.name).Str("event", m.Event).Msg("notification sent")
	return w.lose(j.row.Key, w.p.remove(ctx, j.row))
}

// mayMail reports whether a requester may get the message of a row: at most perHour in an hour,
// as far as this process knows. Repeating a message counts once.
func (w *worker) mayMail(to, key string) bool {
	now, n := w.now(), 0
	w.mailed = slices.DeleteFunc(w.mailed, func(m mailed) bool { return now.Sub(m.at).Abs() >= hour })
	for _, m := range w.mailed {
		if m.key == key {
			return true
		}
		if m.to == to {
			n++
		}
	}
	if n >= perHour {
		w.p.cfg.Log.Info().Str("route", w.name).Msg("a notification is dropped, because its requester has had all of the hour")
		return false
	}
	w.mailed = append(w.mailed, mailed{to, key, now})
	return true
}

// lose sets a message aside until the next start if err says that its task is damaged: what came of
// the message cannot be recorded, so it would be sent again and again.
func (w *worker) lose(key []byte, err error) error {
	if !errors.Is(err, store.ErrDataLoss) {
		return err
	}
	if w.lost == nil {
		w.lost = map[string]bool{}
	}
	w.lost[string(key)] = true
	w.p.cfg.Log.Error().Err(err).Str("route", w.name).Msg("a notification of a damaged task cannot be recorded: it is set aside until the next start")
	return nil
}

// due reports whether a time has come.
func (w *worker) due(at store.Millis, now time.Time) bool {
	return !w.p.box.Backoff.Waits(at.Time(), now)
}

// send sends a message, within a time. A sender that panics fails.
func (w *worker) send(ctx context.Context, r *Route, m *Message) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := w.p.box.Guard(func() error { return r.Sender.Send(ctx, m) })
	if w.p.cfg.CrashPoint != nil {
		w.p.cfg.CrashPoint(PointSent)
	}
	return err
}

// maxError is how much of an error is kept.
const maxError = 200

// fail records a failure.
func (w *worker) fail(ctx context.Context, j *job, why error) error {
	n, now := &j.n, w.now()
	level, text := zerolog.InfoLevel, "a notification is not accepted: it is sent again"
	if w.p.box.Backoff.Fail(&n.Attempts, failure(why), now) {
		n.Failed = store.MillisOf(now)
		level, text = zerolog.WarnLevel, "a notification has failed: 'a2a-server notifications list' has it"
	}
	row, err := n.Row(j.row.Rev)
	if err == nil {
		err = w.p.write(ctx, j.row.Task, row)
	}
	if err != nil {
		return err
	}
	w.p.box.CountRefused(w.name, n.Failed > 0)
	if n.Failed > 0 || n.Tries == 1 { // once, and again only when it is over
		w.p.cfg.Log.WithLevel(level).Str("task_id", j.row.Task.String()).Str("approval_id", n.Approval).Str("route", w.name).Int("tries", n.Tries).Str("problem", n.Error).Msg(text)
	}
	return nil
}

// failure returns what is recorded of an error of a sender.
func failure(why error) outbox.Failure {
	f := outbox.Failure{Text: visible.Shorten(visible.Line(why.Error()), maxError), Final: errors.Is(why, ErrPermanent)}
	if named, is := errors.AsType[*DelayError](why); is {
		f.After = named.After
	}
	return f
}
