package boltstore

import (
	"bytes"
	"sync"

	"a2a-server/store"
)

// maxCounts bounds the counters; when there are more they begin anew.
const maxCounts = 10_000

// counts keeps, for owners and contexts that were listed, how many tasks are in
// each state. A counter is counted from the index on its first use and kept right
// by the writer from then on, so that a list costs what its page costs.
type counts struct {
	mu sync.Mutex
	m  map[countKey]*count
}

type countKey struct {
	owner   [16]byte
	context [16]byte // zero: all contexts
}

type tally [store.MaxState + 1]int64

// count is one counter. Until it has been counted it collects what the writer
// does, because it may be counted from an older view.
type count struct {
	counted bool
	tally   tally
	at      uint64 // transaction up to which tally holds
	moves   []move // since the counter was opened, until it is counted
}

type move struct {
	tx       uint64
	was, now store.State // 0: not there
}

func (t *tally) move(m move) {
	t[m.was]--
	t[m.now]++
}

func (c *counts) init() { c.m = map[countKey]*count{} }

// total is the total of one query.
type total struct {
	counts *counts
	query  store.Query
	count  *count
}

// open returns the total of q, with its counter collecting. It must be called
// before the view in which it may be counted.
func (c *counts) open(s store.Scope, q store.Query) total {
	key := countKey{owner: s.Key()}
	if q.Context != "" {
		key.context = store.ContextKey(q.Context)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.m[key]
	if n == nil {
		if len(c.m) >= maxCounts {
			c.m = map[countKey]*count{}
		}
		n = &count{}
		c.m[key] = n
	}
	return total{counts: c, query: q, count: n}
}

// get returns the total as of l's view or later.
func (t total) get(l *lister) (int64, error) {
	if t.query.Since > 0 {
		tally, err := l.tally(t.query.Since)
		return tally.of(t.query.State), err
	}
	t.counts.mu.Lock()
	counted, sum := t.count.counted, t.count.tally
	t.counts.mu.Unlock()
	if counted {
		return sum.of(t.query.State), nil
	}
	// The counter is of all states, whatever the query asks.
	all := lister{tx: l.tx, tasks: l.tasks, scope: l.scope, query: store.Query{Context: l.query.Context}}
	if err := all.live(); err != nil {
		return 0, err
	}
	sum, err := all.tally(0)
	if err != nil {
		return 0, err
	}
	tx := uint64(l.tx.ID())
	t.counts.mu.Lock()
	defer t.counts.mu.Unlock()
	if n := t.count; !n.counted {
		n.tally, n.at, n.counted = sum, tx, true
		for _, m := range n.moves {
			if m.tx > tx {
				n.tally.move(m)
			}
		}
		n.moves = nil
	}
	return sum.of(t.query.State), nil
}

func (t *tally) of(state store.State) int64 {
	if state != 0 {
		return t[state]
	}
	var n int64
	for _, k := range t[1:] {
		n += k
	}
	return n
}

// tally counts the tasks of l whose status is not older than since.
func (l *lister) tally(since store.Millis) (tally, error) {
	var sum tally
	for i := range l.atWork {
		sum[l.atWork[i].State]++
	}
	bucket, prefixes := l.ranges()
	for _, prefix := range prefixes {
		c := bucket.Cursor()
		first := append(bytes.Clone(prefix), u64(uint64(since))...)
		for k, _ := c.Seek(first); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
			if l.query.Context == "" {
				sum[prefix[len(prefix)-1]]++
				continue
			}
			id := store.TaskID(k[len(k)-16:])
			t, err := decodeRecord(id, l.tasks.Get(id[:]))
			if err != nil {
				return sum, err
			}
			if t.Context == l.query.Context {
				sum[t.State]++
			}
		}
	}
	return sum, nil
}

// move tells the counters what transaction tx did to a task.
func (c *counts) move(tx uint64, before, now *record) {
	m := move{tx: tx}
	if before.there() {
		m.was = before.State
	}
	if now.there() {
		m.now = now.State
	}
	if m.was == m.now {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.m) == 0 {
		return
	}
	key := countKey{owner: now.Owner.Key()}
	c.apply(key, m)
	key.context = store.ContextKey(now.Context)
	c.apply(key, m)
}

func (c *counts) apply(key countKey, m move) {
	n := c.m[key]
	switch {
	case n == nil:
	case !n.counted:
		n.moves = append(n.moves, m)
	case m.tx > n.at:
		n.tally.move(m)
	}
}
