// Package pages reads the pages of a bbolt file itself, and checks each page that it reads: bbolt
// trusts its pages. A server that works reads with bbolt; this package reads for copies, and for the
// check of a file after a failure. It does not know the meaning of keys and values.
package pages

import (
	"encoding/binary"
	"fmt"
	"runtime/debug"
	"unsafe"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
)

// Image is the file in the state of a transaction. Results are valid until the end of the
// transaction. Methods panic with an error where a page is damaged; see [Read].
type Image struct {
	data []byte // of the file, as bbolt has mapped it
	size uint64 // of a page
	root uint64 // page of the bucket of all buckets
	used []bool // pages that are in use, so far; nil: it is not noted
}

// Read runs fn with the file as a transaction sees it. Where a page is damaged or cannot be read, fn
// ends, and the error is store.ErrDataLoss.
func Read(tx *bolt.Tx, fn func(im *Image) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", store.ErrDataLoss, p)
		}
	}()
	info := tx.DB().Info()
	return fn(&Image{
		data: unsafe.Slice(*(**byte)(unsafe.Pointer(&info.Data)), tx.Size()), // bbolt maps all of it before it returns a transaction
		size: uint64(info.PageSize),
		root: uint64(tx.Cursor().Bucket().Root()),
	})
}

func (im *Image) all() *Bucket {
	return &Bucket{im: im, name: []byte("all buckets"), root: im.root, buckets: true}
}

// Bucket returns a bucket of the file.
func (im *Image) Bucket(name []byte) *Bucket {
	value := im.all().Get(name)
	if value == nil {
		panic(fmt.Errorf("it has no bucket %s", name))
	}
	return im.bucketIn(name, value)
}

// bucketIn returns the bucket that a value is.
func (im *Image) bucketIn(name, value []byte) *Bucket {
	if len(value) < bucketHeader {
		panic(fmt.Errorf("its bucket %s is cut off", name))
	}
	b := &Bucket{im: im, name: name, root: binary.NativeEndian.Uint64(value), small: page(value[bucketHeader:])}
	if b.root != 0 && len(b.small) > 0 {
		panic(fmt.Errorf("its bucket %s has both a root page and elements", name))
	}
	return b
}

// page returns a page of the file that begins as it should.
func (im *Image) page(id uint64) (page, error) {
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
func (im *Image) use(id uint64) error {
	if high := uint64(len(im.used)); id < 2 || id >= high {
		return fmt.Errorf("it refers to page %d; valid pages are 2 to %d", id, high-1)
	}
	if im.used[id] {
		return fmt.Errorf("its page %d is used twice", id)
	}
	im.used[id] = true
	return nil
}
