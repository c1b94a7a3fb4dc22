package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"a2a-server/a2a"
	"a2a-server/internal/app/config"
)

// storeWatch is how often the store is looked at: one that is damaged cannot say so
// by itself when nobody writes.
const storeWatch = 250 * time.Millisecond

// cutOff is how long a shutdown waits for clients that do not send the rest of their
// request, or do not read their answer.
const cutOff = 4 * time.Second

// running is an App that serves.
type running struct {
	*App
	endRequests context.CancelCauseFunc
	endEngine   context.CancelFunc
	served      chan error // what Serve returned
	engineEnded chan error // what the engine returned
}

// Run serves until ctx ends, then shuts down: streams end with a comment, running
// calls get their grace, the store is closed. It returns nil when that went well,
// else what made going on impossible: the store takes no more writes, the port is
// gone, or tasks cannot be recovered.
func (a *App) Run(ctx context.Context) error {
	// Requests and turns are ended by the shutdown, in its order, not by ctx.
	lasting := context.WithoutCancel(ctx)
	requests, endRequests := context.WithCancelCause(lasting)
	engine, endEngine := context.WithCancel(lasting)
	r := &running{
		App: a, endRequests: endRequests, endEngine: endEngine,
		served: make(chan error, 1), engineEnded: make(chan error, 1),
	}
	a.server.BaseContext = func(net.Listener) context.Context { return requests }
	go func() { r.engineEnded <- a.engine.Run(engine) }()
	go func() { r.served <- a.server.Serve(a.listener) }()
	if ctx.Err() == nil {
		a.health.phase.Store(serving)
		a.announce()
	}
	why := r.wait(ctx)
	if why == nil {
		a.log.Info().Msg("shutting down")
	} else {
		a.log.Error().Err(why).Msg("shutting down, because going on is impossible")
	}
	return errors.Join(why, r.shutdown(lasting))
}

// wait returns when the App has to shut down: nil when it was asked to.
func (r *running) wait(ctx context.Context) error {
	look := time.NewTicker(storeWatch)
	defer look.Stop()
	troubled := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-r.engineEnded:
			r.engineEnded <- nil // for the shutdown, which waits for its end
			if err == nil {
				err = errors.New("it ended by itself")
			}
			return fmt.Errorf("the engine: %w", err)
		case err := <-r.served:
			r.served <- nil
			return fmt.Errorf("serve %s: %w", r.listener.Addr(), err)
		case <-look.C:
			if err := r.store.err(); err != nil {
				return err
			}
			err := r.store.trouble()
			switch {
			case err != nil && !troubled:
				r.log.Error().Err(err).Msg("the store cannot write")
			case err == nil && troubled:
				r.log.Info().Msg("the store can write again")
			}
			troubled = err != nil
		}
	}
}

// announce says in the log that the server serves, and what somebody should know who
// runs it.
func (a *App) announce() {
	a.log.Info().Str("address", a.listener.Addr().String()).Str("url", a.url).Str("data", a.config.Data).Str("store", a.config.Store).
		Str("planner", a.config.Planner.Kind).Str("tools", a.toolNames()).Str("version", Version()).Msg("listening")
	if l := a.config.Limits; a.room.connections < l.Connections || a.room.streams < l.Streams {
		a.log.Warn().Int("connections", a.room.connections).Int("streams", a.room.streams).Int("open_files", a.room.files).
			Msg("limits.connections or limits.streams are lowered: raise the limit of open files (ulimit -n), or set limits that fit")
	}
	if a.store.note != "" {
		a.log.Warn().Msg(a.store.note)
	}
	if loopback(a.listener.Addr()) {
		a.log.Warn().Msg("no authentication: whoever reaches this address from this machine may call tools and approve their calls")
	} else {
		a.log.Warn().Msg("no authentication on a public address: everybody who reaches it may call tools and approve their calls")
	}
	if a.config.Confirmation == config.OptIn {
		a.log.Warn().Msg("confirmation is opt-in: tools that want approval run without it, unless a gate of the configuration asks")
	}
	if a.config.PublicURL == "" && tcpAddr(a.listener.Addr()).IP.IsUnspecified() {
		a.log.Warn().Str("url", a.url).Msg("the card names an address that only this machine can reach: set public_url")
	}
}

// shutdown ends what runs, from the outside in. Its error says what could not be
// ended as it should.
func (r *running) shutdown(ctx context.Context) error {
	grace := r.config.Limits.Grace
	drained := make(chan error, 1)
	// A run that does not end when its grace is over is given up by the engine.
	const giveUp = 10 * time.Second
	return r.steps(ctx, []step{
		{"unready", time.Second, func(context.Context) error {
			r.health.phase.Store(draining)
			return nil
		}},
		{"stop accepting", 5 * time.Second, func(ctx context.Context) error {
			// Shutdown closes the port before it waits for requests, and those are
			// ended only by the next step.
			wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutOff)
			go func() {
				defer cancel()
				drained <- r.shutServer(wait)
			}()
			if err := <-r.served; err != nil && !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		}},
		{"end streams", 15 * time.Second, func(context.Context) error {
			r.endRequests(a2a.ErrShutdown)
			return <-drained
		}},
		{"finish calls", grace + r.config.Limits.Engine.ToolGrace + giveUp, func(context.Context) error {
			r.engine.Stop(grace)
			r.endEngine()
			return <-r.engineEnded
		}},
		{"close the store", 30 * time.Second, func(context.Context) error { return r.store.close() }},
	})
}
