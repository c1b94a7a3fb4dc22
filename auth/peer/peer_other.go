//go:build !linux

package peer

import "net"

// Supported reports whether this system says who has connected to a Unix socket.
func Supported() bool { return false }

func uidOf(*net.UnixConn) (uint32, error) { return 0, ErrUnsupported }
