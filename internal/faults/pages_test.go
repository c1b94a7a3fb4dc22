//go:build linux

package faults

import (
	"encoding/binary"
	"fmt"
	"os"
)

// The layout of bbolt's file, as far as it is needed to find a page of each kind.
const (
	pageHeader = 16
	branchFlag = 0x01
	leafFlag   = 0x02
	bucketFlag = 0x01 // of an element of a leaf
)

// pageMap is what the pages of a file are for.
type pageMap struct {
	size  int // of a page, in bytes
	used  int // pages, up to the end of the last
	at    map[string]int
	names []string // of at, in the order they were found
}

func (m *pageMap) found(name string, page int) {
	if _, known := m.at[name]; !known {
		m.names = append(m.names, name)
	}
	m.at[name] = page
}

// mapPages reads a file that nobody writes to. It notes, of each kind, the last page
// found: meta pages, the freelist, the root of all buckets, and a branch and a leaf of
// each bucket that has one of its own.
func mapPages(path string) (*pageMap, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := &pageMap{size: os.Getpagesize(), at: map[string]int{}}
	order := binary.NativeEndian
	newest, root, free := uint64(0), uint64(0), uint64(0)
	for n := range 2 {
		meta := file[n*m.size+pageHeader:]
		m.found(fmt.Sprintf("meta %d", n), n)
		if tx := order.Uint64(meta[48:]); tx >= newest {
			newest, root, free = tx, order.Uint64(meta[16:]), order.Uint64(meta[32:])
			m.used = int(order.Uint64(meta[40:]))
		}
	}
	m.found("newest meta", int(newest%2))
	m.found("freelist", int(free))
	m.walk(file, "root", int(root), true /* ofBuckets */)
	return m, nil
}

// walk notes a page and those below it.
func (m *pageMap) walk(file []byte, name string, page int, ofBuckets bool) {
	order := binary.NativeEndian
	p := file[page*m.size:]
	flags, count := order.Uint16(p[8:]), int(order.Uint16(p[10:]))
	switch flags {
	case branchFlag:
		m.found(name+" branch", page)
		for i := range count {
			element := p[pageHeader+i*16:]
			m.walk(file, name, int(order.Uint64(element[8:])), ofBuckets)
		}
	case leafFlag:
		m.found(name+" leaf", page)
		for i := range count {
			element := p[pageHeader+i*16:]
			if !ofBuckets || order.Uint32(element)&bucketFlag == 0 {
				continue
			}
			key := element[order.Uint32(element[4:]):]
			bucket, value := string(key[:order.Uint32(element[8:])]), key[order.Uint32(element[8:]):]
			if child := order.Uint64(value); child != 0 { // else it is within this page
				m.walk(file, bucket, int(child), false /* ofBuckets */)
			}
		}
	}
}
