package engine

import (
	"slices"
	"time"

	"a2a-server/internal/share"
	"a2a-server/store"
	"a2a-server/task"
)

// class says why a task wants a turn.
type class int

const (
	settled class = iota // an approval was decided, or its deadline has passed
	other                // it is new, or continues after a timer, a message or a restart
	classes
)

// youth is how long a turn counts against the limit: an older turn mostly waits for its tools,
// which takes memory but no processor, and makes room for another.
const youth = time.Second

// longer is the ratio of the maximum number of turns older than youth to the limit of
// turns.
const longer = 4

// kept is the fraction 1/kept of the turns that is added to the limit, and again, at least one
// turn, for the class settled.
const kept = 8

// quota is the number of turns allowed, for all callers or for each.
type quota struct {
	turns [classes]int // in their youth: of any class, and of the class other
	long  int          // older turns, of any class
}

func newQuota(turns int) quota {
	extra := turns / kept
	return quota{turns: [classes]int{settled: turns + extra + max(extra, 1), other: turns + extra}, long: longer * turns}
}

// usage is how much of a quota is used.
type usage struct {
	young [classes]int // turns in their youth
	long  int          // older turns
}

// held returns how many turns there are.
func (u *usage) held() int { return u.long + u.young[settled] + u.young[other] }

// room reports whether another turn of a class may begin. Old turns in excess of their own
// quota count as young turns.
func (u *usage) room(q *quota, c class) bool {
	n := max(u.long-q.long, 0) + u.young[other]
	return n+u.young[settled] < q.turns[settled] && (c == settled || n < q.turns[other])
}

// lanes decides which tasks may have a turn, and which is next. Each caller has a lane, in
// which its tasks wait in order of arrival; turns are given to the lanes round-robin. Tasks
// that a caller has in excess of its share delay no other caller.
//
// A lane exists as long as its caller has anything in it. All methods take amortized constant
// time. Callers must hold [Engine.mu].
type lanes struct {
	all, each quota
	used      usage
	queued    *share.Shares[store.Scope] // of the tasks that may be refused, how many wait or are about to
	lanes     map[store.Scope]*lane
	waiters   map[store.TaskID]*waiter
	coming    map[store.TaskID][]*waiter // not waiting yet: a place in the queue is reserved, or the last turn is about to leave
	rings     [classes]chain[*lane]      // lanes in which tasks of a class wait; whether their caller has room may be checked late
	young     chain[*place]              // the oldest first
	silent    chain[*waiter]             // waiters whose status does not say so yet, the longest waiting first
}

func newLanes(l *task.Limits) lanes {
	return lanes{
		all: newQuota(l.Turns), each: newQuota(min(l.TurnsPerCaller, l.Turns)),
		queued: share.New[store.Scope](int64(l.Queue), int64(l.QueuePerCaller)),
		lanes:  map[store.Scope]*lane{}, waiters: map[store.TaskID]*waiter{}, coming: map[store.TaskID][]*waiter{},
	}
}

// lane is the turns and waiting tasks of a caller.
type lane struct {
	owner   store.Scope
	used    usage
	waiting int // tasks in the queues
	queue   [classes]chain[*waiter]
	rings   [classes]link[*lane]
}

// place is the place held by a turn. Its zero value is no place.
type place struct {
	lane  *lane
	class class
	since time.Time
	young link[*place]
}

// waiter is a task that waits for a turn, and the fence with which it may run.
type waiter struct {
	task    store.TaskID
	owner   store.Scope
	fence   uint64
	class   class
	counted bool // in queued
	over    bool // it ended before it could wait
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

// tidy removes a lane that has nothing in it.
func (l *lanes) tidy(n *lane) {
	if n.used.held() == 0 && n.waiting == 0 {
		delete(l.lanes, n.owner)
	}
}

// take gives a place to a task immediately, if there is room and no task waits for it.
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

// free releases a place; the zero value is ignored.
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

// age moves turns older than youth to the count of older turns.
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

// list puts a lane into the rings of the classes that wait in it, as far as its caller
// has room.
func (l *lanes) list(n *lane) {
	for c := range classes {
		if n.queue[c].first != nil && n.rings[c].in == nil && n.used.room(&l.each, c) {
			l.rings[c].push(&n.rings[c])
		}
	}
}

// reserve counts a task that is going to wait unless something fails. It returns the
// limit that is reached, nil if there is room.
func (l *lanes) reserve(w *waiter) *share.Full {
	if w.class == settled {
		return nil
	}
	if full := l.queued.Take(w.owner, 1); full != nil {
		return full
	}
	w.counted = true
	l.comes(w)
	return nil
}

// comes records that a waiter is about to wait, so that changes to its task in the meantime
// apply to it.
func (l *lanes) comes(w *waiter) { l.coming[w.task] = append(l.coming[w.task], w) }

// came records that a waiter is no longer about to wait.
func (l *lanes) came(w *waiter) {
	left := slices.DeleteFunc(l.coming[w.task], func(other *waiter) bool { return other == w })
	if l.coming[w.task] = left; len(left) == 0 {
		delete(l.coming, w.task)
	}
}

// settle moves a waiting task to the class settled, with its waiters that are about to wait.
// It reports whether the task waits.
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

// release reverts reserve, if it has counted the task.
func (l *lanes) release(w *waiter) {
	if w == nil || !w.counted {
		return
	}
	w.counted = false
	l.came(w)
	l.queued.Give(w.owner, 1)
}

// wait makes a task wait for its turn. A task that waits already keeps its one place in the
// queue, with the newer fence and in the better of the two classes.
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
		l.queued.Add(w.owner, 1)
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

// forget removes a task that has ended from the queue, and keeps its waiters that are about to
// wait from doing so.
func (l *lanes) forget(id store.TaskID) {
	for _, w := range l.coming[id] {
		w.over = true
	}
	if w := l.waiters[id]; w != nil {
		l.drop(w)
	}
}

// promote moves a waiting task to a class, if that is better than its own.
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

// drop removes a task from the queue.
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

// next removes the next task from the queue: the class settled first, and within each class
// the callers round-robin. Nil means that there is no room for any.
func (l *lanes) next(now time.Time) *waiter {
	l.age(now)
	for c := range classes {
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
			return w
		}
	}
	return nil
}

// clear removes all waiting tasks.
func (l *lanes) clear() {
	for _, w := range l.waiters {
		l.drop(w)
	}
}

// ripe returns the time at which turns that grow older may make room for next, or the
// zero time if none will.
func (l *lanes) ripe() time.Time {
	if len(l.waiters) == 0 || l.young.first == nil {
		return time.Time{}
	}
	return l.young.first.of.since.Add(youth)
}
