package writer

import (
	"bytes"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/counts"
	"a2a-server/store/boltstore/internal/layout"
	"a2a-server/store/boltstore/internal/read"
)

// checkContextRows refuses a batch that makes the rows of its context exceed a limit, counting
// earlier writes of the round.
func (r *round) checkContextRows(b *store.Batch, t *work) error {
	return b.CheckContextRows(func(kind string, add func(key, value []byte)) error {
		prefix := layout.ContextRowKey(kind, t.now.Owner, t.now.Context, nil)
		c := r.row.Cursor()
		for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
			row, err := layout.DecodeRow(k, v)
			if err != nil {
				return err
			}
			add(k[len(prefix):], row.Value)
		}
		return nil
	})
}

// chargedRow is a change of a context's row, which its owner's usage counts.
type chargedRow struct {
	key   []byte // in the bucket
	owner store.Scope
	bytes int64
}

// charge notes by how much a row of a context changes its owner's usage.
func (r *round) charge(key []byte, owner store.Scope, n int64) {
	r.charged = append(r.charged, chargedRow{key, owner, n})
	if r.grown != nil {
		r.grown[owner] += n
	}
}

// checkParked refuses a create in a context that already has too many open tasks, counting
// the changes of this round.
func (r *round) checkParked(o *op) error {
	if o.open == nil {
		return nil
	}
	if r.opened == nil {
		r.opened = map[counts.Key]int64{}
		for _, t := range r.order {
			r.countOpen(&t.before, &t.now)
		}
	}
	b := o.batch
	if open := o.open.Open() + r.opened[o.open.Key]; open >= int64(b.Parked) {
		return &store.ParkedError{Open: open, Limit: b.Parked}
	}
	return nil
}

// countOpen notes by how much a step of the round changes the number of open tasks.
func (r *round) countOpen(before, now *layout.HeaderValue) {
	if n := read.OpenTasks(now) - read.OpenTasks(before); n != 0 && r.opened != nil {
		r.opened[counts.Key{Owner: now.Owner, Context: now.Context}] += n
	}
}

// batchBytes is about the space that a batch takes in the file in addition to its contents:
// its share of partly filled pages, and its index entries.
const batchBytes = 6 << 10

// used returns the usage as the round stands: of an owner, and of the file.
func (r *round) used(owner store.Scope) store.Disk {
	if r.grown == nil {
		r.grown = map[store.Scope]int64{}
		for _, t := range r.order {
			r.countDisk(&t.before, &t.now)
		}
		for i := range r.charged {
			r.grown[r.charged[i].owner] += r.charged[i].bytes
		}
	}
	if r.inFile == 0 {
		r.inFile = max(1, r.tx.Size()-r.w.File.FreeBytes())
	}
	return store.Disk{
		Owner: r.w.usage.owners[owner.Key()] + uint64(r.grown[owner]),
		All:   uint64(r.inFile) + r.size,
	}
}

// countDisk notes by how much a step of the round changes an owner's usage.
func (r *round) countDisk(before, now *layout.HeaderValue) {
	if r.grown != nil {
		r.grown[now.Owner] += int64(charge(now)) - int64(charge(before))
	}
}
