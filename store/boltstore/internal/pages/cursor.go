package pages

// Cursor walks a bucket. Its methods return nil keys at the end.
type Cursor struct {
	b    *Bucket
	path []step // from the root to a leaf
}

// step is an element of a page.
type step struct {
	page
	i         int    // after the last key: none
	low, high []byte // of the keys on the page; nil: no bound
}

// First moves to the first key.
func (c *Cursor) First() (key, value []byte) {
	c.begin()
	c.descend(func(page) int { return 0 })
	return c.forward()
}

// Seek moves to the first key that is not smaller than key.
func (c *Cursor) Seek(key []byte) (k, v []byte) {
	c.begin()
	c.descend(func(p page) int {
		if p.leaf() {
			return p.search(key)
		}
		return p.toward(key)
	})
	return c.forward()
}

// Next moves to the key after the current one.
func (c *Cursor) Next() (key, value []byte) {
	c.path[len(c.path)-1].i++
	return c.forward()
}

func (c *Cursor) begin() {
	c.path = c.path[:0]
	c.enter(c.b.root, nil, nil)
}

// enter adds a page to the path, which it checks.
func (c *Cursor) enter(id uint64, low, high []byte) {
	p := c.b.page(id, len(c.path), low, high)
	c.path = append(c.path, step{page: p, low: low, high: high})
}

// descend chooses an element of the last page of the path, and of the pages below it.
func (c *Cursor) descend(choose func(page) int) {
	for {
		s := &c.path[len(c.path)-1]
		if s.i = choose(s.page); s.leaf() {
			return
		}
		c.down()
	}
}

// down adds the page that the current element of a branch points to.
func (c *Cursor) down() {
	s := &c.path[len(c.path)-1]
	c.enter(s.child(s.i, s.high))
}

// forward returns the current element, or the next page's first element if the position is
// past the end of its page.
func (c *Cursor) forward() (key, value []byte) {
	for len(c.path) > 0 {
		s := &c.path[len(c.path)-1]
		switch {
		case s.i >= s.count():
			if c.path = c.path[:len(c.path)-1]; len(c.path) > 0 {
				c.path[len(c.path)-1].i++
			}
		case s.leaf():
			return s.key(s.i), s.value(s.i)
		default:
			c.down()
		}
	}
	return nil, nil
}
