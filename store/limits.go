package store

import (
	"fmt"
	"slices"
)

// The limits of the contract, in bytes. An engine allows less.
const (
	MaxContext  = 256
	MaxKind     = 64
	MaxKey      = 512
	MaxOwner    = 1024     // tenant and subject together
	MaxEvent    = 16 << 20 // bytes of an event's data
	MaxRow      = 2 << 20  // bytes of a row, due payload or audit entry
	MaxSnapshot = 96 << 20 // of each part
	MaxBatch    = 128 << 20
)

// Validate checks the shape and the sizes of b, without a store. It returns
// ErrInvalid or ErrTooLarge.
func (b *Batch) Validate() error {
	if err := b.validateShape(); err != nil {
		return err
	}
	return b.validateSizes()
}

func (b *Batch) validateShape() error {
	c, create, aside := &b.Change, b.Creates(), b.IsAside()
	alone := b.Task.IsZero() // without a task
	chunks := !alone && !aside && b.Rev == nil
	change := !alone && !aside && !chunks && !create
	owned := b.Scope.IsOwner() || b.Scope.IsZero() // the zero scope is not found
	untimed := func(d DueChange) bool { return !d.Delete && d.Time <= 0 }
	sides := len(b.Rows)+len(b.Due)+len(b.Audit) > 0
	ofOwner := len(b.Needs) > 0
	ofBoth := false
	for i := range b.Rows {
		ofOwner = ofOwner || !b.Rows[i].Of.IsZero()
		ofBoth = ofBoth || b.Rows[i].OfContext && !b.Rows[i].Of.IsZero()
	}
	onlySides := len(b.Events) == 0 && b.Snapshot == nil && *c == (Change{})
	for _, rule := range [...]struct {
		broken bool
		text   string
	}{
		{alone && (b.Rev != nil || b.Fence != nil || !onlySides), "a batch without a task has rows, due work and audit only"},
		{alone && !owned, "rows without a task belong to an owner"},
		{aside && !onlySides, "a batch without a rev and a fence has rows, due work and audit only"},
		{aside && !sides, "a batch without a rev and a fence changes nothing"},
		{chunks && (sides || *c != (Change{})), "a batch with a fence and no rev has chunks only"},
		{create && (c.Status == nil || c.Phase == 0), "a create has a status and a phase"},
		{create && (c.TakeFence || b.Fence != nil || b.Snapshot != nil), "a create has no fence and no snapshot"},
		{create && !owned, "only an owner creates tasks"},
		{change && c.Context != "", "a context belongs to a create"},
		{b.Disk != (Disk{}) && !create, "a bound of the disk belongs to a create"},
		{b.Parked > 0 && (!create || c.Context == ""), "a bound of parked tasks belongs to a create with a context"},
		{b.HasContextRows() && (alone || create || aside), "rows of a context belong to a change of one of its tasks"},
		{ofOwner && !change && !create, "rows of the owner of a task belong to a change or a create"},
		{b.Holds != nil && !change && !create, "only a change or a create depends on anything outside the store"},
		{ofBoth, "a row belongs to a context or to an owner"},
		{b.ContextRows != (RowBound{}) && !b.HasContextRows(), "a bound of rows of a context belongs to their changes"},
		{c.Status != nil && (c.Status.State == 0 || c.Status.State > MaxState), "a state is from 1 to the last"},
		{c.Phase > Final, "there is no such phase"},
		{slices.ContainsFunc(b.Due, untimed), "the time of a due row is above 0"},
	} {
		if rule.broken {
			return fmt.Errorf("%w: %s", ErrInvalid, rule.text)
		}
	}
	return nil
}

// Creates reports whether b creates its task.
func (b *Batch) Creates() bool {
	return !b.Task.IsZero() && b.Rev != nil && *b.Rev == 0
}

// IsAside reports whether b changes rows, due work and audit of a task aside from its rev.
func (b *Batch) IsAside() bool { return !b.Task.IsZero() && b.Rev == nil && b.Fence == nil }

func (b *Batch) validateSizes() (err error) {
	size := 0
	check := func(what string, n, limit int) {
		if size += n; n > limit && err == nil {
			err = fmt.Errorf("%w: %s has %d bytes, at most %d", ErrTooLarge, what, n, limit)
		}
	}
	check("context id", len(b.Change.Context), MaxContext)
	check("owner", len(b.Scope.tenant)+len(b.Scope.subject), MaxOwner)
	for i := range b.Events {
		check("event kind", len(b.Events[i].Kind), MaxKind)
		check("event", len(b.Events[i].Data), MaxEvent)
	}
	if b.Snapshot != nil {
		check("snapshot", len(b.Snapshot.Bytes), MaxSnapshot)
		check("bulk of a snapshot", len(b.Snapshot.Bulk), MaxSnapshot)
	}
	for i := range b.Rows {
		r := &b.Rows[i]
		check("row kind", len(r.Kind), MaxKind)
		check("row key", len(r.Key), MaxKey)
		check("row", len(r.Value), MaxRow)
		for _, ix := range r.Index {
			check("index name", len(ix.Index), MaxKind)
			check("index key", len(ix.Key), MaxKey)
		}
	}
	for i := range b.Needs {
		check("row kind", len(b.Needs[i].Kind), MaxKind)
		check("row key", len(b.Needs[i].Key), MaxKey)
	}
	for i := range b.Due {
		d := &b.Due[i]
		check("due kind", len(d.Kind), MaxKind)
		check("due key", len(d.Key), MaxKey)
		check("due payload", len(d.Payload), MaxRow)
	}
	for _, a := range b.Audit {
		check("audit entry", len(a), MaxRow)
	}
	check("batch", size, MaxBatch)
	return err
}
