package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"a2a-server/internal/catalog"
	"a2a-server/internal/debugapi"
	"a2a-server/task"
	"a2a-server/task/notify"
	"a2a-server/task/planner/llm"
	"a2a-server/tool"
)

// quiet is for how long no call of a server of tools that a reload has replaced must run
// before it is closed: a call may be about to start.
const quiet = 10 * time.Second

// offer is an Offer with the tools and gates of the program.
type offer struct {
	*Offer
	*catalog.Tools
}

// current is the offer that is in force. The zero value has none.
type current struct{ atomic.Pointer[offer] }

// always reports whether every call of t has to be approved, as far as that is known without its arguments.
func (c *current) always(t tool.Tool) bool { return c.Load().Tools.Policy.Always(t) }

// reloads runs reloads in turn, and closes the parts that reloads replaced.
type reloads struct {
	mu      sync.Mutex
	closed  bool           // there are no more reloads
	retired []retired      // in use until their calls have ended
	closing sync.WaitGroup // and listing servers that were late
}

// retired is a server of tools that is not offered any more.
type retired struct {
	server ToolServer
	since  time.Time // nothing has run since then
}

// ended reports whether the servers of tools are being closed.
func (r *reloads) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// without returns the servers that others do not have.
func without(servers, others []ToolServer) []ToolServer {
	return slices.DeleteFunc(slices.Clone(servers), func(s ToolServer) bool { return slices.Contains(others, s) })
}

// closeAll closes servers of tools.
func closeAll(servers []ToolServer) error {
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// list lists the tools of an offer, waiting for its servers of tools. It returns a lister for the card, and problems
// with the tools and gates. late: a server has not answered.
func (s *Server) list(o *offer, wait time.Duration) (_ *catalog.Lister, warnings []string, late bool, _ error) {
	if o.Await != nil {
		ctx, cancel := context.WithTimeoutCause(context.Background(), wait, catalog.ErrSlow)
		late = o.Await(ctx)
		cancel()
	}
	lister, listed, warnings, err := o.Tools.List(slices.Concat(s.given.Tools, o.All), late)
	if err != nil {
		return nil, nil, late, err
	}
	problems, err := s.given.problems(o.Offer, listed, o.Tools.Policy)
	return lister, append(warnings, problems...), late, err
}

// Reload reads the file of API keys and then the operator's configuration again. The keys take effect as
// soon as they are read, even if the configuration has errors, so that a revoked key ends.
// Tools, secrets, gates and routes, and the files of TLS, take effect at once; other keys of the
// configuration that have changed need a restart, and the log names them. Calls that run keep
// their tools; tasks that wait for a decision about a tool with another definition are asked
// again. If the file of keys or the configuration has an error, the tools stay as they are,
// and the error describes it.
func (s *Server) Reload() error {
	_, err := s.reload()
	return err
}

// reload is [Server.Reload]. It returns the keys that need a restart, and the warnings that it logs.
func (s *Server) reload() (done debugapi.Reloaded, err error) {
	defer func() { s.monitor.metrics.Reloaded(err) }()
	// For itself, and first: a key that was revoked must not stay valid because something
	// else is broken, or takes its time, as an earlier reload may.
	if err := s.given.Operator.ReloadKeys(); err != nil {
		return done, fmt.Errorf("reload: %w", err)
	}
	r := &s.reloads
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return done, errors.New("a2aserver: the server is closed, so it cannot reload")
	}
	made, restart, err := s.given.Operator.Reload()
	if err != nil {
		return done, fmt.Errorf("reload: %w", err)
	}
	warnings := made.Warnings
	defer func() { warn(s.log, warnings) }()
	before, next := s.tools.Load(), &offer{made, s.given.tools(made, s.direct)}
	listed, problems, late, err := s.list(next, catalog.ListTime)
	if err != nil {
		return done, fmt.Errorf("reload: %w", errors.Join(err, closeAll(without(made.Servers, before.Servers))))
	}
	warnings = append(warnings, problems...)
	if made.InForce != nil {
		made.InForce()
	}
	s.tools.Store(next)
	if made.Start != nil {
		if err := made.Start(); err != nil {
			s.log.Warn().Err(err).Msg("the tools were not started")
		}
	}
	s.notify.SetRoutes(made.Routes) // first: the rows of a new route find it
	s.engine.Reload(next.Registry, next.Tools.Policy, taskRoutes(made.Routes))
	s.catalog.Set(next.Tools, listed)
	if late {
		r.closing.Go(func() { s.listLate(next) })
	}
	for _, old := range without(before.Servers, made.Servers) {
		r.retired = append(r.retired, retired{server: old, since: time.Now()})
	}
	if len(restart) > 0 {
		s.log.Warn().Str("keys", strings.Join(restart, " ")).Msg("these keys have changed, too: they take effect when the server is restarted")
	}
	if s.given.Inside.LogLevel != nil && made.LogLevel != "" {
		s.given.Inside.LogLevel(made.LogLevel)
	}
	// The server would notice new keys of its own by itself, too.
	if err := s.keys.Reload(); err != nil {
		s.log.Error().Err(err).Msg("the server's own keys were not read: the keys in use stay")
		done.Warnings = []string{"the server's own keys were not read, and the keys in use stay: " + err.Error()}
	}
	s.log.Info().Str("tools", s.toolNames()).Str("tools_for_some", s.reservedTools()).Msg("the tools, secrets and gates of the configuration were reloaded")
	done.Restart, done.Warnings = restart, append(done.Warnings, warnings...)
	return done, nil
}

// taskRoutes returns routes as the engine knows them.
func taskRoutes(routes []notify.Route) (all []task.Route) {
	for _, r := range routes {
		all = append(all, r.Route)
	}
	return all
}

// listLate lists the tools of an offer once more, with more time, because a server of tools had
// not answered when it came into force, and logs the problems with them.
func (s *Server) listLate(o *offer) {
	listed, warnings, _, err := s.list(o, catalog.ListTime) // a shutdown closes the tools, which ends it
	if s.reloads.ended() {
		return
	}
	if err != nil {
		s.log.Error().Err(err).Msg("the tools of a server that was late cannot be used")
		return
	}
	if s.tools.Load() == o { // a reload logs its own problems
		warn(s.log, warnings)
		s.catalog.Set(o.Tools, listed)
		s.log.Info().Str("tools", s.toolNames()).Msg("the tools of servers that were late are listed")
	}
}

// sweep closes the parts that were replaced and are no longer in use.
func (s *Server) sweep(now time.Time) {
	r := &s.reloads
	if !r.mu.TryLock() {
		return // a reload is connecting to servers; the next time
	}
	defer r.mu.Unlock()
	left := r.retired[:0]
	for _, old := range r.retired {
		switch {
		case old.server.Busy():
			old.since = now
			left = append(left, old)
		case now.Sub(old.since) < quiet:
			left = append(left, old)
		default:
			r.closing.Go(func() { s.closeServer(old.server) })
		}
	}
	clear(r.retired[len(left):])
	r.retired = left
}

// closeServer closes a server of tools, and logs the error.
func (s *Server) closeServer(server ToolServer) {
	if err := server.Close(); err != nil {
		s.log.Warn().Err(err).Msg("a server of tools did not end cleanly")
	}
}

// closeTools closes all servers of tools, and the connections of the planner, after the calls have ended. There are no more
// reloads.
func (s *Server) closeTools() error {
	if p, is := s.planner.(*llm.Planner); is {
		p.Close()
	}
	r := &s.reloads
	r.mu.Lock()
	r.closed = true
	var servers []ToolServer
	for _, old := range r.retired {
		servers = append(servers, old.server)
	}
	r.retired = nil
	r.mu.Unlock()
	if now := s.tools.Load(); now != nil {
		servers = append(servers, now.Servers...)
	}
	errs := make([]error, len(servers))
	for i, server := range servers {
		r.closing.Go(func() { errs[i] = server.Close() })
	}
	r.closing.Wait()
	return errors.Join(errs...)
}
