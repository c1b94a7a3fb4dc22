package engine

// chain is a list from which anything can be taken out at once, wherever it stands. Its
// zero value is empty.
type chain[T any] struct{ first, last *link[T] }

// link is the place of something in a chain: part of what stands in it, so that it need
// not be allocated. Its zero value, but for of, is in none.
type link[T any] struct {
	of         T
	in         *chain[T]
	prev, next *link[T]
}

// push puts a link that is in no chain at the end of c.
func (c *chain[T]) push(l *link[T]) {
	l.in, l.prev = c, c.last
	if c.last == nil {
		c.first = l
	} else {
		c.last.next = l
	}
	c.last = l
}

// leave takes a link out of its chain, if it is in one.
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
