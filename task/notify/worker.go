package notify

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task"
)

// worker sends the messages of a route.
type worker struct {
	p    *Pump
	name string
	poke chan struct{}   // the routes have changed
	lost map[string]bool // keys of rows whose task is damaged, so that they cannot be changed

	mailed []mailed // in the last hour; see mayMail
}

// mailed is a message that was sent to a requester.
type mailed struct {
	to, key string
	at      time.Time
}

// run works until ctx ends or the route is gone.
func (w *worker) run(ctx, lasting context.Context) {
	wake, stop := w.p.cfg.Store.WatchRows(store.System(), task.RowNotify)
	defer stop()
	for ctx.Err() == nil {
		r := w.p.route(w.name)
		if r == nil {
			return
		}
		next, err := w.step(lasting, r)
		switch {
		case err == nil, ctx.Err() != nil:
		case errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrDamaged):
			w.p.cfg.Log.Error().Err(err).Str("route", w.name).Msg("the route sends no more notifications, because the store accepts no writes")
			<-ctx.Done()
			return
		default:
			w.p.cfg.Log.Error().Err(err).Str("route", w.name).Msg("the notifications of a route cannot be read; retrying")
			next = pauseUntil{at: w.now().Add(time.Second), deaf: true}
		}
		w.rest(ctx, next, wake)
	}
}

// pauseUntil is how long a worker rests.
type pauseUntil struct {
	at   time.Time
	deaf bool // new rows change nothing
}

// rest waits for the end of a pause. Even without a pause it waits a moment, so that a worker
// under many new rows takes little of a processor.
func (w *worker) rest(ctx context.Context, next pauseUntil, wake <-chan struct{}) {
	span := min(max(next.at.Sub(w.now()), minGap), maxSleep)
	if next.deaf || span == minGap {
		wake = nil
	}
	over := time.NewTimer(span)
	defer over.Stop()
	select {
	case <-ctx.Done():
	case <-w.poke:
	case <-over.C:
	case <-wake:
	}
}

func (w *worker) now() time.Time { return w.p.cfg.Now() }

// soonest returns the earlier of two times.
func soonest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// step does what is next for the route, and returns when there may be more.
func (w *worker) step(ctx context.Context, r *Route) (next pauseUntil, err error) {
	again, now := pauseUntil{}, w.now()
	s, err := w.load(ctx)
	if err != nil {
		return again, err
	}
	if mine, err := w.claim(ctx, s); err != nil || !mine {
		return pauseUntil{at: now.Add(maxSleep), deaf: true}, settled(err)
	}
	switch {
	case len(s.Counting) > 0:
		return again, settled(w.uncount(ctx, s))
	case s.over(now) && s.full():
		return again, settled(w.fold(ctx, s))
	case s.Summary != nil && due(s.Summary.Next, now):
		return again, settled(w.summarize(ctx, r, s))
	}
	first, at, err := w.first(ctx, s, now)
	if err != nil {
		return again, err
	}
	if first == nil {
		next = pauseUntil{at: soonest(at, now.Add(maxSleep)), deaf: s.full() && !s.over(now)}
		if next.deaf {
			next.at = soonest(next.at, s.Start.Time().Add(hour))
		}
		if s.Summary != nil {
			next.at = soonest(next.at, s.Summary.Next.Time())
		}
		return next, nil
	}
	return again, settled(w.handle(ctx, r, s, first))
}

// due reports whether a time has come. No pause is longer than the longest: a time that is further
// away was written before the clock was set back.
func due(at store.Millis, now time.Time) bool {
	wait := at.Time().Sub(now)
	return wait <= 0 || wait > mostPause
}

// job is a notification and its row.
type job struct {
	row *store.Row
	n   task.Notification
}

// first returns the first message that may be sent now. Without one, at is when the first retry is
// due.
func (w *worker) first(ctx context.Context, s *state, now time.Time) (best *job, at time.Time, err error) {
	at = now.Add(maxSleep)
	var since store.Millis
	for _, index := range []string{task.IndexNew, task.IndexRetry} {
		seen := 0
		err = w.p.each(ctx, index, task.RoutePrefix(w.name), func(row *store.Row, n *task.Notification) error {
			from := n.At
			if n.Tries > 0 {
				if from = n.Next; !due(from, now) {
					at = soonest(at, from.Time())
					return errStop
				}
			}
			if n.Route != w.name || w.lost[string(row.Key)] {
				return nil // whose prefix is the same by chance
			}
			if seen++; !s.has(row.Key) && s.full() && !s.over(now) {
				if index == task.IndexNew && seen > page { // messages of the hour come first
					return errStop
				}
				return nil
			}
			if best == nil || from < since {
				best, since = &job{row, *n}, from
			}
			return errStop
		})
		if err != nil {
			return nil, at, err
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
	w.p.count(w.name, func(s *Stats) { s.Sent++ })
	w.p.cfg.Log.Debug().Str("task_id", m.Task).Str("approval_id", m.Approval).Str("route", w.name).Str("event", m.Event).Msg("notification sent")
	return w.lose(j.row.Key, w.p.remove(ctx, j.row))
}

// mayMail reports whether a requester may get the message of a row: at most [PerHour] in an hour,
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
	if n >= PerHour {
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

// send sends a message, within a time. A sender that panics fails.
func (w *worker) send(ctx context.Context, r *Route, m *Message) (err error) {
	ctx, cancel := context.WithTimeout(ctx, w.p.cfg.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			w.p.cfg.Log.Error().Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Str("route", w.name).Msg("a sender of notifications panicked")
			err = errors.New("the sender panicked; see the server's log")
		}
		if w.p.cfg.CrashPoint != nil {
			w.p.cfg.CrashPoint(PointSent)
		}
	}()
	return r.Sender.Send(ctx, m)
}

// maxError is how much of an error is kept.
const maxError = 200

// fail records a failure.
func (w *worker) fail(ctx context.Context, j *job, why error) error {
	n, now := &j.n, w.now()
	n.Tries, n.Since, n.Next, n.Error = w.p.retry(n.Tries, n.Since, why, now)
	level, text := zerolog.InfoLevel, "a notification is not accepted: it is sent again"
	if n.Next == 0 {
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
	w.p.count(w.name, func(s *Stats) {
		s.Refused++
		if n.Failed > 0 {
			s.Failed++
		}
	})
	if n.Failed > 0 || n.Tries == 1 { // once, and again only when it is over
		w.p.cfg.Log.WithLevel(level).Str("task_id", j.row.Task.String()).Str("approval_id", n.Approval).Str("route", w.name).Int("tries", n.Tries).Str("problem", n.Error).Msg(text)
	}
	return nil
}

// retry returns what is recorded after a failure. next is 0 if there is no next try.
func (p *Pump) retry(tries int, since store.Millis, why error, now time.Time) (n int, from, next store.Millis, text string) {
	at := store.MillisOf(now)
	if n, from = tries+1, since; since == 0 || since > at {
		from = at
	}
	text = visible.Shorten(visible.Line(why.Error()), maxError)
	if errors.Is(why, ErrPermanent) || now.Sub(from.Time()) >= giveUp {
		return n, from, 0, text
	}
	pause := mostPause
	if tries < 16 && firstPause<<tries < mostPause {
		pause = firstPause << tries
	}
	pause += time.Duration((p.cfg.Random()*0.4 - 0.2) * float64(pause))
	return n, from, store.MillisOf(now.Add(min(max(pause, RetryAfter(why)), mostPause))), text
}
