package store

import (
	"container/heap"
	"time"
)

// The bounds of a [Window], unless a store is told otherwise.
const (
	WindowAge  = time.Hour
	WindowSize = 200_000
)

// Window is the idempotency window: it maps the messages of the newest creations to
// their tasks. Implementations of [Store] check [Batch].Dedup with it.
//
// A creation is remembered for [WindowAge] of running time. Times are how long the
// process has run, by a monotonic clock, so that no jump of the system's clock makes
// the window shorter or longer; they must not decrease. When the window is full, the
// owner with the most creations in it loses its oldest: no owner can flush the
// creations of another.
//
// A creation takes about 100 bytes of memory. A Window is not safe for concurrent use.
// Make one with [NewWindow].
type Window struct {
	size    int
	tasks   map[Hash]int32 // to slots
	slots   []creation
	free    int32 // first of the slots that are free, linked by after
	oldest  int32 // of all
	newest  int32 // of all
	callers map[[16]byte]*caller
	most    callerHeap
}

// none is no slot.
const none int32 = -1

// creation is a slot: it has no pointers, so that the garbage collector skips it.
type creation struct {
	message       Hash
	task          TaskID
	at            time.Duration
	owner         [16]byte
	before, after int32 // among all, by age
	next          int32 // the owner's next younger creation
}

// caller is an owner with creations in the window.
type caller struct {
	n              int
	oldest, newest int32
	place          int // in the heap
}

// NewWindow returns an empty window for size creations. 0 means [WindowSize].
func NewWindow(size int) *Window {
	if size <= 0 {
		size = WindowSize
	}
	return &Window{
		size: size, free: none, oldest: none, newest: none,
		tasks: map[Hash]int32{}, callers: map[[16]byte]*caller{},
	}
}

// Len returns how many creations are remembered.
func (w *Window) Len() int { return len(w.tasks) }

// Find forgets creations older than [WindowAge] and returns the task that m created.
func (w *Window) Find(m Hash, now time.Duration) (TaskID, bool) {
	for w.oldest != none && now-w.slots[w.oldest].at >= WindowAge {
		w.forget(w.oldest)
	}
	i, ok := w.tasks[m]
	if !ok {
		return TaskID{}, false
	}
	return w.slots[i].task, true
}

// Add remembers that m created owner's task id now. Find must not know m.
func (w *Window) Add(owner Scope, m Hash, id TaskID, now time.Duration) {
	c, i := w.take(owner, m, id, now)
	s := &w.slots[i]
	if s.before = w.newest; s.before != none {
		w.slots[s.before].after = i
	} else {
		w.oldest = i
	}
	w.newest = i
	if c.newest != none {
		w.slots[c.newest].next = i
	} else {
		c.oldest = i
	}
	c.newest = i
	w.grown(c)
}

// AddOlder remembers a creation that is older than all in the window, for a store that
// reads backwards when it is opened. Its age is counted from now, and no later call may
// pass an earlier time. A known message is left unchanged.
func (w *Window) AddOlder(owner Scope, m Hash, id TaskID, now time.Duration) {
	if _, known := w.tasks[m]; known {
		return
	}
	c, i := w.take(owner, m, id, now)
	s := &w.slots[i]
	if s.after = w.oldest; s.after != none {
		w.slots[s.after].before = i
	} else {
		w.newest = i
	}
	w.oldest = i
	if s.next = c.oldest; s.next == none {
		c.newest = i
	}
	c.oldest = i
	w.grown(c)
}

// take fills a free slot and links it into no list.
func (w *Window) take(owner Scope, m Hash, id TaskID, now time.Duration) (*caller, int32) {
	key := owner.Key()
	c := w.callers[key]
	if c == nil {
		c = &caller{oldest: none, newest: none}
		w.callers[key] = c
		heap.Push(&w.most, c)
	}
	i := w.free
	if i != none {
		w.free = w.slots[i].after
	} else {
		i = int32(len(w.slots)) // at most size+1
		w.slots = append(w.slots, creation{})
	}
	w.slots[i] = creation{message: m, task: id, at: now, owner: key, before: none, after: none, next: none}
	w.tasks[m] = i
	return c, i
}

// grown counts another creation of c's, and makes room when there are too many.
func (w *Window) grown(c *caller) {
	c.n++
	heap.Fix(&w.most, c.place)
	if len(w.tasks) > w.size {
		w.forget(w.most[0].oldest)
	}
}

// forget removes a creation that is its owner's oldest.
func (w *Window) forget(i int32) {
	s := &w.slots[i]
	c := w.callers[s.owner]
	c.n--
	c.oldest = s.next
	if c.n == 0 {
		heap.Remove(&w.most, c.place)
		delete(w.callers, s.owner)
	} else {
		heap.Fix(&w.most, c.place)
	}
	if s.before != none {
		w.slots[s.before].after = s.after
	} else {
		w.oldest = s.after
	}
	if s.after != none {
		w.slots[s.after].before = s.before
	} else {
		w.newest = s.before
	}
	delete(w.tasks, s.message)
	s.after, w.free = w.free, i
}

// callerHeap has the caller with the most creations first. It implements
// [heap.Interface].
type callerHeap []*caller

func (h callerHeap) Len() int           { return len(h) }
func (h callerHeap) Less(i, j int) bool { return h[i].n > h[j].n }
func (h callerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *callerHeap) Push(x any) {
	c, _ := x.(*caller)
	c.place = len(*h)
	*h = append(*h, c)
}

func (h *callerHeap) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return c
}
