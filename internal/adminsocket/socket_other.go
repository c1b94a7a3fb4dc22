//go:build !linux

package adminsocket

import (
	"context"
	"io/fs"
	"net"

	"a2a-server/auth/peer"
)

// Listen fails: this system has no admin socket.
func Listen(string, int) (net.Listener, error) { return nil, peer.ErrUnsupported }

// Check fails: this system has no admin socket.
func Check(string, int) error { return peer.ErrUnsupported }

// Dial fails: this system has no admin socket.
func Dial(context.Context, string) (net.Conn, error) { return nil, peer.ErrUnsupported }

// OwnersOf knows no owners.
func OwnersOf(fs.FileInfo) (uid, gid int, known bool) { return -1, -1, false }
