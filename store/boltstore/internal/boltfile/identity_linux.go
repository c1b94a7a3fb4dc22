package boltfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// born returns when a file was made, in nanoseconds; 0: its file system does not say that.
func born(f *os.File) uint64 {
	var s unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &s); err != nil || s.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return uint64(s.Btime.Sec)*1e9 + uint64(s.Btime.Nsec)
}
