package engine

import (
	"slices"
	"time"

	"a2a-server/store"
	"a2a-server/task"
)

// class says why a task wants a turn. What is kept for one is kept for those before it,
// too.
type class int

const (
	settled class = iota // somebody has decided something, or a deadline has passed
	fresh                // it has had no turn yet
	resumed              // anything else: its time has come, a message, an older process is gone
	classes
)

// youth is how long a turn counts whole: an older one mostly waits for its tools, which
// takes memory and no processor, and makes room for another.
const youth = time.Second

// longer is how many times as many turns may be older than that as there are turns in
// all.
const longer = 4

// kept is which part of all turns there is beside them for new tasks, and once more for
// what has been settled.
const kept = 8

// quota is how many turns there may be, of all callers or of one.
type quota struct {
	turns [classes]int // in their youth, of a class and of those after it
	long  int          // that are older, of any class
	queue int          // tasks that wait, of those that may be refused
}

func newQuota(turns, queue int) quota {
	extra := turns / kept
	return quota{
		turns: [classes]int{settled: turns + extra + max(extra, 1), fresh: turns + extra, resumed: turns},
		long:  longer * turns,
		queue: queue,
	}
}

// usage is how much of a quota is used.
type usage struct {
	young  [classes]int // turns in their youth
	long   int          // older ones
	queued int          // tasks that wait, or are going to, of those that may be refused
}

// held returns how many turns there are.
func (u *usage) held() int {
	n := u.long
	for _, young := range u.young {
		n += young
	}
	return n
}

// room reports whether there may be one more turn of a class. Old turns beyond their own
// quota count as young ones of every class.
func (u *usage) room(q *quota, c class) bool {
	n := max(u.long-q.long, 0)
	for k := resumed; k >= settled; k-- {
		if n += u.young[k]; k <= c && n >= q.turns[k] {
			return false
		}
	}
	return true
}

// lanes says which tasks may have a turn, and which one is next. Each caller has a lane,
// in which its tasks wait in the order in which they came; turns go round the lanes. What
// a caller has beyond its share nobody else has to wait for.
//
// A lane is there as long as its caller has anything in it. No method takes longer the
// more there is in the lanes, over many calls. All of them want [Engine.mu].
type lanes struct {
	all, each quota
	used      usage
	lanes     map[store.Scope]*lane
	waiters   map[store.TaskID]*waiter
	coming    map[store.TaskID][]*waiter // that do not wait yet: a place in the queue is reserved, or the last turn is about to leave
	rings     [classes]chain[*lane]      // in which tasks of a class wait; that their caller has no room may be found out late
	young     chain[*place]              // the oldest first
	last      class                      // fresh or resumed: which of them was the last to have a turn that it had waited for
	silent    chain[*waiter]             // who has not said that it waits, the longest first
}

func newLanes(l *task.Limits) lanes {
	return lanes{
		all:   newQuota(l.Turns, l.Queue),
		each:  newQuota(min(l.TurnsPerCaller, l.Turns), min(l.QueuePerCaller, l.Queue)),
		lanes: map[store.Scope]*lane{}, waiters: map[store.TaskID]*waiter{}, coming: map[store.TaskID][]*waiter{},
	}
}

// lane is what one caller has.
type lane struct {
	owner   store.Scope
	used    usage
	waiting int // tasks in the queues
	queue   [classes]chain[*waiter]
	rings   [classes]link[*lane]
}

// place is what a turn holds. Its zero value is none.
type place struct {
	lane  *lane
	class class
	since time.Time
	young link[*place]
}

// waiter is a task that waits for a turn, and the fence by which it may have one.
type waiter struct {
	task    store.TaskID
	owner   store.Scope
	fence   uint64
	class   class
	counted bool // in queued
	over    bool // it has ended before it could wait
	since   time.Time
	queue   link[*waiter]
	silent  link[*waiter]
}

// of returns the lane of a caller.
func (l *lanes) of(owner store.Scope) *lane {
	n := l.lanes[owner]
	if n == nil {
		n = &lane{owner: owner}
		for c := range n.rings {
			n.rings[c].of = n
		}
		l.lanes[owner] = n
	}
	return n
}

// tidy lets go of a lane that has nothing in it.
func (l *lanes) tidy(n *lane) {
	if n.used.held() == 0 && n.used.queued == 0 && n.waiting == 0 {
		delete(l.lanes, n.owner)
	}
}

// take gives a place to a task at once, when there is room and nobody waits for it.
func (l *lanes) take(p *place, owner store.Scope, c class, now time.Time) bool {
	n := l.of(owner)
	if !l.room(n, c) {
		l.age(now)
	}
	if !l.room(n, c) || n.queue[c].first != nil || l.rings[c].first != nil {
		l.tidy(n)
		return false
	}
	l.hold(p, owner, c, now)
	return true
}

func (l *lanes) room(n *lane, c class) bool {
	return l.used.room(&l.all, c) && n.used.room(&l.each, c)
}

// hold gives a place to a task for which there is room.
func (l *lanes) hold(p *place, owner store.Scope, c class, now time.Time) {
	n := l.of(owner)
	n.used.young[c]++
	l.used.young[c]++
	p.lane, p.class, p.since, p.young.of = n, c, now, p
	l.young.push(&p.young)
}

// free gives a place back, if p is one.
func (l *lanes) free(p *place) {
	n := p.lane
	if n == nil {
		return
	}
	if p.young.in == nil {
		n.used.long--
		l.used.long--
	} else {
		p.young.leave()
		n.used.young[p.class]--
		l.used.young[p.class]--
	}
	p.lane = nil
	l.list(n)
	l.tidy(n)
}

// age lets the turns make room that have been held for long enough.
func (l *lanes) age(now time.Time) {
	for f := l.young.first; f != nil && now.Sub(f.of.since) >= youth; f = l.young.first {
		f.leave()
		n, c := f.of.lane, f.of.class
		n.used.young[c]--
		l.used.young[c]--
		n.used.long++
		l.used.long++
		l.list(n)
	}
}

// list puts a lane into the rings of what waits in it, as far as its caller has room.
func (l *lanes) list(n *lane) {
	for c := range classes {
		if n.queue[c].first != nil && n.rings[c].in == nil && n.used.room(&l.each, c) {
			l.rings[c].push(&n.rings[c])
		}
	}
}

// reserve counts a task that is going to wait unless something fails. It reports which
// quota is used up, nil when there is room.
func (l *lanes) reserve(w *waiter) (full *quota) {
	if w.class == settled {
		return nil
	}
	n := l.of(w.owner)
	switch {
	case l.used.queued >= l.all.queue:
		full = &l.all
	case n.used.queued >= l.each.queue:
		full = &l.each
	default:
		w.counted = true
		n.used.queued++
		l.used.queued++
		l.comes(w)
	}
	l.tidy(n)
	return full
}

// comes notes that a waiter is on its way: what happens to its task meanwhile is its own.
func (l *lanes) comes(w *waiter) { l.coming[w.task] = append(l.coming[w.task], w) }

// came notes that a waiter is not on its way any more.
func (l *lanes) came(w *waiter) {
	left := slices.DeleteFunc(l.coming[w.task], func(other *waiter) bool { return other == w })
	if l.coming[w.task] = left; len(left) == 0 {
		delete(l.coming, w.task)
	}
}

// settle lets a task that waits do so as one of which something has been settled, and
// what is on its way to wait for it, too. It reports whether it waits.
func (l *lanes) settle(id store.TaskID) bool {
	for _, w := range l.coming[id] {
		w.class = settled
	}
	w := l.waiters[id]
	if w != nil {
		l.promote(w, settled)
	}
	return w != nil
}

// release takes back what reserve has counted, if it has.
func (l *lanes) release(w *waiter) {
	if w == nil || !w.counted {
		return
	}
	w.counted = false
	l.came(w)
	n := l.of(w.owner)
	n.used.queued--
	l.used.queued--
	l.tidy(n)
}

// wait lets a task wait for its turn. It waits once, however often that is said.
func (l *lanes) wait(w *waiter, now time.Time) {
	l.came(w)
	if w.over {
		l.release(w)
		return
	}
	if known := l.waiters[w.task]; known != nil {
		known.fence = max(known.fence, w.fence)
		l.release(w)
		l.promote(known, w.class)
		return
	}
	n := l.of(w.owner)
	if w.class != settled && !w.counted {
		w.counted = true
		n.used.queued++
		l.used.queued++
	}
	l.waiters[w.task] = w
	if w.since.IsZero() {
		w.since = now
	}
	w.queue.of, w.silent.of = w, w
	n.queue[w.class].push(&w.queue)
	n.waiting++
	l.silent.push(&w.silent)
	l.list(n)
}

// forget takes a task that has ended out of those that wait, and keeps what is on its way
// from waiting for it.
func (l *lanes) forget(id store.TaskID) {
	for _, w := range l.coming[id] {
		w.over = true
	}
	if w := l.waiters[id]; w != nil {
		l.drop(w)
	}
}

// promote lets a task that waits do so in a class, if that is better than its own.
func (l *lanes) promote(w *waiter, c class) {
	if c >= w.class {
		return
	}
	n := l.of(w.owner)
	w.queue.leave()
	if n.queue[w.class].first == nil {
		n.rings[w.class].leave()
	}
	w.class = c
	n.queue[c].push(&w.queue)
	l.list(n)
}

// drop takes a task out of those that wait.
func (l *lanes) drop(w *waiter) {
	n := l.of(w.owner)
	w.queue.leave()
	if n.queue[w.class].first == nil {
		n.rings[w.class].leave()
	}
	w.silent.leave()
	n.waiting--
	delete(l.waiters, w.task)
	l.release(w)
	l.tidy(n)
}

// next takes the task out of those that wait whose turn it is: what has been settled
// first, then the other classes by turns, and in each class the callers. Nil: there is no
// room for any.
func (l *lanes) next(now time.Time) *waiter {
	l.age(now)
	order := [classes]class{settled, fresh, resumed}
	if l.last == fresh {
		order = [classes]class{settled, resumed, fresh}
	}
	for _, c := range order {
		for r := &l.rings[c]; r.first != nil && l.used.room(&l.all, c); {
			n := r.first.of
			n.rings[c].leave()
			if !n.used.room(&l.each, c) {
				continue // it is listed again when its caller has room
			}
			w := n.queue[c].first.of
			w.queue.leave()
			l.list(n) // at the end
			l.drop(w)
			if c != settled {
				l.last = c
			}
			return w
		}
	}
	return nil
}

// clear lets go of everybody who waits.
func (l *lanes) clear() {
	for _, w := range l.waiters {
		l.drop(w)
	}
}

// ripe returns when next may find room by the mere passing of time, the zero time when it
// will not.
func (l *lanes) ripe() time.Time {
	if len(l.waiters) == 0 || l.young.first == nil {
		return time.Time{}
	}
	return l.young.first.of.since.Add(youth)
}
