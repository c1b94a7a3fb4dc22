package rules

import (
	"cmp"
	"fmt"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/output"
)

// additions are what rules add to a batch. A rule takes what was added before it, as append takes a slice, and
// returns it with its own: only the returned value may be used then. Each event is folded where it is added, so
// that the rules that follow decide on it. What cannot be written is folded, too, and refuses the batch in the end:
// no rule has to pass on such an error.
type additions struct {
	buf     []byte // events and audit entries are slices of it, until it has to grow
	events  []store.Event
	rows    []store.RowChange
	due     []store.DueChange
	audit   [][]byte
	audited []Audited    // see [Draft.Audited]
	status  store.Status // State 0: unchanged
	err     error        // the first; such a draft cannot be written

	launch   []*Execution // entered after the draft has been committed
	resolved []string     // ids of approvals, in it
	grants   []*usedGrant // by which calls start, or go on
	decider  *decider     // nil: none, or see decides
	phase    store.Phase  // zero: stays
	fence    bool         // take it
	settles  bool         // see [Draft.Settles]
	kept     bool         // a deadline has passed that the status may name
	voted    bool         // a person has voted in it
	troubled bool         // a call has been postponed in it
	asked    bool         // for an approval in it
	told     bool         // another writer has changed the log since the last draft
	force    bool         // continue though there is nothing to write
	quiet    bool         // do not continue
	pushes   bool         // webhooks are to look at it
}

// failed returns the additions with an error, if it is the first.
func (add additions) failed(err error) additions {
	add.err = cmp.Or(add.err, err)
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
	return !add.force && len(add.events) == 0 && len(add.rows) == 0 && len(add.due) == 0 && len(add.audit) == 0 && add.phase == 0 && add.status.State == 0
}

// news reports whether an approval was requested or resolved, by the draft or by another
// writer.
func (add *additions) news() bool { return add.told || add.asked || len(add.resolved) > 0 }

// addEvent adds a private event: it encodes v, and folds v itself.
func addEvent(add additions, b basis, kind string, v any) additions {
	start := len(add.buf)
	if buf, err := event.Append(add.buf, v); err == nil {
		add.buf = buf
	} else {
		add = add.failed(fmt.Errorf("encode event %s: %w", kind, err))
	}
	add.events = append(add.events, store.Event{Kind: kind, Time: b.millis(), Data: add.since(start)})
	b.Count(len(add.buf) - start)
	return add.failed(b.ApplyPrivate(v))
}

// addMessage adds a message from the user.
func addMessage(add additions, b basis, m *event.MessageReceived) (additions, error) {
	if err := output.CheckDepth(m.Message); err != nil {
		return add, task.Invalid("message", "cannot be kept: %v", err)
	}
	return addEvent(add, b, event.KindMessage, m), nil
}

// addPublic adds the public event that was appended to buf from start on.
func addPublic(add additions, b basis, kind string, start int) additions {
	add.events = append(add.events, store.Event{Kind: kind, Public: true, Bulk: kind == event.KindArtifact, Time: b.millis(), Data: add.since(start)})
	b.Count(len(add.buf) - start)
	add.pushes = add.pushes || kind != event.KindArtifact
	return add
}

// addArtifact adds an artifact update.
func addArtifact(add additions, b basis, u *event.ArtifactUpdate) additions {
	start := len(add.buf)
	add.buf = event.AppendArtifactUpdate(add.buf, b.View.IDs(), u)
	add = addPublic(add, b, event.KindArtifact, start)
	b.View.AddArtifact(u)
	add.pushes = add.pushes || u.Last
	return add
}

// shareState adds a call's changes of the context's state, in the batch with the end of the call.
func shareState(add additions, b basis, delta map[string]any) additions {
	if len(delta) == 0 {
		return add
	}
	rows, after, err := b.Shared(delta)
	if err != nil {
		return add.failed(err)
	}
	if len(rows) > 0 {
		add.rows = append(add.rows, rows...)
		b.SetSession(after)
	}
	return add
}
