package app

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that ends at the first signal that asks the program to
// end, and a function that releases what it needs. The second signal ends the process. One
// that the terminal is gone never does: a shell that ends sends it again.
func interruptible(ctx context.Context) (context.Context, func()) {
	ctx, end := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, end)
	hangups := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		onHangup(hangups)
	}
	// Written to a pipe that nobody reads, output fails, and does not end the process before
	// it has ended what it started. To ignore the signal would be inherited by children.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	released := make(chan struct{})
	go func() {
		select {
		case <-hangups:
			end()
		case <-released:
		}
	}()
	return ctx, func() {
		end()
		close(released)
		signal.Stop(hangups)
		signal.Stop(pipes)
	}
}
