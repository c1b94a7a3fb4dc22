// Package catalog has the tools and gates that a server offers: it lists them for the agent card, finds gates
// that match no tool, and judges calls that are never made. It does not know where they were configured.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/lists"
	"a2a-server/internal/suggest"
	"a2a-server/internal/visible"
	"a2a-server/task/inbox/web"
	"a2a-server/tool"
)

// Tools are the tools and gates that are in force. They never change: a reload puts others in their place.
type Tools struct {
	Registry *tool.Registry
	Policy   *approval.Policy
	Agent    string // its name
	Examples bool   // skills have examples of messages, as the direct planner reads them

	Complete func(auth.Principal) auth.Principal        // adds the server's defaults to the caller of a trial; nil: nothing
	Origin   func(gate int) Origin                      // of a gate of Policy; nil: all were given in Go
	Text     func(approval.Gate, approval.Terms) string // a gate for people; nil: the words of its terms
}

// An Origin says where a tool or a gate was configured. The zero Origin is nowhere: it was
// given in Go.
type Origin struct {
	Kind  string `json:"kind"`  // of the entry of tools, such as mcp; gate for one of gates
	Entry string `json:"entry"` // its name
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"` // from 1; 0: it was not set in the file
}

// String returns the origin as its kind, name, file and line.
func (o Origin) String() string {
	if o == (Origin{}) {
		return "Go"
	}
	return fmt.Sprintf("%s %s (%s)", o.Kind, o.Entry, o.Place())
}

// Place returns the place as file:line.
func (o Origin) Place() string {
	if o.Line == 0 {
		return visible.Line(o.File)
	}
	return fmt.Sprintf("%s:%d", visible.Line(o.File), o.Line)
}

// GateOrigin returns where gate i of the policy was configured.
func (t *Tools) GateOrigin(i int) Origin {
	if t.Origin != nil {
		return t.Origin(i)
	}
	return Origin{Kind: "gate", Entry: t.Policy.Gates()[i].Named()}
}

// place returns where gate i was written, without folders; "": in Go.
func (t *Tools) place(i int) string {
	o := t.GateOrigin(i)
	if o.File == "" {
		return ""
	}
	o.File = filepath.Base(o.File)
	return o.Place()
}

// Rules returns the gates about a tool, or all for "", as their page shows them.
func (t *Tools) Rules(name string) (all []web.Rule) {
	for i, g := range t.Policy.Gates() {
		if name != "" && !g.Matches(name) {
			continue
		}
		terms := t.Policy.Terms(g)
		text := strings.Join(terms.Words(), "\n")
		if t.Text != nil {
			text = t.Text(g, terms)
		}
		if place := t.place(i); place != "" {
			text = "# " + place + "\n" + text
		}
		all = append(all, web.Rule{Name: t.GateOrigin(i).Entry, Text: text})
	}
	return all
}

// Listed has the tools once they were listed.
type Listed struct {
	Tools []tool.Tool // of all callers
	Open  bool        // toolsets may have more
	Late  bool        // a server of tools has not answered yet, so that its tools are missing
}

// List lists the tools that are offered, and returns them for the card. all are the same toolsets, without their
// limits to some callers. late: servers of tools have not answered, and are not waited for again. The error
// names tools of the same name, or toolsets in Go that fail; the warnings name the toolsets that fail.
func (t *Tools) List(all []tool.Toolset, late bool) (_ *Lister, listed Listed, warnings []string, _ error) {
	every := tool.NewRegistry(all...)
	if _, err := every.Static(); err != nil {
		return nil, listed, nil, fmt.Errorf("list the tools: %w", err)
	}
	lister := NewLister(every, t.Agent, auth.Anonymous())
	lister.Fill(listing(late))
	entries, down := lister.Entries()
	if errors.Is(down, tool.ErrCollision) {
		return nil, listed, nil, fmt.Errorf("list the tools: %w", down)
	}
	if down != nil && !late {
		warnings = append(warnings, fmt.Sprintf("some tools cannot be listed: %v; the server starts without them", down))
	}
	listed = Listed{Tools: lists.Map(entries, func(e *tool.Registered) tool.Tool { return e.Tool }), Open: every.Dynamic(), Late: late}
	offered := NewLister(t.Registry, t.Agent, auth.Anonymous())
	offered.Fill(listing(late))
	return offered, listed, warnings, nil
}

// listing returns the context in which toolsets list their tools. If a server was late, the
// context is over already, so that the server does not wait for it again.
func listing(late bool) context.Context {
	if !late {
		return context.Background()
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrSlow)
	return ctx
}

// StartTime is how long the start waits for servers of tools. Their tools appear when they answer.
const StartTime = 250 * time.Millisecond

// Unmatched is a gate of a policy that matches no tool: if a name is misspelled, calls run that should have been
// approved first.
type Unmatched struct {
	Gate int    // its number in the policy
	Text string // the problem
	Sure bool   // no tool that is not listed yet could match
}

// Unmatched returns the gates that match none of the tools. Patterns may be for future tools.
func (l Listed) Unmatched(p *approval.Policy) (all []Unmatched) {
	names := lists.Map(l.Tools, tool.Tool.Name)
	for i, g := range p.Gates() {
		for _, name := range g.Patterns() {
			if !slices.ContainsFunc(names, approval.Gate{Tool: name}.Matches) {
				all = append(all, Unmatched{i, Unknown(name, "this gate does nothing", names), !l.Open && !strings.Contains(name, "*")})
			}
		}
	}
	return all
}

// Crowded returns an error for each tool with too many conditions.
func (l Listed) Crowded(p *approval.Policy) (errs []error) {
	for _, t := range l.Tools {
		if err := p.Crowded(t.Name()); err != nil {
			errs = append(errs, fmt.Errorf("gates: %w", err))
		}
	}
	return errs
}

// Unknown returns the text of the problem that no tool has a name or matches a pattern,
// with its consequence.
func Unknown(name, means string, known []string) string {
	if strings.Contains(name, "*") {
		return fmt.Sprintf("no tool matches %q, so that %s", name, means)
	}
	return fmt.Sprintf("there is no tool %+q%s", name, suggest.DidYouMean(name, "", known))
}
