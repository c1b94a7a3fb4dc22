package boltfile

import (
	"bytes"
	"encoding/binary"
	"os"
	"syscall"
)

// An identity says which file of its disk a file is: its device and its inode and, since a removed
// file's inode is used again, when it was made, in nanoseconds; 0: that is not known.
const (
	deviceEnd = 8
	inodeEnd  = 16

	identitySize = 24
)

// identityOf returns the identity of an open file; nil: the system has none.
func identityOf(f *os.File, info os.FileInfo) []byte {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	order := binary.BigEndian
	id := order.AppendUint64(order.AppendUint64(nil, uint64(stat.Dev)), stat.Ino) //nolint:unconvert // its type differs between systems
	return order.AppendUint64(id, born(f))
}

// Copied reports whether a file is a copy of the file that had an identity: it has another inode, or
// was made at another time. Another device alone says nothing, because systems number devices again
// when they start.
func Copied(was, is []byte) bool {
	if len(was) != identitySize || len(is) != identitySize {
		return !bytes.Equal(was, is)
	}
	if !bytes.Equal(was[deviceEnd:inodeEnd], is[deviceEnd:inodeEnd]) {
		return true
	}
	a, b := binary.BigEndian.Uint64(was[inodeEnd:]), binary.BigEndian.Uint64(is[inodeEnd:])
	return a != 0 && b != 0 && a != b
}
