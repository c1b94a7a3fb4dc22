package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/tool"
)

// Look is the [Input] with the result of a look at a suspended call, due by a row of kind
// [record.DueLook]. The row stays until the call is entered or ends.
type Look struct {
	Row   store.Due
	N     int            // number of the suspension that was looked at
	Same  bool           // the call stays as it is
	Waits []tool.Waiting // for which it waits; none, and not Same: the call is entered
}

func (in Look) put(add additions, b basis) (additions, error) {
	c := Looks(b.Fold, &in.Row)
	switch {
	case c == nil:
		add.quiet = true
		return drop(add, in.Row), nil // its purpose is gone
	case b.Now.Before(*c.Wake) || in.N != c.Suspended || !b.Held.IsZero():
		return add, ErrNotYet
	case in.Same || c.Looked:
		return in.same(add, b, c)
	}
	e := &event.CallLooked{Call: c.ID, Waits: shownWaits(b, c, in.Waits)}
	if len(in.Waits) == 0 {
		add.force = true
		add.event(b, event.KindLooked, e)
		return add, nil
	}
	if slices.Equal(e.Waits, c.Waits) || openRoom(b) < b.Limits.Event {
		return in.same(add, b, c) // a log that fills up has the first of them
	}
	add.event(b, event.KindLooked, e)
	if b.Header.Phase == store.Live {
		return add, nil // its turn says it
	}
	add.phase = store.Parked
	return tellWaits(add, b), nil
}

// same puts a look that has found nothing new. The status says now the news that it had left out,
// because it had changed a moment ago.
func (Look) same(add additions, b basis, c *fold.Call) (additions, error) {
	switch stale, err := waitsStale(b, b.Pending()); {
	case err != nil:
		return add, err
	case b.Header.Phase == store.Live && (stale || c.Looked):
		return add, ErrNotYet // its turn continues
	case c.Looked:
		add.force = true
		return add, nil
	case !stale:
		return add, ErrNoChange
	}
	add.phase = store.Parked
	return tellWaits(add, b), nil
}

// Looks returns the call that a due row of kind [record.DueLook] is for, nil if its purpose is gone.
func Looks(f *fold.Fold, row *store.Due) *fold.Call {
	c := f.Call(string(row.Key))
	if c == nil || c.State != fold.CallWaiting || !c.Watch || c.Wake == nil || c.Retry != nil {
		return nil
	}
	return c
}

// tellWaits publishes the status of a parked task, if the wait is news.
func tellWaits(add additions, b basis) additions {
	pending := b.Pending()
	if stale, err := waitsStale(b, pending); err != nil || !stale {
		return add.failed(err)
	}
	return tell(add, b, waitingState(b, pending), pending, "")
}

// waitsText is the status of a task that waits for decisions elsewhere, without them.
const waitsText = "Waiting for a decision elsewhere; the result follows by itself."

// present returns the message about pending approvals and about decisions elsewhere.
func present(b basis, pending []*approval.Approval, waits []tool.Waiting, no *a2a.Message) (*a2a.Message, error) {
	switch p, is := b.Presenter.(task.WaitPresenter); {
	case is && len(waits) > 0:
		return p.Waiting(pending, waits, no)
	case len(pending) == 0:
		return b.message(waitsText), nil
	}
	return b.Presenter.Question(pending, no)
}

// statusPause is the least time between two statuses about decisions elsewhere.
const statusPause = time.Second

// waitsStale reports whether the status is to say for which decisions elsewhere calls wait: it says
// something else, and has not changed a moment ago.
func waitsStale(b basis, pending []*approval.Approval) (bool, error) {
	waits := b.Waits()
	switch {
	case len(waits) == 0:
		return b.SaysCallsWaited(), nil
	case (b.View.StatusMessage() != nil || b.WaitsAgain()) && b.Now.Sub(b.Header.StatusTime.Time()) < statusPause:
		return false, nil // the next look says it
	}
	q, err := questionAbout(b, pending, nil)
	if err != nil {
		return false, err
	}
	if size, err := q.size(); err != nil || size > openRoom(b) {
		return false, err // it cannot be said
	}
	now, err := event.EncodeMessage(q.whole)
	if err != nil {
		return false, err
	}
	return !slices.Equal(metadataOf(now), metadataOf(b.View.StatusMessage())), nil
}

// metadataOf returns the metadata of a message, which has all that its text says.
func metadataOf(message json.RawMessage) json.RawMessage {
	var m struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	if json.Unmarshal(message, &m) != nil {
		return nil
	}
	return m.Metadata
}

// Bounds of the texts of a [tool.Waiting].
const (
	maxWaitID   = 256 // bytes
	maxWaitText = 200 // characters
)

// shownWaits returns the decisions elsewhere for which a call waits as statuses show them.
func shownWaits(b basis, c *fold.Call, waits []tool.Waiting) []tool.Waiting {
	var shown []tool.Waiting
	for _, w := range waits[:min(len(waits), tool.MaxWaits)] {
		if len(w.ID) > maxWaitID || strings.ContainsAny(w.ID, `"\<>&`) || visible.Line(w.ID) != w.ID {
			w.ID = fmt.Sprintf("%s.%d", c.ID, len(shown)+1) // statuses name it as it is
		}
		w.Agent, w.WaitsFor = visible.Clip(w.Agent, maxWaitText), visible.Clip(w.WaitsFor, maxWaitText)
		if hides(b, c) {
			w.WaitsFor = ""
		}
		w.Since, w.Expires = shownTime(w.Since), shownTime(w.Expires)
		shown = append(shown, w)
	}
	return shown
}

// shownTime returns a time of a [tool.Waiting] as statuses show it, zero if JSON has no form for it: an
// agent's offset can move a year out of its four digits.
func shownTime(t time.Time) time.Time {
	if t = t.UTC().Truncate(time.Millisecond); t.Year() < 0 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}
