package toolset

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/app/config"
	"a2a-server/internal/lists"
	"a2a-server/task"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Config has the parts that tools, secrets and gates are made from.
type Config struct {
	Operator     *config.Config
	Environment  []string         // NAME=value
	Tools        []tool.Toolset   // given in Go
	DefaultTools []tool.Toolset   // added as long as the configuration has no key tools
	Policy       *approval.Policy // nil: that of the configuration
	Planner      bool             // the planner is not that of the configuration

	Only  string                  // the tool that is called, with a slash; "": any may be
	Cache string                  // folder for the lists of servers of tools; "": they are not kept
	Index string                  // folder for the indexes of searches; "": they are temporary
	Own   func() []netip.AddrPort // where the server listens; nil: nowhere
	Log   zerolog.Logger
}

// A State is the part of a server that depends on the configuration's tools, secrets and gates.
// It is immutable. A reload makes a new state.
type State struct {
	conf     *config.Config
	policy   *approval.Policy
	registry *tool.Registry
	box      *toolbox
	given    []tool.Toolset // in Go; they are part of registry
	gates    *config.Config // has the places of the policy's gates; nil: the policy was made in Go
	secrets  *secrets
	agent    string
	index    string // Config.Index
	single   bool   // only one tool is called
	defaults bool   // the tools are DefaultTools, at least in part
	commands bool   // the planner reads messages as direct does
}

// New makes the tools and the policy of a configuration. It uses unchanged parts of before
// again, which may be nil.
func New(c Config, before *State) (*State, error) {
	conf := c.Operator
	s := &State{conf: conf, policy: c.Policy, given: c.Tools, agent: conf.Agent.Name, index: c.Index, single: c.Only != "", commands: !c.Planner && conf.Planner.Kind == "direct"}
	if s.policy == nil {
		s.gates = conf
		var err error
		if s.policy, err = config.Policy(conf); err != nil {
			return nil, fmt.Errorf("%w: %w", config.ErrUnusable, err)
		}
	}
	if !conf.Tools.Given {
		s.given = slices.Concat(c.Tools, c.DefaultTools)
		s.defaults = len(c.DefaultTools) > 0
	}
	s.secrets = &secrets{places: conf.Secrets, env: c.Environment, log: c.Log}
	w := maker{conf: conf, env: c.Environment, own: c.Own, log: c.Log, secrets: s.secrets, cache: c.Cache, index: c.Index, only: c.Only, before: before.toolbox()}
	var err error
	if s.box, err = newToolbox(w); err != nil {
		return nil, err
	}
	s.registry = tool.NewRegistry(slices.Concat(s.given, s.box.sets(false))...)
	return s, nil
}

// Check returns the problems with the tools, and with gates that match none. It starts the
// servers of tools and waits up to wait for their lists; for 0 it starts none, and their tools
// are unknown. It returns the tools that anonymous callers may use, none for 0. late: a server
// has not answered; warnings then has only problems that do not depend on it.
func (s *State) Check(wait time.Duration) (tools *Lister, warnings []string, late bool, _ error) {
	connect := wait > 0
	warnings = slices.Concat(s.secrets.check(), s.checkPersons())
	sets, unknown, partial := slices.Clone(s.given), false, false
	ctx, cancel := context.WithTimeoutCause(context.Background(), wait, errSlow)
	defer cancel()
	var unanswered atomic.Bool
	anybody := task.NewReadonlyContext(ctx, s.agent, auth.Anonymous())
	var waiting sync.WaitGroup
	for _, e := range s.box.entries {
		for _, p := range e.problems {
			warnings = append(warnings, ToolProblem{Origin: e.origin, Problem: p}.String())
		}
		if e.unused {
			unknown, partial = true, true
			continue
		}
		if e.server == nil || connect {
			sets = append(sets, e.made)
		}
		if e.server == nil {
			continue
		}
		if unknown = true; connect {
			waiting.Go(func() { // all at once; the listing below has the errors
				if _, err := e.made.Tools(anybody); err != nil && ctx.Err() != nil {
					unanswered.Store(true)
				}
			})
		}
	}
	waiting.Wait()
	all := tool.NewRegistry(sets...) // for all callers
	if _, err := all.Static(); err != nil {
		return nil, nil, false, fmt.Errorf("list the tools: %w", err)
	}
	late = unanswered.Load()
	listed := newLister(all, s.agent, auth.Anonymous())
	listed.fill(listing(late))
	entries, down := listed.entries()
	every := lists.Map(entries, func(e *tool.Registered) tool.Tool { return e.Tool })
	if errors.Is(down, tool.ErrCollision) {
		return nil, nil, false, fmt.Errorf("list the tools: %w", down)
	}
	if down != nil && !late {
		warnings = append(warnings, fmt.Sprintf("some tools cannot be listed: %v; the server starts without them", down))
	}
	if connect {
		for _, p := range s.box.programs(s.conf, false /* servers: they are started now, and the log says what fails */) {
			warnings = append(warnings, p.String()+"; calls of it will fail")
		}
	}
	dynamic := unknown || all.Dynamic()
	gates, err := checkGates(s.policy, s.gates, every, dynamic)
	var exempt []string
	if err == nil {
		exempt, err = s.checkExempt(every, dynamic)
	}
	if !partial && !late { // the tools that they miss may be there
		warnings = slices.Concat(warnings, gates, exempt)
	}
	if err != nil {
		return nil, warnings, late, err
	}
	if connect {
		tools = newLister(s.registry, s.agent, auth.Anonymous())
		tools.fill(listing(late))
	}
	return tools, warnings, late, nil
}

// listing returns the context in which toolsets list their tools. If a server was late, the
// context is over already, so that the server does not wait for it again.
func listing(late bool) context.Context {
	if !late {
		return context.Background()
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errSlow)
	return ctx
}

// checkExempt looks for names under no_approve_tools that change nothing: because there is no
// such tool, or because another setting requires its approval.
func (s *State) checkExempt(tools []tool.Tool, dynamic bool) (warnings []string, _ error) {
	names := lists.Map(tools, tool.Tool.Name)
	for _, pattern := range s.conf.NoApproveTools {
		matched := false
		for _, t := range tools {
			if !config.Matches(pattern, t.Name()) {
				continue
			}
			matched = true
			if asked := s.asked(t); asked != "" && pattern == t.Name() {
				warnings = append(warnings, fmt.Sprintf("no_approve_tools: calls of %s still have to be approved, because %s", t.Name(), asked))
			}
		}
		if matched {
			continue
		}
		p := s.conf.Problem("no_approve_tools")
		p.Problem = unknownTool(pattern, "this does nothing", names)
		if !dynamic && !strings.Contains(pattern, "*") {
			return warnings, &config.Error{Problems: []config.Problem{p}}
		}
		warnings = append(warnings, p.String())
	}
	return warnings, nil
}

// asked returns the reason why every call of t needs approval; "": there is none.
func (s *State) asked(t tool.Tool) string {
	for i, g := range s.policy.Gates() {
		if g.Action != approval.ActionAllow && !g.Conditional() && g.Matches(t.Name()) {
			return "of " + s.gateOrigin(i).String()
		}
	}
	if !declares(t) || ignored(s.conf, t) {
		return ""
	}
	for i, e := range s.conf.Tools.Entries {
		if e.Approve != nil && (e.Name == t.Name() || strings.HasPrefix(t.Name(), e.Name+"_")) {
			return "of approve at " + s.conf.Place(s.conf.ToolPath(i, "approve")).String()
		}
	}
	return "the tool itself declares it"
}

// declares reports whether a tool itself asks about every call. A tool that panics asks.
func declares(t tool.Tool) (asks bool) {
	defer func() { asks = recover() != nil || asks }()
	return t.RequiresApproval()
}

// ignored reports whether declared_gates turns off the gate that a tool itself declares.
func ignored(c *config.Config, t tool.Tool) bool {
	return c.DeclaredGates == config.IgnoreDeclared && !tool.IsDecision(t)
}

// gateOrigin returns where gate i of the policy was configured.
func (s *State) gateOrigin(i int) Origin {
	g := s.policy.Gates()[i]
	o := Origin{Kind: "gate", Entry: g.Named()}
	if s.gates != nil {
		place := s.gates.Place(config.GatePath(s.gates, i))
		o.File, o.Line = place.File, place.Line
	}
	return o
}

// Current is the State that is in force. The zero value has none.
type Current struct{ atomic.Pointer[State] }

// Always reports whether every call of t has to be approved, as far as that is known
// without its arguments.
func (c *Current) Always(t tool.Tool) bool { return c.Load().policy.Always(t) }

// Registry returns the tools.
func (s *State) Registry() *tool.Registry { return s.registry }

// Policy returns the gates.
func (s *State) Policy() *approval.Policy { return s.policy }

// AdminSocket returns the path of the admin socket of the server.
func (s *State) AdminSocket() string { return s.conf.AdminSocket() }

// OwnSocket returns the path of the socket of the server's own user.
func (s *State) OwnSocket() string { return s.conf.OwnSocket() }

// Defaults reports whether the tools are those of Config.DefaultTools.
func (s *State) Defaults() bool { return s.defaults }

// Secret returns the secret of that name. Its error says nothing about the secret.
func (s *State) Secret(name string) (string, error) { return s.secrets.read(name) }

// Fill returns a text with the secrets that it refers to.
func (s *State) Fill(template string) (string, error) { return s.secrets.filled(template)() }

// Reserved returns the names of the entries whose tools only some callers may use.
func (s *State) Reserved() (names []string) {
	for _, e := range s.box.entries {
		if e.config.For != nil {
			names = append(names, e.config.Name)
		}
	}
	return names
}

// Servers returns the servers of tools that other, which may be nil, does not use.
func (s *State) Servers(other *State) []Server { return s.box.servers(other.toolbox()) }

// Close closes the servers of tools that other, which may be nil, does not use.
func (s *State) Close(other *State) error { return s.box.close(other.toolbox()) }

// toolbox returns the tools of a state, which may be nil.
func (s *State) toolbox() *toolbox {
	if s == nil {
		return nil
	}
	return s.box
}

// Down returns why servers of tools have not listed their tools; nil: each has.
func (s *State) Down(as agent.ReadonlyContext) error {
	var errs []error
	for _, e := range s.box.entries {
		if e.server == nil || e.unused {
			continue
		}
		if _, err := e.made.Tools(as); err != nil {
			words := ""
			if last := e.server.Status().LastWords; len(last) > 0 {
				words = "; it wrote to stderr, at last:\n  | " + strings.Join(last, "\n  | ")
			}
			errs = append(errs, fmt.Errorf("%s: %w%s", e.origin, err, words))
		}
	}
	return errors.Join(errs...)
}

// Check returns the error that a server with this Config would not start with, and warnings,
// as far as they are known without starting anything.
func Check(c Config) (warnings []string, _ error) {
	s, err := New(c, nil)
	if err != nil {
		return nil, err
	}
	_, warnings, _, err = s.Check(0 /* wait */)
	if missing := s.box.programs(c.Operator, true /* servers */); err == nil && len(missing) > 0 {
		err = &config.Error{Problems: missing}
	}
	return warnings, errors.Join(err, s.box.close(nil))
}
