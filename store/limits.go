package store

import "fmt"

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
	switch {
	case b.Task.IsZero():
		if b.Rev != nil || b.Fence != nil || len(b.Events) > 0 || b.Snapshot != nil || b.Change != (Change{}) || !b.Dedup.IsZero() {
			return fmt.Errorf("%w: a batch without a task has rows, due work and audit only", ErrInvalid)
		}
		if !b.Scope.IsOwner() && !b.Scope.IsZero() {
			return fmt.Errorf("%w: rows without a task belong to an owner", ErrInvalid)
		}
	case b.IsAside():
		if len(b.Events) > 0 || b.Snapshot != nil || b.Change != (Change{}) || !b.Dedup.IsZero() {
			return fmt.Errorf("%w: a batch without a rev and a fence has rows, due work and audit only", ErrInvalid)
		}
		if len(b.Rows)+len(b.Due)+len(b.Audit) == 0 {
			return fmt.Errorf("%w: a batch without a rev and a fence changes nothing", ErrInvalid)
		}
	case b.Rev == nil:
		if b.Change != (Change{}) || len(b.Rows) > 0 || len(b.Due) > 0 || len(b.Audit) > 0 || !b.Dedup.IsZero() {
			return fmt.Errorf("%w: a batch with a fence and no rev has chunks only", ErrInvalid)
		}
	case b.Creates():
		c := &b.Change
		if c.Status == nil || c.Phase == 0 || c.TakeFence || b.Fence != nil || b.Snapshot != nil {
			return fmt.Errorf("%w: a create has a status and a phase, no fence and no snapshot", ErrInvalid)
		}
		if !b.Scope.IsOwner() && !b.Scope.IsZero() {
			return fmt.Errorf("%w: only an owner creates tasks", ErrInvalid)
		}
	default:
		if b.Change.Context != "" || !b.Dedup.IsZero() {
			return fmt.Errorf("%w: context and dedup belong to a create", ErrInvalid)
		}
	}
	if b.Disk != (Disk{}) && !b.Creates() {
		return fmt.Errorf("%w: a bound of the disk belongs to a create", ErrInvalid)
	}
	if b.Parked > 0 && (!b.Creates() || b.Change.Context == "") {
		return fmt.Errorf("%w: a bound of parked tasks belongs to a create with a context", ErrInvalid)
	}
	if b.HasContextRows() && (b.Task.IsZero() || b.Creates() || b.IsAside()) {
		return fmt.Errorf("%w: rows of a context belong to a change of one of its tasks", ErrInvalid)
	}
	if b.ContextRows != (RowBound{}) && !b.HasContextRows() {
		return fmt.Errorf("%w: a bound of rows of a context belongs to a batch that changes some", ErrInvalid)
	}
	if s := b.Change.Status; s != nil && (s.State == 0 || s.State > MaxState) {
		return fmt.Errorf("%w: state %d", ErrInvalid, s.State)
	}
	if b.Change.Phase > Final {
		return fmt.Errorf("%w: phase %d", ErrInvalid, b.Change.Phase)
	}
	for i := range b.Due {
		if d := &b.Due[i]; !d.Delete && d.Time <= 0 {
			return fmt.Errorf("%w: time %d of a due row", ErrInvalid, d.Time)
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
