package app

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	a2aserver "a2a-server"
	"a2a-server/internal/app/config"
	"a2a-server/tool"
	"a2a-server/tool/builtin"
)

// serve runs the server until ctx ends or a signal arrives. After the first signal the
// system's own handling is back: a second one ends the process at once. A hangup reloads the
// configuration.
func (p *program) serve(ctx context.Context, given *flags) error {
	hook, err := p.crashHook()
	if err != nil {
		return err
	}
	options, c, err := p.configure(given)
	if err != nil {
		return err
	}
	log := newLogger(c.Log, p.stderr)
	process(c.Limits, log) // before there is a server
	hangups := make(chan os.Signal, 1)
	onHangup(hangups) // from here on, it does not end the process
	options.Log, options.CrashPoint = log, hook
	server, err := a2aserver.New(options) //nolint:contextcheck // ctx ends what is served, not what is opened
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	defer reloadOn(ctx, hangups, server.Reload, log)()
	return server.Run(ctx)
}

// configure returns the server's Config and the loaded configuration.
func (p *program) configure(given *flags) (a2aserver.Config, *config.Config, error) {
	c, err := p.load(given)
	if err != nil {
		return a2aserver.Config{}, nil, err
	}
	demo, err := builtin.New(builtin.Config{Ledger: filepath.Join(c.Data, "ledger.jsonl")})
	options := p.from(given)
	options.DefaultTools = []tool.Toolset{demo}
	return options, c, err
}
