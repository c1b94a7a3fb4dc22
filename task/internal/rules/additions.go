package rules

import (
	"fmt"
	"slices"
	"time"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/output"
)

// additions are the events, rows, due work and audit entries that rules add to a batch. A rule takes the earlier
// additions, as append takes a slice, and returns them with its own: only the returned value may be used then. Each
// event is folded where it is added, so that the rules that follow decide on it. An event that cannot be written is
// folded, too, and refuses the batch in the end: no rule has to pass on such an error.
type additions struct {
	*lists
	err      error       // the first; such a draft cannot be written
	decider  *decider    // nil: none, or see decides
	phase    store.Phase // zero: stays
	moved    bool        // to another state, that of the fold
	fence    bool        // take it
	settles  bool        // see [Draft.Settles]
	kept     bool        // a deadline has passed that the status may name
	voted    bool        // a person has voted in it
	troubled bool        // a call has been postponed in it
	asked    bool        // for an approval in it
	told     bool        // another writer has changed the log since the last draft
	force    bool        // continue though there is nothing to write
	quiet    bool        // do not continue
	pushes   bool        // webhooks are to look at it
}

// lists have the additions of a batch of which there may be several. All values of the additions share them, as
// slices share an array.
type lists struct {
	buf      []byte // events and audit entries are slices of it, until it has to grow
	events   []store.Event
	rows     []store.RowChange
	due      []store.DueChange
	audit    [][]byte
	audited  []Audited    // see [Draft.Audited]
	launch   []*Execution // entered after the draft has been committed
	resolved []string     // ids of approvals, in it
	grants   []*usedGrant // that were read, and let calls start or go on
}

// fail keeps an error, if it is the first.
func (add *additions) fail(err error) {
	if add.err == nil {
		add.err = err
	}
}

// failed returns the additions with an error, if it is the first.
func (add additions) failed(err error) additions {
	add.fail(err)
	return add
}

// size returns how many bytes the events have.
func (add *additions) size() int {
	n := 0
	for i := range add.events {
		n += len(add.events[i].Data)
	}
	return n
}

// since returns the bytes appended to buf after start. Its capacity ends with it.
func (add *additions) since(start int) []byte { return add.buf[start:len(add.buf):len(add.buf)] }

// blank reports whether there is nothing to write and nothing to continue with.
func (add *additions) blank() bool {
	return !add.force && len(add.events) == 0 && len(add.rows) == 0 && len(add.due) == 0 && len(add.audit) == 0 && add.phase == 0 && !add.moved
}

// news reports whether an approval was requested or resolved, by the draft or by another
// writer.
func (add *additions) news() bool { return add.told || add.asked || len(add.resolved) > 0 }

// event adds a private event: it encodes v, and folds v itself.
func (add *additions) event(b basis, kind string, v any) {
	start := len(add.buf)
	if buf, err := event.Append(add.buf, v); err == nil {
		add.buf = buf
	} else {
		add.fail(fmt.Errorf("encode event %s: %w", kind, err))
	}
	add.events = append(add.events, store.Event{Kind: kind, Time: b.millis(), Data: add.since(start)})
	b.Count(len(add.buf) - start)
	add.fail(b.ApplyPrivate(v))
}

// message adds a message from the user, for a reader.
func (add *additions) message(b basis, m *event.MessageReceived, reader event.Reader) error {
	if err := output.CheckDepth(m.Message); err != nil {
		return task.Invalid("message", "cannot be kept: %v", err)
	}
	m.For = reader
	add.event(b, event.KindMessage, m)
	return nil
}

// public adds the public event that was appended to buf from start on.
func (add *additions) public(b basis, kind string, start int) {
	add.events = append(add.events, store.Event{Kind: kind, Public: true, Bulk: kind == event.KindArtifact, Time: b.millis(), Data: add.since(start)})
	b.Count(len(add.buf) - start)
	add.pushes = add.pushes || kind != event.KindArtifact
}

// artifact adds an artifact update.
func (add *additions) artifact(b basis, u *event.ArtifactUpdate) {
	start := len(add.buf)
	add.buf = event.AppendArtifactUpdate(add.buf, b.View.IDs(), u)
	add.public(b, event.KindArtifact, start)
	b.View.AddArtifact(u)
	add.pushes = add.pushes || u.Last
}

// share adds a call's changes of the context's state, in the batch with the end of the call.
func (add *additions) share(b basis, delta map[string]any) {
	if len(delta) == 0 {
		return
	}
	rows, after, err := b.Shared(delta)
	if err != nil {
		add.fail(err)
	} else if len(rows) > 0 {
		add.rows = append(add.rows, rows...)
		b.SetSession(after)
	}
}

// stillHolds reports whether additions may be written: if calls start, are asked about or are decided by them, the
// rules in force are those of the basis; the grants by which calls start have not ended; their makers and the
// decider are as they were; and the votes for the approvals that they resolve count.
func stillHolds(add additions, b basis, inForce *Rules, now time.Time) bool {
	if inForce != b.Rules && (add.voted || add.asked || len(add.launch)+len(add.resolved) > 0) {
		return false
	}
	same := func(was, is auth.Principal) bool {
		by, err := current(b, was)
		return err == nil && by.Equal(is)
	}
	return (add.decider == nil || same(add.decider.was, add.decider.is)) &&
		!slices.ContainsFunc(add.resolved, func(id string) bool {
			a := b.Approval(id)
			return a.State.Allows() && withdrawn(b, &a.Approval) != ""
		}) &&
		!slices.ContainsFunc(add.grants, func(u *usedGrant) bool {
			return u.starts && (!same(u.By, u.by) || !now.Before(u.Until))
		})
}
