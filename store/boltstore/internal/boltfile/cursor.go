package boltfile

// Cursor walks a bucket. Its methods return nil keys at the end.
type Cursor struct {
	b     *Bucket
	path  []step  // from the root to a leaf
	steps [4]step // the memory of a short path
}

// step is an element of a page.
type step struct {
	page
	i         int    // before the first key, or after the last: none
	low, high []byte // of the keys on the page; nil: no bound
}

func (s *step) current() (key, value []byte) {
	value, _ = s.value(s.i)
	return s.key(s.i), value
}

// First moves to the first key.
func (c *Cursor) First() (key, value []byte) {
	c.begin()
	c.descend(first)
	return c.forward()
}

// Last moves to the last key.
func (c *Cursor) Last() (key, value []byte) { return c.Before(nil) }

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

// Before moves to the last key that is smaller than key; nil: to the last.
func (c *Cursor) Before(key []byte) (k, v []byte) {
	c.begin()
	c.descend(func(p page) int {
		switch {
		case key == nil:
			return last(p)
		case p.leaf():
			return p.search(key) - 1
		}
		return p.toward(key)
	})
	return c.backward()
}

// Next moves to the key after the current one.
func (c *Cursor) Next() (key, value []byte) {
	c.path[len(c.path)-1].i++
	return c.forward()
}

// Prev moves to the key before the current one.
func (c *Cursor) Prev() (key, value []byte) {
	c.path[len(c.path)-1].i--
	return c.backward()
}

func first(page) int { return 0 }

func last(p page) int { return p.count() - 1 }

func (c *Cursor) begin() {
	c.path = c.steps[:0]
	c.enter(c.b.root, nil, nil)
}

// enter adds a page to the path, which it checks.
func (c *Cursor) enter(id uint64, low, high []byte) {
	p := c.b.checked(id, len(c.path), low, high)
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
			return s.current()
		default:
			c.down()
			c.descend(first)
		}
	}
	return nil, nil
}

// backward returns the current element, or the previous page's last element if the position is
// before the beginning of its page.
func (c *Cursor) backward() (key, value []byte) {
	for len(c.path) > 0 {
		s := &c.path[len(c.path)-1]
		switch {
		case s.i < 0:
			if c.path = c.path[:len(c.path)-1]; len(c.path) > 0 {
				c.path[len(c.path)-1].i--
			}
		case s.leaf():
			return s.current()
		default:
			c.down()
			c.descend(last)
		}
	}
	return nil, nil
}
