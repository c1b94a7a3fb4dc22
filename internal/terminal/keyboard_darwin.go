package terminal

import "golang.org/x/sys/unix"

// discard makes the terminal of a descriptor drop its unread input.
func discard(fd uintptr) error {
	const input = 1 // FREAD
	return unix.IoctlSetPointerInt(int(fd), unix.TIOCFLUSH, input)
}
