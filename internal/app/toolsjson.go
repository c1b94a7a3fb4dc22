package app

import (
	a2aserver "a2a-server"
	"a2a-server/approval"
	"a2a-server/internal/app/config"
)

// inventoryJSON is the output of 'tools list -o json'.
type inventoryJSON struct {
	Tools    []toolJSON              `json:"tools"`
	Problems []a2aserver.ToolProblem `json:"problems"`
}

// toolJSON is a tool in the output of the tools commands with -o json.
type toolJSON struct {
	*a2aserver.ToolInfo
	Changed   bool                 `json:"changed,omitempty"`
	Decision  approval.Action      `json:"decision"`
	Sometimes bool                 `json:"sometimes,omitempty"`
	Gates     []a2aserver.GateInfo `json:"gates"`
	Effects   []string             `json:"effects,omitempty"`
	Timeout   string               `json:"timeout"`
	For       *config.For          `json:"for,omitempty"`
}

func newInventoryJSON(all *a2aserver.Inventory) inventoryJSON {
	out := inventoryJSON{Tools: []toolJSON{}, Problems: append([]a2aserver.ToolProblem{}, all.Problems...)}
	for i := range all.Tools {
		out.Tools = append(out.Tools, newToolJSON(&all.Tools[i]))
	}
	return out
}

func newToolJSON(t *a2aserver.ToolInfo) toolJSON {
	out := toolJSON{
		ToolInfo: t, Changed: t.Changed(), Gates: append([]a2aserver.GateInfo{}, t.Gates...),
		Effects: t.Annotations.Words(), Timeout: t.Timeout.String(), For: (*config.For)(t.Audience),
	}
	out.Decision, out.Sometimes = t.Decision()
	return out
}
