//go:build amd64 || arm64

package bench

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// fadvDontNeed is POSIX_FADV_DONTNEED.
const fadvDontNeed = 4

// evict has the kernel drop what it holds of a file, so that the next read comes from
// the disk. A file that is not there is fine.
func evict(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil { // pages that are not yet on the disk stay
		return err
	}
	if _, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, fadvDontNeed, 0, 0); errno != 0 {
		return os.NewSyscallError("fadvise", errno)
	}
	return nil
}
