package engine

import (
	"sync"

	"a2a-server/store"
	"a2a-server/task"
)

// The views of tasks that have just paused or ended are cached, up to maxCachedView bytes
// each, at most maxCachedViews: these tasks are at the top of lists.
const (
	maxCachedView  = 32 << 10
	maxCachedViews = 1024
)

// viewCache caches views with the seq up to which they are folded; a view with another
// seq is never used. Cached views must not be changed.
type viewCache struct {
	mu    sync.Mutex
	views map[store.TaskID]cachedView
	order []store.TaskID // a ring; next is the oldest
	next  int
}

type cachedView struct {
	seq  uint64
	view *task.View
}

func (c *viewCache) init() {
	c.views = map[store.TaskID]cachedView{}
	c.order = make([]store.TaskID, maxCachedViews)
}

func (c *viewCache) get(id store.TaskID, seq uint64) *task.View {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.views[id]; ok && v.seq == seq {
		return v.view
	}
	return nil
}

func (c *viewCache) put(id store.TaskID, seq uint64, v *task.View) {
	if v.Size() > maxCachedView {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.views[id]; !ok {
		delete(c.views, c.order[c.next])
		c.order[c.next] = id
		c.next = (c.next + 1) % len(c.order)
	}
	c.views[id] = cachedView{seq, v}
}
