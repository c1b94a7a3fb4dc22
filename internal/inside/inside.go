// Package inside has the settings of a server that only the commands and the tests of this
// module may use.
package inside

import (
	"net"

	"a2a-server/internal/limits"
)

// Options are the settings. The zero value changes nothing.
type Options struct {
	// Limits changes the bounds inside the server; nil: none are changed.
	Limits func(*limits.Limits)
	// LogLevel sets the level of the server's log; nil: nothing can.
	LogLevel func(level string)
	// NotKnown is called for each thing that a check does not know; nil: nobody counts them.
	NotKnown func()
	// Alone is the only port, which only this process reaches: nobody authenticates there. Nil: the
	// settings have the ports.
	Alone net.Listener
	// Demo makes the pages a demo: with sample calls and a persona. It needs a server without
	// authentication that only this machine reaches.
	Demo bool
	// Listening gets the URL of the server before the first request is answered; nil: nothing does.
	Listening func(url string)
}
