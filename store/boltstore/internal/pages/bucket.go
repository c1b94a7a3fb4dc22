package pages

import (
	"bytes"
	"errors"
	"fmt"
)

// Bucket is a bucket of an image.
type Bucket struct {
	im    *Image
	name  []byte
	root  uint64 // page; 0: the bucket is small
	small page

	buckets bool // it is the bucket of all buckets
}

// damage panics with the fault of a page.
func (b *Bucket) damage(id uint64, err error) {
	panic(fmt.Errorf("page %d, of %s, %w", id, b.name, err))
}

// page returns a page of b that passes all checks; 0: that of a small bucket.
func (b *Bucket) page(id uint64, depth int, low, high []byte) page {
	if depth > maxDepth {
		b.damage(id, errors.New("is its own ancestor"))
	}
	p, unit := b.small, uint64(1)
	if b.root != 0 {
		var err error
		if p, err = b.im.page(id); err != nil {
			panic(fmt.Errorf("bucket %s: %w", b.name, err))
		}
		unit = b.im.size
	}
	err := p.begins(unit)
	if err == nil {
		err = p.check(b.buckets, low, high)
	}
	if err != nil {
		b.damage(id, err)
	}
	return p
}

// Get returns the value of a key, or nil if the key does not exist.
func (b *Bucket) Get(key []byte) []byte {
	if k, value := b.Cursor().Seek(key); bytes.Equal(k, key) {
		return value
	}
	return nil
}

// Cursor returns a cursor over keys in order. It checks each page that it comes to.
func (b *Bucket) Cursor() *Cursor {
	return &Cursor{b: b}
}
