package boltfile

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
)

// metaPages are the two meta pages of an open file, as bbolt sees them. They are mapped a
// second time, because bbolt's own mapping may be gone when the file is closed.
type metaPages struct{ pages []byte }

// mapMetaPages maps the meta pages. They stay mapped while the result is in use.
func mapMetaPages(file *os.File, pageSize int) (*metaPages, error) {
	pages, err := syscall.Mmap(int(file.Fd()), 0, 2*pageSize, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the meta pages of the store: %w", err)
	}
	m := &metaPages{pages}
	runtime.AddCleanup(m, func(pages []byte) { _ = syscall.Munmap(pages) }, pages)
	return m, nil
}

// newest returns the newest valid meta data. ok is false if neither page is valid, or they are
// not there any more.
func (m *metaPages) newest() (newest meta, ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil && ok }()
	_, newest, _ = newestMeta(m.pages)
	return newest, newest.valid
}

// The parts of bbolt's meta pages that are used here. The meta data is in each of the
// first two pages, after a header of 16 bytes.
const (
	metaAt      = 16
	metaSize    = 64
	metaMagic   = 0xED0CDAED
	metaVersion = 2
)

// meta is the meta data of a page.
type meta struct {
	valid    bool
	pageSize int64
	free     uint64 // page of the freelist
	high     uint64 // number of pages
	tx       uint64
}

func readMeta(page []byte) meta {
	m, order := page[metaAt:metaAt+metaSize], binary.NativeEndian
	sum := fnv.New64a()
	_, _ = sum.Write(m[:56])
	return meta{
		valid:    order.Uint32(m) == metaMagic && order.Uint32(m[4:]) == metaVersion && order.Uint64(m[56:]) == sum.Sum64(),
		pageSize: int64(order.Uint32(m[8:])),
		free:     order.Uint64(m[32:]), high: order.Uint64(m[40:]), tx: order.Uint64(m[48:]),
	}
}

// newestMeta reads both meta pages, and returns the number of the newest valid page, its meta
// data, and that of the other page. If newest is not valid, neither is.
func newestMeta(pages []byte) (at int, newest, other meta) {
	first, second := readMeta(pages), readMeta(pages[len(pages)/2:])
	if !first.valid || second.valid && second.tx > first.tx {
		return 1, second, first
	}
	return 0, first, second
}

// FreelistPage returns the number of the page of the freelist, by the newest of two meta pages.
func FreelistPage(pages []byte) uint64 {
	_, newest, _ := newestMeta(pages)
	return newest.free
}
