// Package signals ends commands and reloads a server when signals arrive.
package signals

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Interruptible returns a context that ends at the first SIGINT, SIGTERM or SIGHUP, and a
// function that releases its resources. A second signal ends the process, except SIGHUP: an
// ending shell sends it again.
func Interruptible(ctx context.Context) (context.Context, func()) {
	ctx, end := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, end)
	hangups := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		OnHangup(hangups)
	}
	// Without this, output to a closed pipe would end the process before it has ended its
	// children. With it, the output fails. An ignored signal would be inherited by children.
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
