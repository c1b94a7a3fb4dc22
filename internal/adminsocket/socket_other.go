//go:build !linux

package adminsocket

import (
	"context"
	"net"

	"a2a-server/auth/peer"
)

type socket struct{ *net.UnixListener }

func listen(string) (*socket, error) { return nil, peer.ErrUnsupported }

func dial(context.Context, string) (net.Conn, error) { return nil, peer.ErrUnsupported }
