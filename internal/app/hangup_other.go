//go:build !unix

package app

import "os"

// onHangup does nothing: there is no signal that asks for a reload.
func onHangup(chan<- os.Signal) {}
