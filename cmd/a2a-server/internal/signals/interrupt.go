// Package signals ends commands and reloads a server when signals arrive.
package signals

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// NotifyContext returns a context that ends at the first of signals, and a function that releases its
// resources. Once the context has ended, a second signal has its default effect, which is what
// [signal.NotifyContext] cannot promise: there the context ends before the signal is let go.
func NotifyContext(ctx context.Context, signals ...os.Signal) (context.Context, func()) {
	ctx, end := context.WithCancel(ctx)
	received := make(chan os.Signal, 1)
	signal.Notify(received, signals...)
	go func() {
		select {
		case <-received:
		case <-ctx.Done():
		}
		signal.Stop(received)
		end()
	}()
	return ctx, end
}

// Interruptible returns a context that ends at the first SIGINT, SIGTERM or SIGHUP, and a
// function that releases its resources. A second signal ends the process, except SIGHUP: an
// ending shell sends it again.
func Interruptible(ctx context.Context) (context.Context, func()) {
	ctx, end := NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	hangups := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(hangups, syscall.SIGHUP)
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
	return ctx, func() { // hangups stay caught: one that comes again must not end the process before it has said why it ends
		end()
		close(released)
		signal.Stop(pipes)
	}
}
