package boltfile

import (
	"errors"
	"os"
	"syscall"
)

// inPlace reports whether a file is on ext4 or xfs, which write again where they wrote
// before, and note which of the allocated blocks were written.
func inPlace(f *os.File) bool {
	const ext4, xfs = 0xEF53, 0x58465342
	var s syscall.Statfs_t
	if syscall.Fstatfs(int(f.Fd()), &s) != nil {
		return false
	}
	kind := int64(uint32(s.Type)) // its type differs between machines
	return kind == ext4 || kind == xfs
}

// allocate allocates size bytes of a file from at on. Existing contents stay.
func allocate(f *os.File, at, size int64) error {
	for {
		err := syscall.Fallocate(int(f.Fd()), 0, at, size)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// release gives back the allocation of a file from at on.
func release(f *os.File, at, size int64) error {
	const keepSize, punchHole = 0x01, 0x02
	return syscall.Fallocate(int(f.Fd()), keepSize|punchHole, at, size)
}

// available returns how much a disk has free.
func available(f *os.File) (bytes int64, known bool) {
	var s syscall.Statfs_t
	if syscall.Fstatfs(int(f.Fd()), &s) != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true //nolint:unconvert // its type differs between machines
}

// allocated returns how much of the disk a file has.
func allocated(info os.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return 0
}
