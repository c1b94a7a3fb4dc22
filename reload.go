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

	"a2a-server/a2a/agentcard"
	"a2a-server/internal/catalog"
	"a2a-server/internal/debugapi"
	"a2a-server/internal/keyring"
	"a2a-server/internal/lists"
	"a2a-server/task"
	"a2a-server/task/notify"
	"a2a-server/task/planner/direct"
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

// offers has the offer that is in force, runs reloads in turn, and closes the parts that reloads replaced.
type offers struct {
	current

	config  *Config          // of the program
	planner task.Planner     // the program's, the operator's, or the direct planner
	direct  bool             // the planner reads messages as direct does
	catalog *catalog.Catalog // the skills of the card
	late    bool             // a server of tools has not listed them yet

	replace func(*offer)       // has the rest of the server take the offer of a reload
	keys    *keyring.Keyring   // the server's own
	counted func(failed error) // counts a reload

	mu      sync.Mutex
	closed  bool           // there are no more reloads
	retired []retired      // in use until their calls have ended
	closing sync.WaitGroup // and listing servers that were late
}

// open makes the first offer, and lists its tools for the card. planner is the operator's; nil: none.
func (o *offers) open(planner task.Planner) error {
	switch {
	case o.config.Planner != nil:
		o.planner = o.config.Planner
	case planner != nil:
		o.planner = planner
	default:
		o.planner, o.direct = direct.New(direct.Config{Approval: o.always}), true
	}
	made, err := o.config.Operator.Offer()
	if err != nil {
		return err
	}
	log := o.config.Log
	warn(log, made.Warnings)
	first := o.with(made)
	o.force(first)
	listed, warnings, late, err := o.list(first, catalog.StartTime)
	warn(log, warnings)
	if err != nil {
		return err
	}
	o.catalog, o.late = catalog.NewCatalog(first.Tools, listed, log), late
	return nil
}

// with returns an offer of the operator with the tools and gates of the program.
func (o *offers) with(made *Offer) *offer { return &offer{made, o.config.tools(made, o.direct)} }

// force puts an offer in force.
func (o *offers) force(next *offer) {
	if next.InForce != nil {
		next.InForce()
	}
	o.Store(next)
}

// start starts the background work of the tools in force.
func (o *offers) start() error {
	if start := o.Load().Start; start != nil {
		return start()
	}
	return nil
}

// always reports whether every call of t has to be approved, as far as that is known without its arguments.
func (c *current) always(t tool.Tool) bool { return c.Load().Tools.Policy.Always(t) }

// known returns the names of the tools that every caller may use, for the log.
func (o *offers) known() string {
	return strings.Join(lists.Map(o.catalog.Known(), func(k agentcard.Skill) string { return k.ID }), " ")
}

// reserved returns the names of the entries whose tools only some may use, for the log.
func (o *offers) reserved() string { return strings.Join(o.Load().Reserved, " ") }

// retired is a server of tools that is not offered any more.
type retired struct {
	server ToolServer
	since  time.Time // nothing has run since then
}

// ended reports whether the servers of tools are being closed.
func (o *offers) ended() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
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
func (o *offers) list(of *offer, wait time.Duration) (_ *catalog.Lister, warnings []string, late bool, _ error) {
	if of.Await != nil {
		ctx, cancel := context.WithTimeoutCause(context.Background(), wait, catalog.ErrSlow)
		late = of.Await(ctx)
		cancel()
	}
	lister, listed, warnings, err := of.Tools.List(slices.Concat(o.config.Tools, of.All), late)
	if err != nil {
		return nil, nil, late, err
	}
	problems, err := o.config.problems(of.Offer, listed, of.Tools.Policy)
	return lister, append(warnings, problems...), late, err
}

// reload is [Server.Reload]. It returns the keys that need a restart, and the warnings that it logs.
func (o *offers) reload() (done debugapi.Reloaded, err error) {
	defer func() { o.counted(err) }()
	log := o.config.Log
	// For itself, and first: a key that was revoked must not stay valid because something
	// else is broken, or takes its time, as an earlier reload may.
	if err := o.config.Operator.ReloadKeys(); err != nil {
		return done, fmt.Errorf("reload: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return done, errors.New("a2aserver: the server is closed, so it cannot reload")
	}
	made, restart, err := o.config.Operator.Reload()
	if err != nil {
		return done, fmt.Errorf("reload: %w", err)
	}
	warnings := made.Warnings
	defer func() { warn(log, warnings) }()
	before, next := o.Load(), o.with(made)
	listed, problems, late, err := o.list(next, catalog.ListTime)
	if err != nil {
		return done, fmt.Errorf("reload: %w", errors.Join(err, closeAll(without(made.Servers, before.Servers))))
	}
	warnings = append(warnings, problems...)
	o.force(next)
	if err := o.start(); err != nil {
		log.Warn().Err(err).Msg("the tools were not started")
	}
	o.replace(next)
	o.catalog.Set(next.Tools, listed)
	if late {
		o.closing.Go(func() { o.listLate(next) })
	}
	for _, old := range without(before.Servers, made.Servers) {
		o.retired = append(o.retired, retired{server: old, since: time.Now()})
	}
	if len(restart) > 0 {
		log.Warn().Str("keys", strings.Join(restart, " ")).Msg("these keys have changed, too: they take effect when the server is restarted")
	}
	if set := o.config.Inside.LogLevel; set != nil && made.LogLevel != "" {
		set(made.LogLevel)
	}
	// The server would notice new keys of its own by itself, too.
	if err := o.keys.Reload(); err != nil {
		log.Error().Err(err).Msg("the server's own keys were not read: the keys in use stay")
		done.Warnings = []string{"the server's own keys were not read, and the keys in use stay: " + err.Error()}
	}
	log.Info().Str("tools", o.known()).Str("tools_for_some", o.reserved()).Msg("the tools, secrets and gates of the configuration were reloaded")
	done.Restart, done.Warnings = restart, append(done.Warnings, warnings...)
	return done, nil
}

// taskRoutes returns routes as the engine knows them.
func taskRoutes(routes []notify.Route) []task.Route {
	return lists.Map(routes, func(r notify.Route) task.Route { return r.Route })
}

// listLate lists the tools of an offer once more, with more time, because a server of tools had
// not answered when it came into force, and logs the problems with them.
func (o *offers) listLate(of *offer) {
	listed, warnings, _, err := o.list(of, catalog.ListTime) // a shutdown closes the tools, which ends it
	if o.ended() {
		return
	}
	log := o.config.Log
	if err != nil {
		log.Error().Err(err).Msg("the tools of a server that was late cannot be used")
		return
	}
	if o.Load() == of { // a reload logs its own problems
		warn(log, warnings)
		o.catalog.Set(of.Tools, listed)
		log.Info().Str("tools", o.known()).Msg("the tools of servers that were late are listed")
	}
}

// sweep closes the parts that were replaced and are no longer in use.
func (o *offers) sweep(now time.Time) {
	if !o.mu.TryLock() {
		return // a reload is connecting to servers; the next time
	}
	defer o.mu.Unlock()
	left := o.retired[:0]
	for _, old := range o.retired {
		switch {
		case old.server.Busy():
			old.since = now
			left = append(left, old)
		case now.Sub(old.since) < quiet:
			left = append(left, old)
		default:
			o.closing.Go(func() {
				if err := old.server.Close(); err != nil {
					o.config.Log.Warn().Err(err).Msg("a server of tools did not end cleanly")
				}
			})
		}
	}
	clear(o.retired[len(left):])
	o.retired = left
}

// close closes all servers of tools, and the connections of the planner, after the calls have ended. There are no more
// reloads.
func (o *offers) close() error {
	if p, is := o.planner.(*llm.Planner); is {
		p.Close()
	}
	o.mu.Lock()
	o.closed = true
	servers := lists.Map(o.retired, func(old retired) ToolServer { return old.server })
	o.retired = nil
	o.mu.Unlock()
	if now := o.Load(); now != nil {
		servers = append(servers, now.Servers...)
	}
	errs := make([]error, len(servers))
	for i, server := range servers {
		o.closing.Go(func() { errs[i] = server.Close() })
	}
	o.closing.Wait()
	return errors.Join(errs...)
}
