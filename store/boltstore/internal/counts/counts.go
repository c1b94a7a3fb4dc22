// Package counts keeps, in memory, how many tasks of an owner, of a context or of all owners are in
// each state.
package counts

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"sync"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/boltfile"
	"a2a-server/store/boltstore/internal/layout"
	"a2a-server/store/boltstore/internal/read"
)

// maxCounts bounds the counters; beyond it, unused counters are dropped.
const maxCounts = 10_000

// Counts keeps, for owners and contexts that were asked for, how many tasks are in
// each state. A counter is counted from the index on its first use, and the writer
// maintains it from then on, so that a list costs no more than its page, and a create
// with Batch.Parked no more than any other.
type Counts struct {
	mu        sync.Mutex
	published uint64 // the newest transaction that the counters were told of
	kept      map[Key]*Count
	counting  map[Key]*Count // still being counted; they move to kept
}

// Key is the owner, and perhaps the context, whose tasks a counter counts.
type Key struct {
	Owner   store.Scope // System: all owners
	Context string      // "": all contexts
}

// Count is a counter. While it is being counted from a view, tally holds the changes since
// that view.
type Count struct {
	in    *Counts
	Key   Key
	at    uint64 // the transaction of the view that it is counted from
	tally read.Tally
	users int // queued batches that need it
}

// New returns counters that nothing has asked for yet.
func New() *Counts {
	return &Counts{kept: map[Key]*Count{}, counting: map[Key]*Count{}}
}

// Len returns how many counters there are, and how many are being counted.
func (c *Counts) Len() (kept, counting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.kept), len(c.counting)
}

// Total returns how many tasks match l's query, as of its view or later.
func (c *Counts) Total(l *read.Lister) int64 {
	if l.Query.Since > 0 {
		sum := l.Tally(l.Query.Since)
		return sum.Of(l.Query.State)
	}
	sum, _ := c.count(l.Tx, Key{l.Scope, l.Query.Context}, false /* use */)
	return sum.Of(l.Query.State)
}

// All returns how many tasks of all owners are in each state, as of the view tx or later. Its
// counter stays.
func (c *Counts) All(tx *bolt.Tx) store.States {
	sum, _ := c.count(tx, Key{Owner: store.System()}, true /* use */)
	return sum.States
}

// Use returns the counter of a context, which stays until release: it is correct for the
// writer in every round that follows.
func (c *Counts) Use(ctx context.Context, file *boltfile.File, owner store.Scope, contextID string) (n *Count, err error) {
	key := Key{owner, contextID}
	if _, n = c.known(key, true /* use */); n != nil {
		return n, nil // without a transaction
	}
	for n == nil && err == nil {
		err = file.View(ctx, func(tx *bolt.Tx) error {
			_, n = c.count(tx, key, true /* use */)
			return nil
		})
	}
	return n, err
}

// Release gives back a result of use, or nil.
func (n *Count) Release() {
	if n == nil {
		return
	}
	n.in.mu.Lock()
	defer n.in.mu.Unlock()
	n.users--
}

// known returns the counter that is kept for key, or nil, and its tasks.
func (c *Counts) known(key Key, use bool) (sum read.Tally, kept *Count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.kept[key]
	if n == nil {
		return sum, nil
	}
	if use {
		n.users++
	}
	return n.tally, n
}

// count returns how many tasks of key are in each state, as of the view tx or later, and the
// counter: nil when a commit came between the view and now, so that it cannot be kept, or another
// call is counting.
func (c *Counts) count(tx *bolt.Tx, key Key, use bool) (sum read.Tally, kept *Count) {
	if sum, kept = c.known(key, use); kept != nil {
		return sum, kept
	}
	n := c.begin(key, uint64(tx.ID()))
	if key.Owner == store.System() {
		sum = read.TallyAll(tx)
	} else {
		sum = read.NewLister(tx, key.Owner, store.Query{Context: key.Context}).Tally(0)
	}
	return sum, c.end(n, sum, use)
}

// begin begins a counter that collects from the view of transaction tx on. It returns nil if a
// later transaction has been published, or the key has another counter.
func (c *Counts) begin(key Key, tx uint64) *Count {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.published > tx || c.kept[key] != nil || c.counting[key] != nil {
		return nil
	}
	n := &Count{in: c, Key: key, at: tx}
	c.counting[key] = n
	return n
}

// end keeps a counter, and returns it.
func (c *Counts) end(n *Count, sum read.Tally, use bool) *Count {
	if n == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.counting, n.Key)
	n.tally.Add(&sum)
	if use {
		n.users++
	}
	if len(c.kept) >= maxCounts {
		maps.DeleteFunc(c.kept, func(_ Key, n *Count) bool { return n.users == 0 })
	}
	c.kept[n.Key] = n
	return n
}

// Open returns how many tasks of n's context have not ended.
func (n *Count) Open() int64 {
	n.in.mu.Lock()
	defer n.in.mu.Unlock()
	return n.tally.Open
}

// Publish updates the counters with the changes of transaction tx.
func (c *Counts) Publish(tx uint64, changes iter.Seq2[*layout.HeaderValue, *layout.HeaderValue]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.published = tx
	if len(c.kept) == 0 && len(c.counting) == 0 {
		return
	}
	for before, now := range changes {
		change := read.Tally{Open: read.OpenTasks(now) - read.OpenTasks(before)}
		if before.Visible() {
			change.States[before.State]--
		}
		if now.Visible() {
			change.States[now.State]++
		}
		if change == (read.Tally{}) {
			continue
		}
		c.move(Key{Owner: store.System()}, tx, &change)
		c.move(Key{Owner: now.Owner}, tx, &change)
		if now.Context != "" {
			c.move(Key{now.Owner, now.Context}, tx, &change)
		}
	}
}

func (c *Counts) move(key Key, tx uint64, change *read.Tally) {
	if n := cmp.Or(c.kept[key], c.counting[key]); n != nil && tx > n.at {
		n.tally.Add(change)
	}
}
