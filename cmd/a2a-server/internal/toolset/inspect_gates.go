package toolset

import (
	"slices"
	"strings"

	"a2a-server/approval"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/catalog"
	"a2a-server/tool"
)

// A GateInfo is a gate or setting that decides whether calls of a tool need approval.
type GateInfo struct {
	Action approval.Action `json:"action"`
	// Why is its origin: approve, a gate with its name, approve_tools, no_approve_tools, pins,
	// the default of a kind, or the tool itself.
	Why  string `json:"why"`
	File string `json:"file,omitempty"` // where it was configured: a file, a flag or a variable; "": nowhere
	Line int    `json:"line,omitempty"` // 0: not in the file
	// Sometimes says that it depends on the call.
	Sometimes bool `json:"sometimes,omitempty"`
	// Void says why it has no effect; "": it has.
	Void string `json:"void,omitempty"`
}

// Place returns where the gate was configured, as file:line; "": nowhere.
func (g *GateInfo) Place() string { return catalog.Origin{File: g.File, Line: g.Line}.Place() }

// combined returns the combined effect of gates; see [ToolInfo].
func combined(gates []GateInfo) (a approval.Action, sometimes bool) {
	a = approval.ActionAllow
	for _, g := range gates {
		switch {
		case g.Void != "" || g.Action == approval.ActionAllow:
		case g.Action == approval.ActionDeny && a != approval.ActionDeny, a == approval.ActionAllow:
			a, sometimes = g.Action, g.Sometimes
		case g.Action == a:
			sometimes = sometimes && g.Sometimes
		}
	}
	return a, sometimes
}

// gatesOf returns the gates and settings that decide whether calls of t need approval. e is its entry; nil: it
// has none.
func (i *inspection) gatesOf(t tool.Tool, info *ToolInfo, e *entry) []GateInfo {
	own, changed := i.ownGates(t, info, e), info.Changed
	void := ""
	if !i.Policy.Heeds(t) {
		void = "declared_gates is ignore"
	}
	all := []GateInfo{}
	for k, g := range i.Policy.Gates() {
		if !g.Matches(t.Name()) {
			continue
		}
		o := i.GateOrigin(k)
		info := GateInfo{Action: g.Action, Why: "gate for " + g.Tool, File: o.File, Line: o.Line, Sometimes: g.Conditional()}
		if g.Name != "" {
			info.Why = "gate " + g.Name
		}
		switch name, _, _ := strings.Cut(g.Name, ": "); {
		case name == "approve_tools":
			info.Why = name
		case strings.HasPrefix(name, "tools[") && strings.HasSuffix(name, "].approve"):
			info.Why = "approve"
			own = without(own, "approve") // it is the same
		case strings.HasPrefix(name, "tools[") && strings.HasSuffix(name, "].pins"):
			if !changed {
				continue
			}
			info.Why, info.Sometimes = "pins", false
			own = without(own, "pins")
		}
		if info.Action == approval.ActionAllow && slices.Contains(g.Patterns(), t.Name()) && !info.Sometimes && void == "" {
			void = info.Why + " allows it"
		}
		all = append(all, info)
	}
	for k := range own {
		if own[k].Action != approval.ActionAllow {
			own[k].Void = void
		}
	}
	return append(all, own...)
}

func without(gates []GateInfo, why string) []GateInfo {
	return slices.DeleteFunc(gates, func(g GateInfo) bool { return g.Why == why })
}

// ownGates returns the gates that are not in the policy.
func (i *inspection) ownGates(t tool.Tool, info *ToolInfo, e *entry) (all []GateInfo) {
	add := func(a approval.Action, why, path string) {
		file, line := i.conf.Place(path)
		all = append(all, GateInfo{Action: a, Why: why, File: file, Line: line})
	}
	at := func(key string) string { return i.conf.ToolPath(e.number, key) }
	asks, own := declares(t), e == nil || e.kind.asks == askedByTool
	switch {
	case own:
	case e.config.Approve != nil:
		if approves(&e.config, t.Name()) {
			add(approval.ActionAsk, "approve", at("approve"))
		} else if asks && !info.Changed {
			add(approval.ActionAsk, "approve names a tool that is not listed", at("approve"))
		}
		asks = false
	case config.Exempt(i.conf, t.Name()):
		add(approval.ActionAllow, "no_approve_tools", "no_approve_tools")
	case asks, e.kind.asks == askedAlways:
		add(approval.ActionAsk, "default of "+string(e.config.Kind), at(""))
		asks = false
	}
	if info.Changed {
		add(approval.ActionAsk, "pins", at("pins"))
		return all
	}
	if asks {
		add(approval.ActionAsk, "the tool", "")
	} else if own && slices.ContainsFunc(slices.Collect(tool.Chain(t)), tool.Gates) { // it may ask call by call
		add(approval.ActionAsk, "the tool", "")
		all[len(all)-1].Sometimes = true
	}
	return all
}

// approves reports whether the key approve of an entry is about the tool of this name.
func approves(entry *config.Tool, name string) bool {
	return slices.Contains(entry.Approve, "*") || slices.Contains(entry.Approve, strings.TrimPrefix(name, entry.Name+"_"))
}
