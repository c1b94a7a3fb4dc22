package boltstore

import (
	"errors"
	"os"
	"syscall"
)

// allocate takes room for size bytes of a file from at on. What is there stays.
func allocate(f *os.File, at, size int64) error {
	for {
		err := syscall.Fallocate(int(f.Fd()), 0, at, size)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
