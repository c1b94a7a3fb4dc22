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

// cache keeps values made of tools, by a key that identifies these. A slice of tools never changes (see
// [Toolset]), and its address is not reused while the cache refers to it. The zero value is empty.
type cache[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]V
	size   int
}

func (c *cache[K, V]) load(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.values[key]
	return v, ok
}

// store keeps v, which holds n tools, unless another goroutine has stored a value before, and returns
// the value kept.
func (c *cache[K, V]) store(key K, n int, v V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first, ok := c.values[key]; ok {
		return first
	}
	if c.size += 1 + n; c.values == nil || c.size > maxCached {
		c.values, c.size = map[K]V{}, 1+n
	}
	c.values[key] = v
	return v
}
