package app

import (
	"context"
	"os/signal"
	"path/filepath"
	"syscall"

	a2aserver "a2a-server"
	"a2a-server/tool"
	"a2a-server/tool/builtin"
)

// serve runs the server until ctx ends or a signal comes. After the first signal the
// system's own handling is back: a second one ends the process at once.
func (p *program) serve(ctx context.Context, given *flags) error {
	hook, err := p.crashHook()
	if err != nil {
		return err
	}
	c, err := p.load(given) // what it says of the process holds before there is a server
	if err != nil {
		return err
	}
	demo, err := builtin.New(builtin.Config{Ledger: filepath.Join(c.Data, "ledger.jsonl")})
	if err != nil {
		return err
	}
	log := newLogger(c.Log, p.stderr)
	process(c.Limits, log)
	options := p.from(given)
	options.Tools, options.Log, options.CrashPoint = []tool.Toolset{demo}, log, hook
	server, err := a2aserver.New(options) //nolint:contextcheck // ctx ends what is served, not what is opened
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	return server.Run(ctx)
}
