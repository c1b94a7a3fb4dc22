package toolset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/catalog"
	"a2a-server/internal/guard"
	"a2a-server/tool"
	"a2a-server/tool/mcptoolset"
)

// inspectTime is how long [Inspect] waits for servers of tools.
const inspectTime = 20 * time.Second

// An Inventory has the tools of a configuration, for the operator of the server. It has no
// secrets.
type Inventory struct {
	Tools []ToolInfo `json:"tools"` // in the order of the configuration; tools given in Go come first
	// Problems are the reasons why tools are not offered, or gates do not ask as the operator
	// may believe. They keep no server from starting.
	Problems []ToolProblem `json:"problems"`
}

// A ToolProblem is a problem with tools that keeps no server from starting, such as an MCP
// server that is down.
type ToolProblem struct {
	Origin  catalog.Origin `json:"origin,omitzero"` // of the entry of tools; the zero Origin: of none, or of several
	Problem string         `json:"problem"`
	// Stderr are the last lines that the program of an MCP server which is down has written
	// to stderr, escaped and shortened.
	Stderr []string `json:"stderr,omitempty"`
}

// String returns the problem with its origin, if it has one.
func (p ToolProblem) String() string {
	if p.Origin == (catalog.Origin{}) {
		return p.Problem
	}
	return p.Origin.String() + ": " + p.Problem
}

// ToolInfo describes a tool.
type ToolInfo struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  map[string]any `json:"parameters,omitempty"` // JSON Schema of the arguments; nil: there is none
	Digest      string         `json:"digest"`               // see [tool.Digest]: 64 hexadecimal digits
	Pin         string         `json:"pin,omitempty"`        // the digest that is pinned; "": none
	Origin      catalog.Origin `json:"origin,omitzero"`

	// Own is the name of the tool in its MCP server; "": it is not a tool of an MCP server.
	Own string `json:"-"`

	Claims  []string `json:"claims,omitempty"`  // of its effects, which are only shown
	Trusted bool     `json:"trusted,omitempty"` // Effects equal the claims

	Streaming   bool `json:"streaming,omitempty"`
	LongRunning bool `json:"longRunning,omitempty"`
	Changed     bool `json:"changed,omitempty"` // the definition differs from the pinned one

	// Decision is the combined effect of all gates on calls of the tool: deny wins over ask.
	Decision  approval.Action `json:"decision"`
	Sometimes bool            `json:"sometimes,omitempty"` // some calls may pass
	Gates     []GateInfo      `json:"gates"`               // in the order in which they are considered

	// Effects are believed: they decide, for example, whether a call may be repeated after a
	// crash.
	Effects []string    `json:"effects,omitempty"`
	Timeout string      `json:"timeout"`       // of each call
	For     *config.For `json:"for,omitempty"` // who may use it; nil: every caller may
}

// Inspect makes the tools of a configuration, starts servers of tools for that if it has to,
// and returns the tools that a server would offer, with their callers and gates. Everything
// that it starts has ended when it returns. A server of tools that is down is a problem in the
// inventory. An error keeps a server from starting.
func Inspect(ctx context.Context, c Config) (all *Inventory, err error) {
	err = Try(ctx, c, func(ctx context.Context, s *State) (err error) {
		all, err = s.inspect(ctx, &c)
		return err
	})
	return all, err
}

func (s *State) inspect(ctx context.Context, c *Config) (*Inventory, error) {
	i := inspection{State: s, ctx: ctx, inventory: &Inventory{Tools: []ToolInfo{}, Problems: []ToolProblem{}}}
	down := i.refresh()
	sets := slices.Concat(s.given, s.box.sets(true))
	all := catalog.ListerOf(s.Agent, auth.Anonymous(), sets...)
	all.Fill(ctx)
	i.listGiven(c, all)
	i.listEntries(all, down)
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return nil, context.Cause(ctx)
	}
	i.checkNames()
	if err := i.checkRest(); err != nil {
		return nil, err
	}
	return i.inventory, nil
}

// inspection is the state of a run of Inspect.
type inspection struct {
	*State
	ctx       context.Context //nolint:containedctx // of this run
	inventory *Inventory
	tools     []tool.Tool // the tools of the inventory, in its order
}

// listGiven adds the tools that were given in Go, with which the lists of all begin.
func (i *inspection) listGiven(c *Config, all *catalog.Lister) {
	for n := range i.given {
		var from catalog.Origin
		if n >= len(c.Tools) {
			from = catalog.Origin{Kind: "default", Entry: i.given[n].Name()}
		}
		tools, err := all.List(n)
		i.add(tools, err, from, nil)
	}
}

// listEntries adds the tools of the configuration. down has why servers cannot list theirs now: they may have listed
// them some other day.
func (i *inspection) listEntries(all *catalog.Lister, down []error) {
	for n, e := range i.box.entries {
		tools, err := all.List(len(i.given) + n)
		i.add(tools, cmp.Or(down[n], err), e.origin, e)
		for _, p := range e.problems {
			i.problem(e.origin, p)
		}
		if e.server != nil {
			status := e.server.Status()
			if down[n] != nil {
				i.inventory.Problems[len(i.inventory.Problems)-1].Stderr = status.LastWords
			}
			for _, p := range status.Problems {
				i.problem(e.origin, p)
			}
		} else if e.startable != nil {
			if err := e.startable(); err != nil {
				i.problem(e.origin, err.Error())
			}
		}
	}
}

// refresh asks all servers for their tools, at once.
func (i *inspection) refresh() (down []error) {
	down = make([]error, len(i.box.entries))
	var waiting sync.WaitGroup
	for n, e := range i.box.entries {
		if e.server != nil {
			waiting.Go(func() { down[n] = e.server.Refresh(i.ctx) })
		}
	}
	waiting.Wait()
	return down
}

// add adds the tools of a toolset. err says which are missing, or may be old. e is its entry; nil: it has none.
func (i *inspection) add(tools []*tool.Registered, err error, from catalog.Origin, e *entry) {
	for _, one := range each(err) {
		i.problem(from, reason(one))
	}
	for _, t := range tools {
		info, err := i.describe(t.Tool, e)
		if err != nil {
			i.problem(from, fmt.Sprintf("tool %s: %v; it is not offered", t.Definition.Name, err))
			continue
		}
		info.Origin = from
		i.inventory.Tools = append(i.inventory.Tools, info)
		i.tools = append(i.tools, t.Tool)
	}
}

// reason returns the text of an error, without the name of the server, which the origin has,
// and without the time of the next attempt, which is after the end of the inspection.
func reason(err error) string {
	if down, ok := errors.AsType[*mcptoolset.DownError](err); ok {
		return down.Cause
	}
	return err.Error()
}

func (i *inspection) problem(from catalog.Origin, text string) {
	i.inventory.Problems = append(i.inventory.Problems, ToolProblem{Origin: from, Problem: text})
}

// describe returns the description of a tool.
func (i *inspection) describe(t tool.Tool, e *entry) (info ToolInfo, err error) {
	defer guard.Recover(&err, "its definition panics")
	d := tool.ToDefinition(t)
	info = ToolInfo{
		Name: d.Name, Description: d.Description, Parameters: d.Parameters, Claims: d.Claims,
		Effects: tool.AnnotationsOf(t).Words(), LongRunning: t.IsLongRunning(), Streaming: tool.Streams(t),
	}
	if info.Digest, err = tool.Digest(d); err != nil {
		return info, err
	}
	timeout := i.conf.Limits.ToolTimeout
	if timed, ok := tool.As[tool.Timed](t); ok && timed.Timeout() > 0 {
		timeout = timed.Timeout()
	}
	info.Timeout = timeout.String()
	if e != nil {
		info.For = e.config.For
		if e.kind.show != nil {
			e.kind.show(&info, &e.config)
		}
	}
	info.Gates = i.gatesOf(t, &info, e)
	info.Decision, info.Sometimes = combined(info.Gates)
	return info, nil
}

// checkNames reports tools of the same name: a server does not start with them.
func (i *inspection) checkNames() {
	first := map[string]catalog.Origin{}
	for n := range i.inventory.Tools {
		t := &i.inventory.Tools[n]
		other, taken := first[t.Name]
		if !taken {
			first[t.Name] = t.Origin
			continue
		}
		i.problem(t.Origin, fmt.Sprintf("tool %s: there is another one of that name, of %s; rename one of them, since a server does not start with both", t.Name, other))
	}
}

// checkRest looks for gates and names that are about no tool. Its error is that of a server
// that does not start.
func (i *inspection) checkRest() error {
	dynamic := tool.NewRegistry(i.given...).Dynamic() ||
		slices.ContainsFunc(i.box.entries, func(e *entry) bool { return e.server != nil })
	unmatched, err := i.unmatched(catalog.Listed{Tools: i.tools, Open: dynamic})
	if err != nil {
		return err
	}
	for _, text := range append(unmatched, i.secrets.check()...) {
		i.problem(catalog.Origin{}, text)
	}
	return nil
}
