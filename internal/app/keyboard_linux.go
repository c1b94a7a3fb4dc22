package app

import "golang.org/x/sys/unix"

// discard makes the terminal of a descriptor forget what was written and not yet read.
func discard(fd uintptr) error { return unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) }
