package boltstore

import (
	"bytes"
	"context"

	"a2a-server/store"
)

// usageStep is how many headers the writer reads between two rounds, about a millisecond's
// worth, while it counts the usage of owners.
const usageStep = 1024

// batchBytes is about the space that a batch takes in the file in addition to its contents:
// its share of partly filled pages, and its index entries.
const batchBytes = 6 << 10

// usage is the disk usage of each owner, which Batch.Disk limits. It is derived from the
// headers and the rows of contexts, and not stored: for the first batch that asks, the
// writer walks them, a step between any two rounds, and maintains the usage from then on.
// Only the writer uses it, so that the walk and commits made meanwhile never overlap.
type usage struct {
	owners map[[16]byte]uint64
	walked store.TaskID // tasks up to here are in
	tasks  bool         // all are
	rows   []byte       // rows of contexts before this key are in
	whole  bool         // everything is
}

// charge returns the usage of a task.
func charge(t *record) uint64 {
	if t.Rev == 0 {
		return 0
	}
	return t.DiskBytes()
}

// move records the change that a round has made to a task.
func (u *usage) move(t *work) {
	if u.owners == nil || !t.changed && !t.gone {
		return
	}
	if !u.tasks && string(t.now.Task[:]) > string(u.walked[:]) {
		return // the walk has not reached it yet
	}
	was, is := charge(&t.before), charge(&t.now)
	if t.gone {
		is = 0
	}
	u.add(t.now.Owner, is-was)
}

// add adds n, which may be the two's complement of a decrease.
func (u *usage) add(owner store.Scope, n uint64) {
	key := owner.Key()
	if u.owners[key] += n; u.owners[key] == 0 {
		delete(u.owners, key)
	}
}

// walk takes the next step. When it returns an error it begins again.
func (u *usage) walk(db *DB) error {
	if u.owners == nil {
		u.owners = map[[16]byte]uint64{}
	}
	err := db.view(context.Background(), func(im *image) (err error) {
		if u.tasks {
			u.whole, err = u.walkRows(im.bucket(bucketRow), usageStep)
			return err
		}
		c := im.bucket(bucketTask).Cursor()
		k, v := c.Seek(u.walked[:])
		for n := 0; n < usageStep; k, v = c.Next() {
			if k == nil {
				u.tasks = true
				return nil
			}
			id := store.TaskID(k)
			t, err := decodeRecord(id, v)
			if err != nil || bytes.Compare(id[:], u.walked[:]) <= 0 {
				continue // the owner is unknown, or it is in
			}
			u.add(t.Owner, charge(&t))
			u.walked = id
			n++
		}
		return nil
	})
	if err != nil {
		*u = usage{}
	}
	return err
}

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
		stats := r.w.db.bolt.Stats()
		free := int64(stats.FreePageN+stats.PendingPageN) * int64(r.w.db.bolt.Info().PageSize)
		r.inFile = max(1, r.tx.Size()-free)
	}
	return store.Disk{
		Owner: r.w.usage.owners[owner.Key()] + uint64(r.grown[owner]),
		All:   uint64(r.inFile) + r.size,
	}
}

// countDisk notes by how much a step of the round changes an owner's usage.
func (r *round) countDisk(before, now *record) {
	if r.grown != nil {
		r.grown[now.Owner] += int64(charge(now)) - int64(charge(before))
	}
}
