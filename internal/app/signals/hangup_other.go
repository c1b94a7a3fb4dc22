//go:build !unix

package signals

import "os"

// OnHangup does nothing: there is no signal that asks for a reload.
func OnHangup(chan<- os.Signal) {}
