package app

import (
	"a2a-server/approval"
	"a2a-server/internal/app/config"
	"a2a-server/internal/toolset"
)

// inventoryJSON is the output of 'tools list -o json'.
type inventoryJSON struct {
	Tools    []toolJSON            `json:"tools"`
	Problems []toolset.ToolProblem `json:"problems"`
}

// toolJSON is a tool in the output of the tools commands with -o json.
type toolJSON struct {
	*toolset.ToolInfo
	Changed   bool               `json:"changed,omitempty"`
	Decision  approval.Action    `json:"decision"`
	Sometimes bool               `json:"sometimes,omitempty"`
	Gates     []toolset.GateInfo `json:"gates"`
	Effects   []string           `json:"effects,omitempty"`
	Timeout   string             `json:"timeout"`
	For       *config.For        `json:"for,omitempty"`
}

func newInventoryJSON(all *toolset.Inventory) inventoryJSON {
	out := inventoryJSON{Tools: []toolJSON{}, Problems: append([]toolset.ToolProblem{}, all.Problems...)}
	for i := range all.Tools {
		out.Tools = append(out.Tools, newToolJSON(&all.Tools[i]))
	}
	return out
}

func newToolJSON(t *toolset.ToolInfo) toolJSON {
	out := toolJSON{
		ToolInfo: t, Changed: t.Changed(), Gates: append([]toolset.GateInfo{}, t.Gates...),
		Effects: t.Annotations.Words(), Timeout: t.Timeout.String(), For: (*config.For)(t.Audience),
	}
	out.Decision, out.Sometimes = t.Decision()
	return out
}
