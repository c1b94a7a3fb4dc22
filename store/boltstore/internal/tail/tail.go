// Package tail wakes the readers of tasks and keeps, in memory, the newest events of the tasks
// that are read.
package tail

import (
	"iter"
	"sync"
	"sync/atomic"

	"a2a-server/store"
)

// topicBytes and topicEvents bound the tail of a task.
const (
	topicBytes  = 4 << 20
	topicEvents = 4096
)

// Hub wakes the readers of tasks and keeps, for each watched task, a tail of its newest
// events, which all its readers share.
type Hub struct {
	limit    int64        // bytes of all tails
	bytes    atomic.Int64 // of all tails
	watchers store.Watchers[store.TaskID]

	mu     sync.RWMutex
	topics map[store.TaskID]*topic
}

// topic is a task that is watched.
type topic struct {
	mu    sync.Mutex
	users int // watchers of the task

	// The tail: the header after, and the events up to, the newest commit since
	// the topic began. Only the batch that directly follows extends it; any other
	// starts it again.
	valid  bool
	header store.Header
	events []store.Event
	bytes  int
}

// New returns a hub whose tails take at most limit bytes.
func New(limit int) *Hub {
	return &Hub{limit: int64(limit), topics: map[store.TaskID]*topic{}}
}

func (h *Hub) topic(id store.TaskID) *topic {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.topics[id]
}

// Watch wakes a reader of a task; see [store.Watcher].
func (h *Hub) Watch(s store.Scope, id store.TaskID) (<-chan struct{}, func()) {
	wake, stop := h.watchers.Watch(s, id)
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[id]
	if t == nil {
		t = &topic{}
		h.topics[id] = t
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users++
	return wake, sync.OnceFunc(func() {
		stop()
		h.leave(id, t)
	})
}

// leave takes a watcher off its topic. With the last, the topic and its tail go away.
func (h *Hub) leave(id store.TaskID, t *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(h.topics, id)
		h.bytes.Add(-int64(t.bytes))
		t.bytes, t.events, t.valid = 0, nil, false
	}
}

// Publish extends the tail by the events of committed batches, the first of which has seq first,
// and wakes the readers. header is the task's now, and there says that the task can be seen.
func (h *Hub) Publish(header *store.Header, there bool, first uint64, batches iter.Seq2[*store.Batch, store.Receipt]) {
	t := h.topic(header.Task)
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users == 0 {
		return // the last watcher left meanwhile
	}
	before := t.bytes
	if !t.valid || t.header.Seq+1 != first {
		t.events, t.bytes = nil, 0
	}
	for batch, receipt := range batches {
		for _, e := range batch.Number(receipt) {
			t.events = append(t.events, e)
			t.bytes += len(e.Data)
		}
	}
	t.header, t.valid = *header, there
	drop := 0
	for drop < len(t.events) && (t.bytes > topicBytes || len(t.events)-drop > topicEvents) {
		t.bytes -= len(t.events[drop].Data)
		drop++
	}
	t.events = t.events[drop:]
	if h.bytes.Add(int64(t.bytes-before)) > h.limit {
		h.bytes.Add(-int64(t.bytes))
		t.events, t.bytes = nil, 0
	}
	h.watchers.Wake(header.Task, header.Owner)
}

// Read serves the events from from when the tail holds all of them.
func (h *Hub) Read(s store.Scope, id store.TaskID, from store.From, limit store.Limit) (v store.LogPage, ok bool) {
	n, _ := from.Seq()
	t := h.topic(id)
	if t == nil {
		return v, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.valid || !s.Covers(t.header.Owner) || n > t.header.Seq {
		return v, false
	}
	start := t.header.Seq - uint64(len(t.events)) // seq before the first event held
	if n < start {
		return v, false
	}
	v.Header = t.header
	v.Fill(t.events[n-start:], from, limit)
	return v, true
}
