//go:build !linux

package peer

import "net"

// Supported reports whether this system reports the user that connected to a Unix socket.
func Supported() bool { return false }

func uidOf(*net.UnixConn) (uint32, error) { return 0, ErrUnsupported }
