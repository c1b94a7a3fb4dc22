package boltstore

import (
	"errors"
	"os"
	"syscall"
)

// allocate allocates size bytes of a file from at on. Existing contents stay.
func allocate(f *os.File, at, size int64) error {
	for {
		err := syscall.Fallocate(int(f.Fd()), 0, at, size)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
