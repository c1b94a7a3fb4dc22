package app

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	a2aserver "a2a-server"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/process"
	"a2a-server/cmd/a2a-server/internal/signals"
	"a2a-server/internal/heap"
	"a2a-server/internal/logs"
)

// serve runs the server until ctx ends or a signal arrives. A second signal ends the process
// at once, because the first restores the system's own handling. A hangup reloads the
// configuration.
func serve(ctx context.Context, p *cli.Program, given *cli.Flags) (err error) {
	defer func() {
		if damage, is := errors.AsType[*a2aserver.DamageError](err); is {
			err = cli.Exit(cli.ExitUsage, damage.Error()) // a restart alone may not help
		}
	}()
	hook, err := crashHook(p)
	if err != nil {
		return err
	}
	endModel, err := startDemo(p, given)
	if err != nil {
		return err
	}
	defer endModel()
	options, _, c, err := configure(p, given)
	if err != nil {
		return err
	}
	if err := showDemo(p, given, c, &options); err != nil {
		return err
	}
	log := logs.New(c.Log.Level, c.Log.Format, p.Stderr)
	process.Configure(c.Limits, log.Logger) // before there is a server
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // from here on, it does not end the process
	options.Log, options.CrashPoint, options.Inside.LogLevel = log.Logger, hook, log.SetLevel
	server, err := a2aserver.New(options) //nolint:contextcheck // ctx ends what is served, not what is opened
	if err != nil {
		return err
	}
	if err := process.TellReady(p.Variable("NOTIFY_SOCKET")); err != nil {
		log.Warn().Err(err).Msg("systemd waits for the server")
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	ctx, stop := signals.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer signals.ReloadOn(ctx, hangups, server.Reload, log.Logger)()
	beside.Go(func() { heap.Release(ctx) })
	return server.Run(ctx)
}
