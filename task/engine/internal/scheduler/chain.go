package scheduler

// chain is a linked list from which any element can be removed in constant time. Its zero
// value is empty.
type chain[T any] struct{ first, last *link[T] }

// link is the place of an element in a chain. It is embedded in the element, so that it
// need not be allocated. Its zero value, except for of, is in no chain.
type link[T any] struct {
	of         T
	in         *chain[T]
	prev, next *link[T]
}

// push appends a link that is in no chain to c.
func (c *chain[T]) push(l *link[T]) {
	l.in, l.prev = c, c.last
	if c.last == nil {
		c.first = l
	} else {
		c.last.next = l
	}
	c.last = l
}

// leave removes a link from its chain, if any.
func (l *link[T]) leave() {
	switch {
	case l.in == nil:
		return
	case l.prev == nil:
		l.in.first = l.next
	default:
		l.prev.next = l.next
	}
	if l.next == nil {
		l.in.last = l.prev
	} else {
		l.next.prev = l.prev
	}
	l.in, l.prev, l.next = nil, nil, nil
}
