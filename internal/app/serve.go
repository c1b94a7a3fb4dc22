package app

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/rs/zerolog"

	a2aserver "a2a-server"
	"a2a-server/internal/app/config"
	"a2a-server/internal/heap"
	"a2a-server/tool"
	"a2a-server/tool/builtin"
)

// serve runs the server until ctx ends or a signal arrives. A second signal ends the process
// at once, because the first restores the system's own handling. A hangup reloads the
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
	var least leastLevel
	least.set(c.Log)
	log := writeLog(c.Log, p.stderr).Level(zerolog.DebugLevel).Sample(&least)
	process(c.Limits, log) // before there is a server
	hangups := make(chan os.Signal, 1)
	onHangup(hangups) // from here on, it does not end the process
	options.Log, options.CrashPoint = log, hook
	server, err := a2aserver.New(options) //nolint:contextcheck // ctx ends what is served, not what is opened
	if err != nil {
		return err
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	reload := func() error { //nolint:contextcheck // a reload outlives the signal that asked for it
		if err := server.Reload(); err != nil {
			return err
		}
		read, err := p.load(given)
		if err == nil {
			least.set(read.Log)
		}
		return err
	}
	defer reloadOn(ctx, hangups, reload, log)()
	beside.Go(func() { heap.Release(ctx) })
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
