package main

import (
	"context"
	"os/signal"
	"syscall"

	"a2a-server/internal/app"
)

// serve runs the server until ctx ends or a signal comes. Behind the first signal
// the system's own handling is back: a second one ends the process at once.
func (p *program) serve(ctx context.Context, given *flags) error {
	hook, err := p.crashHook()
	if err != nil {
		return err
	}
	c, err := p.load(given)
	if err != nil {
		return err
	}
	log := app.NewLogger(c.Log, p.stderr)
	app.Process(c.Limits, log)
	server, err := app.New(app.Options{Config: c, Log: log, Hook: hook}) //nolint:contextcheck // ctx ends what is served, not what is opened
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	return server.Run(ctx)
}
