package toolset

import (
	"path/filepath"
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/approval/web"
	"a2a-server/internal/app/config"
)

// approvalOrigin is where an approval comes from: a gate, by its name in approvals, or an
// entry of tools, by the name of its tool or the prefix of its tools' names.
type approvalOrigin struct{ gate, tools string }

// Describe sets the configuration text of every origin, for approvers. A text that before also
// has keeps its time; before may be nil.
func (s *State) Describe(before *State, now time.Time) {
	s.texts = map[approvalOrigin]web.Gate{}
	add := func(key approvalOrigin, text string, place config.Place) {
		if place.File != "" {
			place.File = filepath.Base(place.File)
			text = "# " + place.String() + "\n" + text
		}
		g := web.Gate{Text: s.texts[key].Text + text, Since: now} // two gates may be called the same in approvals
		if before != nil && before.texts[key].Text == g.Text {
			g.Since = before.texts[key].Since
		}
		s.texts[key] = g
	}
	for i, g := range s.policy.Gates() {
		o := s.gateOrigin(i)
		add(approvalOrigin{gate: shownGate(o.Entry)}, config.GateText(g, s.policy.Terms(g)), config.Place{File: o.File, Line: o.Line})
	}
	for i, e := range s.conf.Tools.Entries {
		name := e.Name
		if e.Kind.Prefixes() {
			name += "_"
		}
		add(approvalOrigin{tools: name}, config.ApproveText(s.conf, i), s.conf.Place(s.conf.ToolPath(i, "approve")))
	}
}

// shownGate returns the name of a gate as approvals show it.
func shownGate(name string) string { return strings.TrimPrefix(name, "gate:") }

// GateText returns the text of the origin for a tool, by the name of the gate in an approval;
// ok is false if the configuration has no such gate, or entry of the tool.
func (s *State) GateText(gate, tool string) (g web.Gate, ok bool) {
	if gate == approval.GateTool {
		if g, ok = s.texts[approvalOrigin{tools: tool}]; !ok {
			prefix, _, _ := strings.Cut(tool, "_")
			g, ok = s.texts[approvalOrigin{tools: prefix + "_"}]
		}
		return g, ok
	}
	g, ok = s.texts[approvalOrigin{gate: gate}]
	for i, other := range s.policy.Gates() {
		name := shownGate(s.gateOrigin(i).Entry)
		if name != gate && other.Action == approval.ActionAsk && other.Matches(tool) {
			g.Others = append(g.Others, name)
		}
	}
	return g, ok
}
