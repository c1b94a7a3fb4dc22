//go:build linux || darwin

package terminal

import "golang.org/x/sys/unix"

// terminalColumns returns how many columns the terminal of a descriptor has; 0: it does not say.
func terminalColumns(fd uintptr) int {
	size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
