package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"a2a-server/store"
	"a2a-server/task/internal/outbox"
	"a2a-server/task/internal/record"
)

// rowRoute is the state of a route, in the scope owner. Key: the name of the route; value: the
// JSON of a state.
const rowRoute = "notify.route"

// state is the state of a route.
type state struct {
	V     int          `json:"v"`               // record.Version
	Epoch uint64       `json:"epoch"`           // of the instance that sends
	Start store.Millis `json:"start,omitempty"` // of the hour; 0: none has begun
	Sent  []string     `json:"sent,omitempty"`  // ids of the messages that were tried in it
	// Counting are messages that Summary counts, whose rows may still be there: a crash does not
	// count them twice.
	Counting []counted `json:"counting,omitempty"`
	Summary  *summary  `json:"summary,omitempty"` // to be sent; incomplete while a full hour is over
	Lost     *summary  `json:"lost,omitempty"`    // that failed, added up

	rev uint64 // of its row
}

// counted is the place of a row.
type counted struct {
	Task store.TaskID `json:"task"`
	Key  []byte       `json:"key"`
}

// summary is a message that stands for others.
type summary struct {
	ID    string       `json:"id"`
	Count int          `json:"count"`
	At    store.Millis `json:"at"` // end of the hour
	record.Attempts
}

// full reports whether the hour has all its messages.
func (s *state) full() bool { return len(s.Sent) >= perHour }

// has reports whether the message of a row was tried in the hour.
func (s *state) has(key []byte) bool { return slices.Contains(s.Sent, hex.EncodeToString(key)) }

// over reports whether the hour is over, also if the clock was set back to before it.
func (s *state) over(now time.Time) bool {
	passed := now.Sub(s.Start.Time())
	return passed >= hour || passed < -time.Second
}

// load reads the state of the route.
func (w *worker) load(ctx context.Context) (*state, error) {
	s := &state{V: record.Version}
	rows, err := w.p.cfg.Store.Rows(ctx, owner(), store.RowQuery{Kind: rowRoute, Key: []byte(w.name)})
	damaged := errors.Is(err, store.ErrDataLoss)
	switch {
	case damaged:
	case err != nil:
		return nil, fmt.Errorf("read the route: %w", err)
	case len(rows.Rows) == 0:
		return s, nil
	default:
		s.rev = rows.Rows[0].Rev
		damaged = rows.Rows[0].Damaged || json.Unmarshal(rows.Rows[0].Value, s) != nil || s.V != record.Version
	}
	if damaged {
		w.p.cfg.Log.Error().Str("route", w.name).Msg("the stored state of a route is damaged: its hour begins again")
		s = &state{V: record.Version, rev: store.Any}
	}
	return s, nil
}

// save writes the state of the route.
func (w *worker) save(ctx context.Context, s *state) error {
	row, err := record.Encode(rowRoute, []byte(w.name), s.rev, s)
	if err == nil {
		err = w.p.write(ctx, store.TaskID{}, row)
	}
	if err == nil && s.rev != store.Any {
		s.rev++
	}
	return err
}

// claim reports whether this instance sends for the route, and makes it so if it may.
func (w *worker) claim(ctx context.Context, s *state) (mine bool, err error) {
	epoch := w.p.box.Store.Epoch()
	mine, err = w.p.box.Mine(ctx, s.Epoch)
	if err != nil || !mine || s.Epoch == epoch {
		return mine, err
	}
	s.Epoch = epoch
	return true, w.save(ctx, s)
}

// admit makes a message one of the hour.
func (w *worker) admit(ctx context.Context, s *state, key []byte) error {
	now := w.now()
	if s.Start == 0 || s.over(now) {
		s.Start, s.Sent = store.MillisOf(now), nil
	}
	if s.has(key) {
		return nil
	}
	s.Sent = append(s.Sent, hex.EncodeToString(key))
	return w.save(ctx, s)
}

// fold counts the rest of a full hour that is over in a summary, a page at a time, and removes it.
// With nothing left, the hour ends.
func (w *worker) fold(ctx context.Context, s *state) error {
	end := store.MillisOf(s.Start.Time().Add(hour))
	if now := store.MillisOf(w.now()); now < s.Start {
		end = max(end, now)
	}
	for _, index := range []string{record.IndexNew, record.IndexRetry} {
		for j, err := range w.p.all(ctx, index, record.RoutePrefix(w.name)) {
			if err != nil {
				return err
			}
			if max(j.n.At, j.n.Next) > end || len(s.Counting) >= page {
				break
			}
			if j.n.Route == w.name && !s.has(j.row.Key) && !w.lost[string(j.row.Key)] {
				s.Counting = append(s.Counting, counted{j.row.Task, j.row.Key})
			}
		}
	}
	if len(s.Counting) == 0 {
		s.Start, s.Sent = 0, nil
		return w.save(ctx, s)
	}
	sum := sha256.Sum256([]byte(w.name + "\x00" + strconv.FormatInt(int64(s.Start), 10)))
	id := "ntf_" + hex.EncodeToString(sum[:16])
	if s.Summary == nil {
		s.Summary = &summary{}
	}
	if s.Summary.ID != id { // a summary that could not be sent is part of its successor
		s.Summary.ID, s.Summary.Tries, s.Summary.Next, s.Summary.At = id, 0, 0, end
	}
	s.Summary.Count += len(s.Counting)
	if err := w.save(ctx, s); err != nil {
		return err
	}
	if w.p.cfg.CrashPoint != nil {
		w.p.cfg.CrashPoint(PointCounted)
	}
	return w.uncount(ctx, s)
}

// uncount removes the rows that the summary counts.
func (w *worker) uncount(ctx context.Context, s *state) error {
	for _, at := range s.Counting {
		gone := settled(w.p.write(ctx, at.Task, store.RowChange{Kind: record.KindNotify, Key: at.Key, IfRev: store.Any, Delete: true}))
		if err := w.lose(at.Key, gone); err != nil {
			return err
		}
	}
	s.Counting = nil
	return w.save(ctx, s)
}

// summarize sends the summary.
func (w *worker) summarize(ctx context.Context, r *Route, s *state) error {
	m := &Message{ID: s.Summary.ID, Event: EventSummary, Route: w.name, At: s.Summary.At.Time(), Count: s.Summary.Count, Link: w.p.link("")}
	sent := w.send(ctx, r, m)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // whatever came of it: it is sent again
	}
	count := s.Summary.Count
	if sent == nil {
		s.Summary = nil
		w.p.box.Count(w.name, outbox.Stats{Sent: 1})
		return w.save(ctx, s)
	}
	of := s.Summary
	failed := w.p.box.Backoff.Fail(&of.Attempts, failure(sent), w.now())
	if failed {
		if s.Lost != nil {
			of.Count += s.Lost.Count
		}
		s.Summary, s.Lost = nil, of
		of.At = store.MillisOf(w.now())
		w.p.cfg.Log.Warn().Str("route", w.name).Int("count", count).Int("tries", of.Tries).Str("problem", of.Error).Msg("the summary of a route has failed: the messages that it counts were not sent")
	}
	w.p.box.CountRefused(w.name, failed)
	return w.save(ctx, s)
}
