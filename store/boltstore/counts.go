package boltstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"sync"

	"a2a-server/store"
)

// maxCounts bounds the counters; beyond it, unused counters are dropped.
const maxCounts = 10_000

// counts keeps, for owners and contexts that were asked for, how many tasks are in
// each state. A counter is counted from the index on its first use, and the writer
// maintains it from then on, so that a list costs no more than its page, and a create
// with Batch.Parked no more than any other.
type counts struct {
	mu        sync.Mutex
	published uint64 // the newest transaction that the counters were told of
	kept      map[countKey]*count
	counting  map[countKey]*count // still being counted; they move to kept
}

type countKey struct {
	owner   store.Scope
	context string // "": all contexts
}

// count is a counter. While it is being counted from a view, tally holds the changes since
// that view.
type count struct {
	in    *counts
	key   countKey
	at    uint64 // the transaction of the view that it is counted from
	tally tally
	users int // queued batches that need it
}

// tally is how many tasks are in each state, or by how many they have changed.
type tally struct {
	states [store.MaxState + 1]int64
	open   int64 // have not ended; only for a context
}

func (c *counts) init() {
	c.kept, c.counting = map[countKey]*count{}, map[countKey]*count{}
}

// total returns how many tasks match l's query, as of its view or later.
func (c *counts) total(l *lister) int64 {
	if l.query.Since > 0 {
		sum := l.tally(l.query.Since)
		return sum.of(l.query.State)
	}
	key := countKey{l.scope, l.query.Context}
	c.mu.Lock()
	if n := c.kept[key]; n != nil {
		defer c.mu.Unlock()
		return n.tally.of(l.query.State)
	}
	c.mu.Unlock()
	sum, _ := c.count(l, key, false /* use */)
	return sum.of(l.query.State)
}

// use returns the counter of a context, which stays until release: it is correct for the
// writer in every round that follows.
func (c *counts) use(ctx context.Context, db *DB, owner store.Scope, contextID string) (*count, error) {
	key := countKey{owner, contextID}
	for {
		c.mu.Lock()
		n := c.kept[key]
		if n != nil {
			n.users++
		}
		c.mu.Unlock()
		if n != nil {
			return n, nil
		}
		err := db.view(ctx, func(im *image) error {
			if err := im.whole(); err != nil {
				return err
			}
			l := lister{im: im, tasks: im.bucket(bucketTask), scope: owner, query: store.Query{Context: contextID}}
			_, n = c.count(&l, key, true /* use */)
			return nil
		})
		if errors.Is(err, errRebuilding) {
			return nil, nil // it cannot be counted now, and no create is refused for it
		}
		if n != nil || err != nil {
			return n, err
		}
	}
}

// release gives back a result of use, or nil.
func (n *count) release() {
	if n == nil {
		return
	}
	n.in.mu.Lock()
	defer n.in.mu.Unlock()
	n.users--
}

// count counts all states of key in l's view, and keeps the counter: kept is nil when a commit
// came between the view and now, so that it cannot be kept, or the key has another counter.
func (c *counts) count(l *lister, key countKey, use bool) (sum tally, kept *count) {
	n := c.begin(key, uint64(l.im.tx.ID()))
	counted := false // else a page of the index is damaged
	defer func() { kept = c.end(n, sum, use, counted) }()
	all := lister{im: l.im, tasks: l.tasks, scope: l.scope, query: store.Query{Context: l.query.Context}}
	all.live()
	sum, counted = all.tally(0), true
	return sum, nil
}

// begin begins a counter that collects from the view of transaction tx on. It returns nil if a
// later transaction has been published, or the key has another counter.
func (c *counts) begin(key countKey, tx uint64) *count {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.published > tx || c.kept[key] != nil || c.counting[key] != nil {
		return nil
	}
	n := &count{in: c, key: key, at: tx}
	c.counting[key] = n
	return n
}

// end keeps a counter, if it has been counted, and returns it.
func (c *counts) end(n *count, sum tally, use, counted bool) *count {
	if n == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.counting, n.key)
	if !counted {
		return nil
	}
	n.tally.add(&sum)
	if use {
		n.users++
	}
	c.makeRoom()
	c.kept[n.key] = n
	return n
}

// makeRoom drops unused counters when there are many.
func (c *counts) makeRoom() {
	if len(c.kept) < maxCounts {
		return
	}
	for key, n := range c.kept {
		if n.users == 0 {
			delete(c.kept, key)
		}
	}
}

// open returns how many tasks of n's context have not ended.
func (n *count) open() int64 {
	n.in.mu.Lock()
	defer n.in.mu.Unlock()
	return n.tally.open
}

// publish updates the counters with the changes of transaction tx.
func (c *counts) publish(tx uint64, tasks []*work) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.published = tx
	if len(c.kept) == 0 && len(c.counting) == 0 {
		return
	}
	for _, t := range tasks {
		if !t.changed {
			continue
		}
		change := tally{open: openTasks(&t.now) - openTasks(&t.before)}
		if t.before.there() {
			change.states[t.before.State]--
		}
		if t.now.there() {
			change.states[t.now.State]++
		}
		if change == (tally{}) {
			continue
		}
		c.move(countKey{owner: t.now.Owner}, tx, &change)
		if t.now.Context != "" {
			c.move(countKey{t.now.Owner, t.now.Context}, tx, &change)
		}
	}
}

func (c *counts) move(key countKey, tx uint64, change *tally) {
	if n := cmp.Or(c.kept[key], c.counting[key]); n != nil && tx > n.at {
		n.tally.add(change)
	}
}

// openTasks returns 1 for a task that has not ended, else 0.
func openTasks(t *record) int64 {
	if t.there() && t.Phase != store.Final {
		return 1
	}
	return 0
}

func (t *tally) add(sum *tally) {
	for state, n := range sum.states {
		t.states[state] += n
	}
	t.open += sum.open
}

func (t *tally) of(state store.State) int64 {
	if state != 0 {
		return t.states[state]
	}
	var n int64
	for _, k := range t.states[1:] {
		n += k
	}
	return n
}

// tally counts the tasks of l whose status is not older than since. It counts open tasks only
// for a context; all other lists are counted by their keys.
func (l *lister) tally(since store.Millis) (sum tally) {
	for i := range l.atWork {
		sum.states[l.atWork[i].state]++
		sum.open++
	}
	bucket, prefixes := l.ranges()
	for _, prefix := range prefixes {
		c := bucket.Cursor()
		first := append(bytes.Clone(prefix), u64(uint64(since))...)
		for k, _ := c.Seek(first); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
			if l.query.Context == "" {
				sum.states[prefix[len(prefix)-1]]++
				continue
			}
			at, id, _ := store.ParseTaskPosition(k[len(prefix):])
			t := record{Header: l.header(at, id)}
			if t.Context == l.query.Context {
				sum.states[t.State]++
				sum.open += openTasks(&t)
			}
		}
	}
	return sum
}
