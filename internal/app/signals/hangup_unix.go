//go:build unix

package signals

import (
	"os"
	"os/signal"
	"syscall"
)

// OnHangup makes c receive the signal that asks for a reload, SIGHUP.
func OnHangup(c chan<- os.Signal) { signal.Notify(c, syscall.SIGHUP) }
