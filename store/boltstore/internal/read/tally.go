package read

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/layout"
)

// Tally is how many tasks are in each state, or by how many they have changed.
type Tally struct {
	States store.States
	Open   int64 // have not ended; only for a context
}

// OpenTasks returns 1 for a task that has not ended, else 0.
func OpenTasks(t *layout.HeaderValue) int64 {
	if t.Visible() && t.Phase != store.Final {
		return 1
	}
	return 0
}

// Add adds the tasks, or the changes, of another tally.
func (t *Tally) Add(sum *Tally) {
	for state, n := range sum.States {
		t.States[state] += n
	}
	t.Open += sum.Open
}

// Of returns how many tasks are in a state; 0: in any.
func (t *Tally) Of(state store.State) int64 {
	if state != 0 {
		return t.States[state]
	}
	var n int64
	for _, k := range t.States[1:] {
		n += k
	}
	return n
}

// Tally counts the tasks of l whose status is not older than since. It counts open tasks only
// for a context; all other lists are counted by their keys.
func (l *Lister) Tally(since store.Millis) (sum Tally) {
	for i := range l.atWork {
		sum.States[l.atWork[i].state]++
		sum.Open++
	}
	bucket, prefixes := l.ranges()
	for _, prefix := range prefixes {
		c := bucket.Cursor()
		first := append(bytes.Clone(prefix), layout.U64(uint64(since))...)
		for k, _ := c.Seek(first); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
			if l.Query.Context == "" {
				sum.States[prefix[len(prefix)-1]]++
				continue
			}
			at, id, _ := store.ParseTaskPosition(k[len(prefix):])
			t := layout.HeaderValue{Header: l.header(at, id)}
			if t.Context == l.Query.Context {
				sum.States[t.State]++
				sum.Open += OpenTasks(&t)
			}
		}
	}
	return sum
}

// TallyAll counts the tasks of all owners by the keys of the index.
func TallyAll(tx *bolt.Tx) (sum Tally) {
	live := tx.Bucket(layout.BucketLive).Cursor()
	for k, v := live.First(); k != nil; k, v = live.Next() {
		e := LiveEntryAt(v)
		sum.States[e.State]++
	}
	list := tx.Bucket(layout.BucketList).Cursor()
	for k, _ := list.First(); k != nil; k, _ = list.Next() {
		// The owner's key and the state begin it: see layout.ListPrefix.
		if len(k) <= 16 || store.State(k[16]) > store.MaxState {
			panic(fmt.Sprintf("bucket %s has a key of %d bytes without a state", layout.BucketList, len(k)))
		}
		sum.States[k[16]]++
	}
	return sum
}
