package peer

import (
	"net"
	"syscall"
)

// Supported reports whether this system reports the user that connected to a Unix socket.
func Supported() bool { return true }

// uidOf returns the effective user id that the other end had when it connected.
func uidOf(c *net.UnixConn) (uint32, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var who *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		who, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	switch {
	case err != nil:
		return 0, err
	case failed != nil:
		return 0, failed
	}
	return who.Uid, nil
}
