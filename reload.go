package a2aserver

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"a2a-server/internal/adminsocket"
	"a2a-server/internal/app/config"
	"a2a-server/internal/debugapi"
	"a2a-server/internal/toolset"
)

// quiet is for how long no call of a server of tools that a reload has replaced must run
// before it is closed: a call may be about to start.
const quiet = 10 * time.Second

// reloads runs reloads in turn, and closes the parts that reloads replaced.
type reloads struct {
	mu      sync.Mutex
	closed  bool           // there are no more reloads
	retired []retired      // in use until their calls have ended
	closing sync.WaitGroup // and listing servers that were late
}

// retired is a server of tools that the configuration no longer has.
type retired struct {
	server toolset.Server
	since  time.Time // nothing has run since then
}

// ended reports whether the servers of tools are being closed.
func (r *reloads) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// Reload reads the file of API keys and then the configuration again. The keys take effect as
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
	if err := s.authentication.reload(); err != nil {
		return done, fmt.Errorf("reload: %w", err)
	}
	r := &s.reloads
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return done, errors.New("a2aserver: the server is closed, so it cannot reload")
	}
	warnings := config.InertRoles(callers(s.config, s.apiKeys))
	defer func() { warn(s.log, warnings) }()
	conf, restart, err := config.Reload(s.given.source(), s.config)
	if err != nil {
		return done, fmt.Errorf("reload: %w", err)
	}
	if s.files != nil { // it would notice new keys by itself, a little later
		if err := s.files.Reload(); err != nil {
			return done, fmt.Errorf("reload: %w", err)
		}
	}
	before := s.tools.Load()
	if s.admin.Port != nil {
		if err := adminsocket.CheckPrograms(s.config, conf, os.Geteuid()); err != nil {
			return done, fmt.Errorf("reload: %w", err)
		}
	}
	cache, err := s.given.cacheFolder(conf)
	if err != nil {
		return done, fmt.Errorf("reload: %w", err)
	}
	routes, unread, err := s.given.routes(conf, s.own)
	if err != nil {
		return done, fmt.Errorf("reload: %w", err)
	}
	next, err := toolset.New(s.given.tools(conf, s.own, cache), before)
	if err != nil {
		return done, fmt.Errorf("reload: %w", err)
	}
	listed, problems, late, err := next.Check(toolset.ListTime)
	if err != nil {
		return done, fmt.Errorf("reload: %w", errors.Join(err, next.Close(before)))
	}
	undecidable, unmet := s.given.roleProblems(conf, s.apiKeys)
	warnings = slices.Concat(warnings, problems, unread, unmet, undecidable)
	s.tools.Store(next)
	next.Start()
	s.notify.SetRoutes(routes) // first: the rows of a new route find it
	s.engine.Reload(next.Registry(), next.Policy(), taskRoutes(routes))
	s.catalog.Set(next, listed)
	if late {
		r.closing.Go(func() { s.listLate(next) })
	}
	for _, old := range before.Servers(next) {
		r.retired = append(r.retired, retired{server: old, since: time.Now()})
	}
	if len(restart) > 0 {
		s.log.Warn().Str("keys", strings.Join(restart, " ")).Msg("these keys have changed, too: they take effect when the server is restarted")
	}
	if s.given.Inside.LogLevel != nil {
		s.given.Inside.LogLevel(conf.Log.Level)
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

// listLate lists the tools of a state once more, with more time, because a server of tools had
// not answered when it came into force, and logs the problems with them.
func (s *Server) listLate(of *toolset.State) {
	listed, warnings, _, err := of.Check(toolset.ListTime) // a shutdown closes the tools, which ends it
	if s.reloads.ended() {
		return
	}
	if err != nil {
		s.log.Error().Err(err).Msg("the tools of a server that was late cannot be used")
		return
	}
	if s.tools.Load() == of { // a reload logs its own problems
		warn(s.log, warnings)
		s.catalog.Set(of, listed)
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
func (s *Server) closeServer(one toolset.Server) {
	if err := one.Close(); err != nil {
		s.log.Warn().Err(err).Msg("a server of tools did not end cleanly")
	}
}

// closeTools closes all servers of tools, and the connections of the planner, after the calls have ended. There are no more
// reloads.
func (s *Server) closeTools() error {
	closePlanner(s.planner)
	r := &s.reloads
	r.mu.Lock()
	r.closed = true
	var all []toolset.Server
	for _, old := range r.retired {
		all = append(all, old.server)
	}
	r.retired = nil
	r.mu.Unlock()
	if now := s.tools.Load(); now != nil {
		all = append(all, now.Servers(nil)...)
	}
	errs := make([]error, len(all))
	for i, one := range all {
		r.closing.Go(func() { errs[i] = one.Close() })
	}
	r.closing.Wait()
	return errors.Join(errs...)
}
