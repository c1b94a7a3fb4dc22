package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	bolt "go.etcd.io/bbolt"
)

// image is the file in the state of a transaction. Its pages are read here and not by bbolt,
// which trusts its pages: bbolt looks for keys past the end of a page that claims more keys
// than it has, and follows a page that refers to itself. Results are valid until the end of
// the transaction. Methods panic with an error where a page is damaged.
type image struct {
	tx   *bolt.Tx
	data []byte // of the file, as bbolt has mapped it
	size uint64 // of a page
	root uint64 // page of the bucket of all buckets
	used []bool // pages that are in use, so far; nil: it is not noted
}

func newImage(tx *bolt.Tx) *image {
	info := tx.DB().Info()
	return &image{
		tx:   tx,
		data: unsafe.Slice(*(**byte)(unsafe.Pointer(&info.Data)), tx.Size()), // bbolt maps all of it before it returns a transaction
		size: uint64(info.PageSize),
		root: uint64(tx.Cursor().Bucket().Root()),
	}
}

func (im *image) all() *bucket {
	return &bucket{im: im, name: []byte("all buckets"), root: im.root, buckets: true}
}

// bucket returns a bucket of the file.
func (im *image) bucket(name []byte) *bucket {
	value, found := im.all().find(name)
	if !found {
		panic(fmt.Errorf("it has no bucket %s", name))
	}
	return im.in(name, value)
}

// in returns the bucket that a value is.
func (im *image) in(name, value []byte) *bucket {
	if len(value) < bucketHeader {
		panic(fmt.Errorf("its bucket %s is cut off", name))
	}
	b := &bucket{im: im, name: name, root: binary.NativeEndian.Uint64(value), small: page(value[bucketHeader:])}
	if b.root != 0 && len(b.small) > 0 {
		panic(fmt.Errorf("its bucket %s has both a root page and elements", name))
	}
	return b
}

// checkSmall checks the page of all buckets, with the small buckets in it. bbolt copies the
// small buckets into memory, where a key outside its bucket would be anything.
func (im *image) checkSmall() {
	c := im.all().Cursor()
	for name, value := c.First(); name != nil; name, value = c.Next() {
		if b := im.in(name, value); b.root == 0 {
			b.checked(0, 0, nil, nil)
		}
	}
}

// page returns a page of the file that begins as it should.
func (im *image) page(id uint64) (page, error) {
	high := uint64(len(im.data)) / im.size
	if id < 2 || id >= high {
		return nil, fmt.Errorf("it refers to page %d; valid pages are 2 to %d", id, high-1)
	}
	p, order := im.data[id*im.size:], binary.NativeEndian
	more := uint64(order.Uint32(p[12:]))
	if order.Uint64(p) != id || more >= high-id {
		return nil, fmt.Errorf("its page %d says that it is page %d, with %d more", id, order.Uint64(p), more)
	}
	for n := id; im.used != nil && n <= id+more; n++ {
		if err := im.use(n); err != nil {
			return nil, err
		}
	}
	return page(p[:(more+1)*im.size]), nil
}

// use notes that a page is in use.
func (im *image) use(id uint64) error {
	if high := uint64(len(im.used)); id < 2 || id >= high {
		return fmt.Errorf("it refers to page %d; valid pages are 2 to %d", id, high-1)
	}
	if im.used[id] {
		return fmt.Errorf("its page %d is used twice", id)
	}
	im.used[id] = true
	return nil
}

// bucket is a bucket of an image.
type bucket struct {
	im    *image
	name  []byte
	root  uint64 // page; 0: the bucket is small
	small page

	buckets bool // it is the bucket of all buckets
}

// pageError is a fault of a page, with its bucket.
type pageError struct {
	bucket []byte
	err    error
}

func (e *pageError) Error() string { return e.err.Error() }

// damage panics with the fault of a page.
func (b *bucket) damage(id uint64, err error) {
	panic(&pageError{b.name, fmt.Errorf("page %d, of %s, %w", id, b.name, err)})
}

// blame adds the bucket to the error of a page that could not be read. It is deferred.
func (b *bucket) blame() {
	switch p := recover().(type) {
	case nil:
	case *pageError:
		panic(p)
	default:
		panic(&pageError{b.name, fmt.Errorf("a page of %s: %v", b.name, p)})
	}
}

// page returns a page of b that begins as it should; 0: that of a small bucket.
func (b *bucket) page(id uint64, depth int) page {
	if depth > maxDepth {
		b.damage(id, errors.New("is its own ancestor"))
	}
	p, unit := b.small, uint64(1)
	if b.root != 0 {
		var err error
		if p, err = b.im.page(id); err != nil {
			panic(&pageError{b.name, fmt.Errorf("bucket %s: %w", b.name, err)})
		}
		unit = b.im.size
	}
	if err := p.begins(unit); err != nil {
		b.damage(id, err)
	}
	return p
}

// checked returns a page of b that passes all checks.
func (b *bucket) checked(id uint64, depth int, low, high []byte) page {
	p := b.page(id, depth)
	if err := p.check(b.buckets, low, high); err != nil {
		b.damage(id, err)
	}
	return p
}

// Get returns the value of a key, or nil if the key does not exist. The pages that prove its
// absence have been checked.
func (b *bucket) Get(key []byte) []byte {
	value, _ := b.find(key)
	return value
}

// find returns the value of a key.
func (b *bucket) find(key []byte) (value []byte, found bool) {
	defer b.blame()
	id := b.root
	for depth := 0; ; depth++ {
		p := b.page(id, depth)
		if !p.leaf() {
			id = p.childID(p.toward(key))
			continue
		}
		if n := p.search(key); n < p.count() && bytes.Equal(p.key(n), key) {
			value, is := p.value(n)
			if is != b.buckets {
				b.damage(id, errKind)
			}
			return value, true
		}
		b.Cursor().Seek(key) // checks the pages that were used
		return nil, false
	}
}

// Cursor returns a cursor over keys in order. It checks each page that it comes to.
func (b *bucket) Cursor() *cursor {
	return &cursor{b: b}
}

// cursor walks a bucket. Its methods return nil keys at the end.
type cursor struct {
	b    *bucket
	path []step // from the root to a leaf
	room [4]step
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
func (c *cursor) First() (key, value []byte) {
	c.begin()
	c.descend(first)
	return c.forward()
}

// Last moves to the last key.
func (c *cursor) Last() (key, value []byte) { return c.Before(nil) }

// Seek moves to the first key that is not smaller than key.
func (c *cursor) Seek(key []byte) (k, v []byte) {
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
func (c *cursor) Before(key []byte) (k, v []byte) {
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
func (c *cursor) Next() (key, value []byte) {
	c.path[len(c.path)-1].i++
	return c.forward()
}

// Prev moves to the key before the current one.
func (c *cursor) Prev() (key, value []byte) {
	c.path[len(c.path)-1].i--
	return c.backward()
}

func first(page) int  { return 0 }
func last(p page) int { return p.count() - 1 }

func (c *cursor) begin() {
	c.path = c.room[:0]
	c.enter(c.b.root, nil, nil)
}

// enter adds a page to the path, which it checks.
func (c *cursor) enter(id uint64, low, high []byte) {
	p := c.b.checked(id, len(c.path), low, high)
	c.path = append(c.path, step{page: p, low: low, high: high})
}

// descend chooses an element of the last page of the path, and of the pages below it.
func (c *cursor) descend(choose func(page) int) {
	for {
		s := &c.path[len(c.path)-1]
		if s.i = choose(s.page); s.leaf() {
			return
		}
		c.down()
	}
}

// down adds the page that the current element of a branch points to.
func (c *cursor) down() {
	s := &c.path[len(c.path)-1]
	c.enter(s.child(s.i, s.high))
}

// forward returns the current element, or the next page's first element if the position is
// past the end of its page.
func (c *cursor) forward() (key, value []byte) {
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
func (c *cursor) backward() (key, value []byte) {
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
