//go:build unix

package app

import (
	"os"
	"os/signal"
	"syscall"
)

// onHangup makes c receive the signal that asks for a reload, SIGHUP.
func onHangup(c chan<- os.Signal) { signal.Notify(c, syscall.SIGHUP) }
