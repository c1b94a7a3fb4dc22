package tool

import "sync"

// maxCached bounds how many tools the values of a cache hold. A toolset that returns a new
// slice each time can fill a cache; it is then cleared.
const maxCached = 1 << 16

// sliceKey identifies a slice of tools without reading it: equal keys are the same
// elements of the same array. All empty slices are the same.
type sliceKey struct {
	first *Tool
	n     int
}

func keyOf(tools []Tool) sliceKey {
	if len(tools) == 0 {
		return sliceKey{}
	}
	return sliceKey{&tools[0], len(tools)}
}

// sliceCache keeps values computed from slices of tools. Such a slice never changes (see
// [Toolset]), and its address is not reused while the cache refers to it. The zero value is
// empty.
type sliceCache[V any] struct {
	mu     sync.Mutex
	values map[sliceKey]V
	size   int
}

func (c *sliceCache[V]) load(tools []Tool) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.values[keyOf(tools)]
	return v, ok
}

// store keeps v, unless another goroutine has stored a value before, and returns the value
// kept.
func (c *sliceCache[V]) store(tools []Tool, v V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := keyOf(tools)
	if first, ok := c.values[key]; ok {
		return first
	}
	if c.size += 1 + len(tools); c.values == nil || c.size > maxCached {
		c.values, c.size = map[sliceKey]V{}, 1+len(tools)
	}
	c.values[key] = v
	return v
}

// textCache keeps values by a key that callers write into a buffer of their own. The zero
// value is empty.
type textCache[V any] struct {
	mu     sync.Mutex
	values map[string]V
	size   int
}

func (c *textCache[V]) load(key []byte) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.values[string(key)]
	return v, ok
}

// store is that of [sliceCache]; size is how many tools v holds.
func (c *textCache[V]) store(key []byte, size int, v V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first, ok := c.values[string(key)]; ok {
		return first
	}
	if c.size += 1 + size; c.values == nil || c.size > maxCached {
		c.values, c.size = map[string]V{}, 1+size
	}
	c.values[string(key)] = v
	return v
}
