// Package adminsocket is the Unix socket by which people on the server's machine use the
// approvals API: its file, and its access by mode and group. It does not know what is served on it.
package adminsocket

import "errors"

// ErrListening says that a server has the socket.
var ErrListening = errors.New("another server listens on")

// Host is the host name that requests must have. A program that connects browsers to the
// socket would pass on another host.
const Host = "a2a-server.admin"
