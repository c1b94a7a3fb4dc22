package app

import "golang.org/x/sys/unix"

// discard makes the terminal of a descriptor forget what was written and not yet read.
func discard(fd uintptr) error {
	const input = 1 // FREAD
	return unix.IoctlSetPointerInt(int(fd), unix.TIOCFLUSH, input)
}
