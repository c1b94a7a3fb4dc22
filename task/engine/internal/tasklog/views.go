package tasklog

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

// ViewCache caches views with the seq up to which they are folded; a view with another
// seq is never used. Cached views must not be changed. Its zero value is ready to use.
type ViewCache struct {
	mu       sync.Mutex
	new, old map[store.TaskID]cachedView // old is forgotten when new has half of maxCachedViews
}

type cachedView struct {
	seq  uint64
	view *task.View
}

// Get returns the view of a task folded up to seq, nil if it is not cached.
func (c *ViewCache) Get(id store.TaskID, seq uint64) *task.View {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, views := range []map[store.TaskID]cachedView{c.new, c.old} {
		if v, ok := views[id]; ok && v.seq == seq {
			return v.view
		}
	}
	return nil
}

// Put caches a view folded up to seq, unless it is too large.
func (c *ViewCache) Put(id store.TaskID, seq uint64, v *task.View) {
	if v.Size() > maxCachedView {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.new == nil || len(c.new) >= maxCachedViews/2 {
		c.new, c.old = make(map[store.TaskID]cachedView, maxCachedViews/2), c.new
	}
	c.new[id] = cachedView{seq, v}
}
