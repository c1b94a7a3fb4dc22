package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/internal/httpd"
	"a2a-server/store"
	"a2a-server/task/engine"
)

// storeWatch is how often the store is checked: without writes, nothing else would notice
// that it is damaged.
const storeWatch = 250 * time.Millisecond

// openWarnings is how often the log warns that there is no authentication.
const openWarnings = time.Minute

// cutOff is how long a shutdown waits for clients that do not send the rest of their
// request, or do not read their answer.
const cutOff = 4 * time.Second

// running is a Server during Run.
type running struct {
	*Server
	endRequests context.CancelCauseFunc
	endEngine   context.CancelFunc
	failed      chan error // has why the port of HTTP or gRPC is served no more
	engineEnded chan error // the result of the engine
	endPush     context.CancelFunc
	pushEnded   chan struct{} // closed when no notification is sent any more
}

// Run serves until ctx ends or the Server is closed, then shuts down: streams end with a
// comment, running calls get their grace period, the store is closed. It returns nil after a
// clean shutdown, else the reason why it stopped (the store has ended, see [DamageError], the port
// is gone, or tasks cannot be recovered) and the errors of the shutdown. It can be called
// only once.
func (s *Server) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.closed || s.end != nil {
		s.mu.Unlock()
		return errors.New("a2aserver: a server runs once, and not after Close")
	}
	ctx, s.end = context.WithCancel(ctx)
	s.mu.Unlock()
	defer close(s.ended)
	var watching sync.WaitGroup
	defer func() {
		if !errors.Is(s.store.err(), store.ErrDamaged) { // a read of a damaged page may never return
			watching.Wait()
		}
	}()
	defer s.end()
	defer s.tools.catalog.Close()
	if s.parts.Background != nil {
		watching.Go(func() { s.parts.Background(ctx) })
	}
	if s.tools.late {
		first := s.tools.Load()
		watching.Go(func() { s.tools.listLate(first) }) //nolint:contextcheck // a shutdown closes the tools, which ends it
	}
	watching.Go(func() { s.sweepEnded(ctx) })
	watching.Go(func() { s.warnUnreached(ctx) })
	watching.Go(func() { _ = s.approvals.Run(ctx) }) // it ends with ctx, without an error
	if s.signin != nil {
		watching.Go(func() { _ = s.signin.Run(ctx) }) // likewise
	}
	// Requests and turns are ended by the shutdown, in its order, not by ctx.
	lasting := context.WithoutCancel(ctx)
	requests, endRequests := context.WithCancelCause(lasting)
	working, endEngine := context.WithCancel(lasting)
	delivering, endPush := context.WithCancel(lasting)
	r := &running{
		Server: s, endRequests: endRequests, endEngine: endEngine,
		failed: make(chan error, 2), engineEnded: make(chan error, 1), endPush: endPush,
	}
	s.web.BaseContext = func(net.Listener) context.Context { return requests }
	go func() { r.engineEnded <- s.engine.Run(working) }()
	r.pushEnded = s.deliver(delivering)
	r.start(ctx, requests)
	if err := s.tools.start(); err != nil {
		s.log.Warn().Err(err).Msg("not all of the tools were started")
	}
	why := r.wait(ctx)
	if why == nil {
		s.log.Info().Msg("shutting down")
	} else {
		s.log.Error().Err(why).Msg("shutting down, because it cannot continue")
	}
	err := r.shutdown(lasting)
	if failure := r.store.err(); why == nil && errors.Is(failure, store.ErrDamaged) {
		why = failure // since the last look
	}
	return errors.Join(why, err)
}

// sweepEnded removes ended grants, and messages of tasks that ended long enough ago, now and every hour, until
// ctx ends.
func (s *Server) sweepEnded(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.engine.Approvals().RemoveEnded(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn().Err(err).Msg("ended grants cannot be removed; retrying later")
		}
		if err := s.engine.Tasks().ForgetMessages(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn().Err(err).Msg("messages of ended tasks cannot be removed; retrying later")
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Hour):
		}
	}
}

// start serves, and returns when the tasks of a restored store are up to date, or the engine or ctx
// has ended. While there are such tasks, only probes are answered, and all else is refused; without
// them, requests wait in the listeners until they can be answered.
func (r *running) start(ctx, requests context.Context) {
	_, tasks := r.engine.Settling()
	if tasks > 0 {
		r.log.Info().Int("tasks", tasks).Msg("starting: tasks of the backup are brought up to date, and until then only probes are answered")
		r.serve(requests)
	}
	if r.awaitSettled(ctx) {
		r.announce() // before the first request is answered
		r.health.Enter(httpd.Serving)
	}
	if tasks == 0 {
		r.serve(requests)
	}
}

// awaitSettled waits until the tasks of a restored store are up to date, and returns false if the
// engine or ctx ends before.
func (r *running) awaitSettled(ctx context.Context) bool {
	select {
	case <-r.engine.Settled():
		return ctx.Err() == nil
	case err := <-r.engineEnded:
		r.engineEnded <- err // for wait
	case <-ctx.Done():
	}
	return false
}

// serve answers requests on all ports and sockets, and of the handler, as the phase allows it.
func (r *running) serve(requests context.Context) {
	r.admin.serve(r.log, "the admin socket does not accept commands any more: restart the server")
	r.monitor.port.serve(r.log, "metrics are served no more: restart the server")
	r.mounted.Open(requests)
	r.port.Serve(r.web.Serve, func(err error) { r.failed <- fmt.Errorf("serve %s: %w", r.Addr(), err) })
	r.grpc.port.Serve(r.grpc.rpc.Serve, func(err error) { r.failed <- fmt.Errorf("serve %s: %w", r.GRPCAddr(), err) })
}

// wait returns when the Server has to shut down. The error is the reason; nil: it was asked
// to.
func (r *running) wait(ctx context.Context) error {
	look := time.NewTicker(storeWatch)
	defer look.Stop()
	var remind <-chan time.Time
	if r.open() != "" {
		every := time.NewTicker(openWarnings)
		defer every.Stop()
		remind = every.C
	}
	troubled := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-r.engineEnded:
			r.engineEnded <- nil // for the shutdown, which waits for its end
			if err == nil {
				err = errors.New("it stopped unexpectedly")
			}
			return fmt.Errorf("the engine: %w", err)
		case err := <-r.failed:
			return err
		case <-remind:
			r.warnOpen()
		case now := <-look.C:
			r.tools.sweep(now)
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

// addressText returns an address for the log; "" for nil.
func addressText(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.String()
}

// announce logs that the server is listening, with the warnings for its operator.
func (s *Server) announce() {
	planner := map[bool]string{true: "direct", false: "llm"}[s.tools.direct]
	if p := s.given.Planner; p != nil {
		planner = fmt.Sprintf("%T", p)
	}
	s.log.Info().Str("address", addressText(s.Addr())).Str("grpc", addressText(s.GRPCAddr())).Str("metrics", addressText(s.MetricsAddr())).Str("url", s.url).Str("data", s.settings.Data).Str("store", s.settings.Store).
		Str("planner", planner).Str("tools", s.tools.known()).Str("tools_for_some", s.tools.reserved()).Str("version", version()).Msg("listening")
	if l := s.settings.Limits; s.limits.Connections < l.Connections || s.limits.Streams < l.Streams {
		s.log.Warn().Int("connections", s.limits.Connections).Int("streams", s.limits.Streams).Int("open_files", s.limits.Files).
			Msg("limits.connections or limits.streams are lowered: raise the limit of open files (ulimit -n), or set limits that fit")
	}
	if moment, held := s.engine.Held(); held {
		s.log.Warn().Time("moment", moment).Msg(restoredText(moment))
	}
	if s.store.note != "" {
		s.log.Warn().Msg(s.store.note)
	}
	if s.store.file != nil {
		if text, panicked := s.store.file.Failed(); text != "" {
			s.log.Error().Str("panic", panicked).Msg(text)
		}
	}
	if s.tools.Load().Defaults {
		s.log.Info().Msg("the configuration has no key tools, so the tools to try the server by are there: add tools: to choose your own")
	}
	switch {
	case s.Authenticator != nil:
	case s.port == nil:
		s.log.Warn().Msg("no authentication: every client of the handler may call tools and approve their calls")
	case s.open() == "":
		s.log.Warn().Msg("no authentication: every user of this machine may call tools and approve their calls")
	default:
		s.warnOpen()
	}
	if s.port != nil && s.settings.PublicURL == "" && !loopback(s.Addr()) && len(s.settings.AllowedHosts) == 0 {
		s.log.Warn().Msg("the agent card names the address that each request came to: set public_url, or allowed_hosts to the names that clients use")
	}
	if s.given.Inside.Listening != nil {
		s.given.Inside.Listening(s.url)
	}
}

// restoredText says that a restored store waits for its operator.
func restoredText(moment time.Time) string {
	return "restored from a backup of " + moment.Format(time.RFC3339) + ", waiting for a2a-server store resume: no planner, timer or webhook continues"
}

// open returns where other machines reach a server without authentication: an address, or the
// proxy in front according to the configuration; "" if it has authentication, or only this
// machine reaches it.
func (s *Server) open() string {
	if s.Authenticator != nil {
		return ""
	}
	for _, a := range []net.Addr{s.Addr(), s.GRPCAddr()} {
		if a != nil && !loopback(a) {
			return a.String()
		}
	}
	if s.port == nil {
		return ""
	}
	return s.settings.Proxied()
}

// warnOpen logs the address of a server that other machines reach without authentication.
func (s *Server) warnOpen() {
	s.log.Warn().Str("address", s.open()).
		Msg("no authentication on a public address: every client that reaches it may call tools and approve their calls; set auth")
}

// shutdown stops all parts, from the outside in. Its error says which of them did not stop
// cleanly. The grace period of calls begins here, so that clients that do not read do not
// extend it.
func (r *running) shutdown(ctx context.Context) error {
	over := time.Now().Add(r.settings.Limits.Grace)
	drained, silent := make(chan error, 1), make(chan struct{})
	// After the grace period the engine's waits are bounded, except for the disk.
	const slack = engine.LastWords + 10*time.Second
	return runSteps(ctx, r.log, []step{
		{"unready", time.Second, func(context.Context) error {
			r.health.Enter(httpd.Draining)
			return nil
		}},
		{"stop accepting", 5 * time.Second, func(ctx context.Context) error {
			// Shutdown closes the port before it waits for requests, and only the next step
			// ends the requests.
			wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutOff)
			r.mounted.Close()
			go func() {
				defer cancel()
				drained <- r.shutServer(wait)
				<-silent
			}()
			go func() {
				defer close(silent)
				r.shutGRPC(wait)
			}()
			return r.port.Close()
		}},
		{"end streams", 15 * time.Second, func(context.Context) error {
			r.endRequests(httpd.ErrStopping)
			r.grpc.rpc.EndCalls()
			err := <-drained
			<-silent
			return err
		}},
		{"close the admin socket", 3 * sideCutOff, func(ctx context.Context) error {
			return errors.Join(r.admin.close(ctx), r.monitor.port.close(ctx))
		}},
		{"finish calls", r.settings.Limits.Grace + slack, func(context.Context) error {
			r.engine.Stop(time.Until(over))
			r.endEngine()
			return <-r.engineEnded
		}},
		{"stop push notifications", 5 * time.Second, func(ctx context.Context) error {
			r.endPush()
			select {
			case <-r.pushEnded:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}},
		{"close the tools", 10 * time.Second, func(context.Context) error { return r.tools.close() }},
		{"close the store", 30 * time.Second, func(context.Context) error { return r.store.close() }},
	})
}

// step is a part of a shutdown.
type step struct {
	name  string
	limit time.Duration
	do    func(ctx context.Context) error
}

// runSteps runs the steps in order, even if an earlier step failed, each for at most its limit. A
// step that takes longer is abandoned; it ends with the process.
func runSteps(ctx context.Context, log zerolog.Logger, all []step) error {
	var errs []error
	for _, step := range all {
		start := time.Now()
		err := step.run(ctx)
		took := time.Since(start)
		if err != nil {
			errs = append(errs, fmt.Errorf("shut down: %s: %w", step.name, err))
			log.Error().Err(err).Str("step", step.name).Dur("took_ms", took).Msg("shutdown step failed")
			continue
		}
		log.Info().Str("step", step.name).Dur("took_ms", took).Msg("shutdown step done")
	}
	return errors.Join(errs...)
}

func (s step) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.do(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("it took longer than %v", s.limit)
	}
}
