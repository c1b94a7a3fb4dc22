package toolset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	a2aserver "a2a-server"

	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/catalog"
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
	catalog.Tools // with those given in Go

	conf     *config.Config
	box      *toolbox
	given    []tool.Toolset // in Go, and then the defaults; they are part of Registry
	programs int            // how many of them the program has given
	gates    *config.Config // has the places of the policy's gates; nil: the policy was made in Go
	secrets  *secrets
	index    string // Config.Index
	single   bool   // only one tool is called
	defaults bool   // the tools are DefaultTools, at least in part
}

// New makes the tools and the policy of a configuration. It uses unchanged parts of before
// again, which may be nil.
func New(c Config, before *State) (*State, error) {
	conf := c.Operator
	s := &State{conf: conf, given: c.Tools, programs: len(c.Tools), index: c.Index, single: c.Only != ""}
	s.Tools = catalog.Tools{
		Policy: c.Policy, Agent: conf.Agent.Name, Examples: !c.Planner && conf.Planner.Kind == "direct", Text: config.GateText,
		Complete: func(by auth.Principal) auth.Principal {
			if !by.IsAnonymous() {
				by.Tenant, by.Roles = cmp.Or(by.Tenant, conf.Auth.Tenant), conf.Auth.RolesOr(by.Roles)
			}
			return by
		},
	}
	if s.Policy == nil {
		s.gates = conf
		var err error
		if s.Policy, err = config.Policy(conf); err != nil {
			return nil, fmt.Errorf("%w: %w", a2aserver.ErrConfig, err)
		}
		s.Origin = func(gate int) catalog.Origin {
			return origin(conf, config.GatePath(conf, gate), "gate", s.Policy.Gates()[gate].Named())
		}
	}
	if !conf.Tools.Given {
		s.given = slices.Concat(c.Tools, c.DefaultTools)
		s.defaults = len(c.DefaultTools) > 0
	}
	s.secrets = &secrets{places: conf.Secrets, env: c.Environment, log: c.Log}
	w := maker{Config: c, secrets: s.secrets, before: before.toolbox()}
	var err error
	if s.box, err = newToolbox(w); err != nil {
		return nil, err
	}
	s.Registry = tool.NewRegistry(slices.Concat(s.given, s.box.sets(false))...)
	return s, nil
}

// origin returns the origin of what the key at path sets: a kind and a name.
func origin(conf *config.Config, path, kind, name string) catalog.Origin {
	file, line := conf.Place(path)
	return catalog.Origin{Kind: kind, Entry: name, File: file, Line: line}
}

// Await waits until the servers of tools have listed their tools, or ctx ends. late: a server has not answered.
func (s *State) Await(ctx context.Context) (late bool) {
	var unanswered atomic.Bool
	anybody := task.NewReadonlyContext(ctx, s.Agent, auth.Anonymous())
	var waiting sync.WaitGroup
	for _, e := range s.box.entries {
		if e.server != nil && !e.unused {
			waiting.Go(func() { // all at once; the listing after this has the errors
				if _, err := e.made.Tools(anybody); err != nil && ctx.Err() != nil {
					unanswered.Store(true)
				}
			})
		}
	}
	waiting.Wait()
	return unanswered.Load()
}

// Problems returns the problems with the tools and secrets, and with gates and names that match no tool. listed has
// the tools of all toolsets, also of toolsets given in Go. The error keeps a server from starting.
func (s *State) Problems(listed catalog.Listed) (warnings []string, _ error) {
	warnings = s.ownProblems()
	for _, p := range s.box.programs(s.conf, false /* servers: they are started now, and the log says what fails */) {
		warnings = append(warnings, p.String()+"; calls of it will fail")
	}
	unmatched, err := s.unmatched(listed)
	return append(warnings, unmatched...), err
}

// ownProblems returns the problems that do not depend on the lists.
func (s *State) ownProblems() []string {
	warnings := slices.Concat(s.secrets.check(), s.checkPersons())
	for _, e := range s.box.entries {
		for _, p := range e.problems {
			warnings = append(warnings, ToolProblem{Origin: e.origin, Problem: p}.String())
		}
	}
	return warnings
}

// unmatched returns the problems with gates and with names under no_approve_tools that match no tool.
func (s *State) unmatched(listed catalog.Listed) (warnings []string, err error) {
	partial := slices.ContainsFunc(s.box.entries, func(e *entry) bool { return e.unused })
	listed.Open = listed.Open || partial
	gates, err := checkGates(s.Policy, s.gates, listed)
	if err == nil {
		var exempt []string
		exempt, err = s.checkExempt(listed.Tools, listed.Open)
		gates = append(gates, exempt...)
	}
	if partial || listed.Late { // the tools that they miss may be there
		return nil, err
	}
	return gates, err
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
		p := s.conf.Problem("no_approve_tools", "%s", catalog.Unknown(pattern, "this does nothing", names))
		if !dynamic && !strings.Contains(pattern, "*") {
			return warnings, &config.Error{Problems: []config.Problem{p}}
		}
		warnings = append(warnings, p.String())
	}
	return warnings, nil
}

// asked returns the reason why every call of t needs approval; "": there is none.
func (s *State) asked(t tool.Tool) string {
	for i, g := range s.Policy.Gates() {
		if g.Action != approval.ActionAllow && !g.Conditional() && g.Matches(t.Name()) {
			return "of " + s.GateOrigin(i).String()
		}
	}
	if !declares(t) || !s.Policy.Heeds(t) {
		return ""
	}
	for i, e := range s.conf.Tools.Entries {
		if e.Approve != nil && (e.Name == t.Name() || strings.HasPrefix(t.Name(), e.Name+"_")) {
			return "of approve at " + origin(s.conf, s.conf.ToolPath(i, "approve"), "", "").Place()
		}
	}
	return "the tool itself declares it"
}

// declares reports whether a tool itself asks about every call. A tool that panics asks.
func declares(t tool.Tool) (asks bool) {
	defer func() { asks = recover() != nil || asks }()
	return t.RequiresApproval()
}

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

// Sets returns the toolsets of the configuration: as callers are offered them, and all of them without their limits to
// some callers. Toolsets given in Go are not among them, apart from the defaults.
func (s *State) Sets() (offered, all []tool.Toolset) {
	defaults := s.given[s.programs:]
	return slices.Concat(defaults, s.box.sets(false)), slices.Concat(defaults, s.box.sets(true))
}

// Servers returns the servers that the toolsets hold open.
func (s *State) Servers() []a2aserver.ToolServer { return s.box.servers(nil) }

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
	sets, servers := slices.Clone(s.given), false
	for _, e := range s.box.entries {
		if e.server == nil {
			sets = append(sets, e.made)
		}
		servers = servers || e.server != nil
	}
	_, listed, warnings, err := s.List(sets, false /* late */)
	if err == nil {
		listed.Open = listed.Open || servers
		var unmatched []string
		unmatched, err = s.unmatched(listed)
		warnings = slices.Concat(s.ownProblems(), warnings, unmatched)
	}
	if missing := s.box.programs(c.Operator, true /* servers */); err == nil && len(missing) > 0 {
		err = &config.Error{Problems: missing}
	}
	return warnings, errors.Join(err, s.box.close(nil))
}

// Try makes the tools of a configuration for as long as visit runs, and starts servers of tools
// when it has to. Its error keeps a server from starting, or is that of visit.
func Try(ctx context.Context, c Config, visit func(context.Context, *State) error) (err error) {
	s, err := New(c, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.box.close(nil)) }()
	ctx, cancel := context.WithTimeoutCause(ctx, inspectTime, fmt.Errorf("it has not listed its tools within %v", inspectTime))
	defer cancel()
	return visit(ctx, s)
}

// sorted returns the keys of a map in their order.
func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
