package terminal

import "golang.org/x/sys/unix"

// discard makes the terminal of a descriptor drop its unread input.
func discard(fd uintptr) error { return unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) }
