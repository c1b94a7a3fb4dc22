//go:build unix

package limits

import "syscall"

// openFiles returns how many files the process may have open, or 0 when that is not
// known. Go has already raised the soft limit to the hard limit.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), 1<<30)) //nolint:unconvert // it is signed on some systems
}
