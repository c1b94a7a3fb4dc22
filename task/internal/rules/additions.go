package rules

import (
	"cmp"

	"a2a-server/approval"
	"a2a-server/store"
)

// additions are what rules add to a batch. A rule takes what was added before it, as append takes a slice, and
// returns it with its own: only the returned value may be used then. Each event is folded where it is added, so
// that the rules that follow decide on it.
type additions struct {
	buf     []byte // events and audit entries are slices of it, until it has to grow
	events  []store.Event
	rows    []store.RowChange
	due     []store.DueChange
	audit   [][]byte
	audited []Audited    // see [Draft.Audited]
	status  store.Status // State 0: unchanged
	err     error        // the first; such a draft cannot be written

	launch   []*Execution         // entered after the draft has been committed
	asked    []*approval.Approval // in it
	resolved []string             // ids of approvals, in it
	grants   []*usedGrant         // by which calls start, or go on
	decider  *decider             // nil: none, or see decides
	phase    store.Phase          // zero: stays
	fence    bool                 // take it
	settles  bool                 // see [Draft.Settles]
	kept     bool                 // a deadline has passed that the status may name
	voted    bool                 // a person has voted in it
	troubled bool                 // a call has been postponed in it
	told     bool                 // another writer has changed the log since the last draft
	force    bool                 // continue though there is nothing to write
	quiet    bool                 // do not continue
	pushes   bool                 // webhooks are to look at it
}

// fail keeps an error, if it is the first.
func (add *additions) fail(err error) { add.err = cmp.Or(add.err, err) }

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
