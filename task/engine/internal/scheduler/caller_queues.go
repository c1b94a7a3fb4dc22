package scheduler

import (
	"slices"
	"time"

	"a2a-server/internal/share"
	"a2a-server/store"
	"a2a-server/task"
)

// Class says why a task wants a turn.
type Class int

// The classes, the first of which has turns first.
const (
	Settled Class = iota // an approval was decided, or its deadline has passed
	Other                // it is new, or continues after a timer, a message or a restart
	classes
)

// youth is how long a turn counts against the limit: an older turn mostly waits for its tools,
// which takes memory but no processor, and makes room for another.
const youth = time.Second

// longer is the ratio of the maximum number of turns older than youth to the limit of
// turns.
const longer = 4

// kept is the fraction 1/kept of the turns that is added to the limit, and again, at least one
// turn, for the class Settled.
const kept = 8

// quota is the number of turns allowed, for all callers or for each.
type quota struct {
	turns [classes]int // in their youth: of any class, and of the class Other
	long  int          // older turns, of any class
}

func newQuota(turns int) quota {
	extra := turns / kept
	return quota{turns: [classes]int{Settled: turns + extra + max(extra, 1), Other: turns + extra}, long: longer * turns}
}

// usage is how much of a quota is used.
type usage struct {
	young [classes]int // turns in their youth
	long  int          // older turns
}

// held returns how many turns there are.
func (u *usage) held() int { return u.long + u.young[Settled] + u.young[Other] }

// room reports whether another turn of a class may begin. Old turns in excess of their own
// quota count as young turns.
func (u *usage) room(q *quota, c Class) bool {
	n := max(u.long-q.long, 0) + u.young[Other]
	return n+u.young[Settled] < q.turns[Settled] && (c == Settled || n < q.turns[Other])
}

// callerQueues decides which tasks may have a turn, and which is next. Each caller has a queue,
// in which its tasks wait in order of arrival; turns are given to the queues round-robin. Tasks
// that a caller has in excess of its share delay no other caller.
//
// A queue exists as long as its caller has anything in it. All methods take amortized constant
// time. Callers must hold [Scheduler.mu].
type callerQueues struct {
	all, each quota
	used      usage
	queued    *share.Shares[store.Scope] // of the tasks that may be refused, how many wait or are about to
	callers   map[store.Scope]*callerQueue
	waiters   map[store.TaskID]*waiter
	coming    map[store.TaskID][]*waiter   // not waiting yet: a place in the queue is reserved, or the last turn is about to leave
	rings     [classes]chain[*callerQueue] // queues in which tasks of a class wait; whether their caller has room may be checked late
	young     chain[*Place]                // the oldest first
	silent    chain[*waiter]               // waiters whose status does not say so yet, the longest waiting first
}

func newCallerQueues(l *task.Limits) callerQueues {
	return callerQueues{
		all: newQuota(l.Turns), each: newQuota(min(l.TurnsPerCaller, l.Turns)),
		queued:  share.New[store.Scope](int64(l.Queue), int64(l.QueuePerCaller)),
		callers: map[store.Scope]*callerQueue{}, waiters: map[store.TaskID]*waiter{}, coming: map[store.TaskID][]*waiter{},
	}
}

// callerQueue is the turns and waiting tasks of a caller.
type callerQueue struct {
	owner   store.Scope
	used    usage
	waiting int // tasks in the queues
	queue   [classes]chain[*waiter]
	rings   [classes]link[*callerQueue]
}

// waiter is a task that waits for a turn, and the fence with which it may run.
type waiter struct {
	task    store.TaskID
	owner   store.Scope
	fence   uint64
	class   Class
	counted bool // in queued
	over    bool // it ended before it could wait
	since   time.Time
	queue   link[*waiter]
	silent  link[*waiter]
}

// of returns the queue of a caller.
func (l *callerQueues) of(owner store.Scope) *callerQueue {
	n := l.callers[owner]
	if n == nil {
		n = &callerQueue{owner: owner}
		for c := range n.rings {
			n.rings[c].of = n
		}
		l.callers[owner] = n
	}
	return n
}

// tidy removes a queue that has nothing in it.
func (l *callerQueues) tidy(n *callerQueue) {
	if n.used.held() == 0 && n.waiting == 0 {
		delete(l.callers, n.owner)
	}
}

// take gives a place to a task immediately, if there is room and no task waits for it.
func (l *callerQueues) take(p *Place, owner store.Scope, c Class, now time.Time) bool {
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

func (l *callerQueues) room(n *callerQueue, c Class) bool {
	return l.used.room(&l.all, c) && n.used.room(&l.each, c)
}

// hold gives a place to a task for which there is room.
func (l *callerQueues) hold(p *Place, owner store.Scope, c Class, now time.Time) {
	n := l.of(owner)
	n.used.young[c]++
	l.used.young[c]++
	p.queue, p.class, p.since, p.young.of = n, c, now, p
	l.young.push(&p.young)
}

// free releases a place; the zero value is ignored.
func (l *callerQueues) free(p *Place) {
	n := p.queue
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
	p.queue = nil
	l.list(n)
	l.tidy(n)
}

// age moves turns older than youth to the count of older turns.
func (l *callerQueues) age(now time.Time) {
	for f := l.young.first; f != nil && now.Sub(f.of.since) >= youth; f = l.young.first {
		f.leave()
		n, c := f.of.queue, f.of.class
		n.used.young[c]--
		l.used.young[c]--
		n.used.long++
		l.used.long++
		l.list(n)
	}
}

// list puts a queue into the rings of the classes that wait in it, as far as its caller
// has room.
func (l *callerQueues) list(n *callerQueue) {
	for c := range classes {
		if n.queue[c].first != nil && n.rings[c].in == nil && n.used.room(&l.each, c) {
			l.rings[c].push(&n.rings[c])
		}
	}
}

// reserve counts a task that is going to wait unless something fails. It returns the
// limit that is reached, nil if there is room.
func (l *callerQueues) reserve(w *waiter) *share.Full {
	if w.class == Settled {
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
func (l *callerQueues) comes(w *waiter) { l.coming[w.task] = append(l.coming[w.task], w) }

// came records that a waiter is no longer about to wait.
func (l *callerQueues) came(w *waiter) {
	left := slices.DeleteFunc(l.coming[w.task], func(other *waiter) bool { return other == w })
	if l.coming[w.task] = left; len(left) == 0 {
		delete(l.coming, w.task)
	}
}

// settle moves a waiting task to the class Settled, with its waiters that are about to wait.
// It reports whether the task waits.
func (l *callerQueues) settle(id store.TaskID) bool {
	for _, w := range l.coming[id] {
		w.class = Settled
	}
	w := l.waiters[id]
	if w != nil {
		l.promote(w, Settled)
	}
	return w != nil
}

// release reverts reserve, if it has counted the task.
func (l *callerQueues) release(w *waiter) {
	if w == nil || !w.counted {
		return
	}
	w.counted = false
	l.came(w)
	l.queued.Give(w.owner, 1)
}

// wait makes a task wait for its turn. A task that waits already keeps its one place in the
// queue, with the newer fence and in the better of the two classes.
func (l *callerQueues) wait(w *waiter, now time.Time) {
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
	if w.class != Settled && !w.counted {
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
func (l *callerQueues) forget(id store.TaskID) {
	for _, w := range l.coming[id] {
		w.over = true
	}
	if w := l.waiters[id]; w != nil {
		l.drop(w)
	}
}

// promote moves a waiting task to a class, if that is better than its own.
func (l *callerQueues) promote(w *waiter, c Class) {
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
func (l *callerQueues) drop(w *waiter) {
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

// next removes the next task from the queue: the class Settled first, and within each class
// the callers round-robin. Nil means that there is no room for any.
func (l *callerQueues) next(now time.Time) *waiter {
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
func (l *callerQueues) clear() {
	for _, w := range l.waiters {
		l.drop(w)
	}
}

// ripe returns the time at which turns that grow older may make room for next, or the
// zero time if none will.
func (l *callerQueues) ripe() time.Time {
	if len(l.waiters) == 0 || l.young.first == nil {
		return time.Time{}
	}
	return l.young.first.of.since.Add(youth)
}
