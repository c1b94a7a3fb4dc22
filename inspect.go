package a2aserver

import (
	"context"

	"a2a-server/approval"
	"a2a-server/internal/app/config"
	"a2a-server/tool"
)

// An Inspection describes the tools that a server with a configuration has, without a
// server: no store and no port is opened. Its servers of tools run until Close.
type Inspection struct {
	Tools    []InspectedTool // of everybody, in the order of their toolsets
	Warnings []string        // what may be wrong, such as a server of tools that is down
	state    *state
}

// An InspectedTool is one tool, with where it comes from and what decides about its calls.
type InspectedTool struct {
	Entry  *tool.Entry
	Origin Origin
	Gates  []InspectedGate // the policy's in its order, then the tool's own
}

// An InspectedGate is one thing that decides about calls of a tool.
type InspectedGate struct {
	Action approval.Action
	// Sometimes says that it may depend on the call.
	Sometimes bool
	// Origin is the gate's; of the tool's own gate the place of approve, or else that of
	// the entry, whose kind asks by default.
	Origin Origin
}

// Inspect returns the tools of the configuration. The error is that of New, as far as tools
// and gates cause it.
func Inspect(c Config) (*Inspection, error) {
	conf, err := c.load()
	if err != nil {
		return nil, err
	}
	s, err := c.newState(conf, nil, nil)
	if err != nil {
		return nil, err
	}
	i := &Inspection{state: s}
	_, i.Warnings, err = s.check(true /* connect */)
	if err != nil {
		_ = i.Close() // what is wrong with the configuration matters more
		return nil, err
	}
	all := tool.NewRegistry(append(s.given[:len(s.given):len(s.given)], s.box.sets(true)...)...)
	tools, _ := anonymousTools(context.Background(), all, s.agent) // Warnings have what fails
	for _, t := range tools {
		entry, err := all.Lookup(nil, t.Name())
		if err != nil {
			i.Warnings = append(i.Warnings, err.Error())
			continue
		}
		i.Tools = append(i.Tools, InspectedTool{Entry: entry, Origin: s.origin(entry.Toolset), Gates: s.gatesOf(entry)})
	}
	return i, nil
}

// Close ends the servers of tools that Inspect has started.
func (i *Inspection) Close() error { return i.state.box.close(nil) }

// origin returns where a toolset was configured.
func (s *state) origin(toolset string) Origin {
	for _, e := range s.box.entries {
		if e.name() == toolset {
			return e.origin
		}
	}
	return Origin{}
}

// gatesOf returns what decides about calls of a tool.
func (s *state) gatesOf(entry *tool.Entry) []InspectedGate {
	var all []InspectedGate
	name := entry.Tool.Name()
	for i, g := range s.policy.Gates() {
		if !g.Matches(name) {
			continue
		}
		action := g.Action
		if action == "" {
			action = approval.ActionAsk
		}
		all = append(all, InspectedGate{Action: action, Sometimes: g.When != nil, Origin: s.gateOrigin(i)})
	}
	if s.conf.Confirmation == config.OptIn {
		return all
	}
	origin := s.origin(entry.Toolset)
	for i, e := range s.conf.Tools.Entries {
		if e.Approve.Given && string(e.Kind) == origin.Kind && e.Name == origin.Entry {
			place := s.conf.ToolPlace(i, "approve")
			origin = Origin{Kind: "approve", Entry: e.Name, File: place.File, Line: place.Line}
		}
	}
	// The gates of the kinds that the file can name ask always, or never.
	_, sometimes := tool.As[tool.Gater](entry.Tool)
	sometimes = sometimes && origin == Origin{}
	if always := entry.Tool.RequiresApproval(); always || sometimes {
		all = append(all, InspectedGate{Action: approval.ActionAsk, Sometimes: !always, Origin: origin})
	}
	return all
}
