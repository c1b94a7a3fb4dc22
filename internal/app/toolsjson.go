package app

import (
	a2aserver "a2a-server"
)

// The types of the output of the tools commands with --output json.
type (
	jsonInventory struct {
		Tools    []jsonTool    `json:"tools"`
		Problems []jsonProblem `json:"problems"`
	}
	jsonTool struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Parameters  map[string]any `json:"parameters,omitempty"`
		Digest      string         `json:"digest"`
		Pin         string         `json:"pin,omitempty"`
		Changed     bool           `json:"changed,omitempty"`
		Origin      *jsonOrigin    `json:"origin,omitempty"`
		Decision    string         `json:"decision"`
		Sometimes   bool           `json:"sometimes,omitempty"`
		Gates       []jsonGate     `json:"gates"`
		Effects     []string       `json:"effects,omitempty"`
		Claims      []string       `json:"claims,omitempty"`
		Trusted     bool           `json:"trusted,omitempty"`
		Streaming   bool           `json:"streaming,omitempty"`
		LongRunning bool           `json:"longRunning,omitempty"`
		Timeout     string         `json:"timeout"`
		For         *jsonAudience  `json:"for,omitempty"`
	}
	jsonOrigin struct {
		Kind  string `json:"kind"`
		Entry string `json:"entry"`
		File  string `json:"file,omitempty"`
		Line  int    `json:"line,omitempty"`
	}
	jsonGate struct {
		Action    string `json:"action"`
		Why       string `json:"why"`
		File      string `json:"file,omitempty"`
		Line      int    `json:"line,omitempty"`
		Sometimes bool   `json:"sometimes,omitempty"`
		Void      string `json:"void,omitempty"`
	}
	jsonAudience struct {
		Roles   []string `json:"roles,omitempty"`
		Callers []string `json:"callers,omitempty"`
	}
	jsonProblem struct {
		Origin  *jsonOrigin `json:"origin,omitempty"`
		Problem string      `json:"problem"`
		Stderr  []string    `json:"stderr,omitempty"`
	}
)

func inventoryJSON(all *a2aserver.Inventory) jsonInventory {
	out := jsonInventory{Tools: []jsonTool{}, Problems: []jsonProblem{}}
	for i := range all.Tools {
		out.Tools = append(out.Tools, toolJSON(&all.Tools[i]))
	}
	for _, p := range all.Problems {
		out.Problems = append(out.Problems, jsonProblem{originJSON(p.Origin), p.Problem, p.Stderr})
	}
	return out
}

func toolJSON(t *a2aserver.ToolInfo) jsonTool {
	action, sometimes := t.Decision()
	out := jsonTool{
		Name: t.Name, Description: t.Description, Parameters: t.Parameters, Digest: t.Digest, Pin: t.Pin, Changed: t.Changed(),
		Origin: originJSON(t.Origin), Decision: string(action), Sometimes: sometimes, Gates: []jsonGate{},
		Effects: t.Annotations.Words(), Claims: t.Claims, Trusted: t.Trusted,
		Streaming: t.Streaming, LongRunning: t.LongRunning, Timeout: t.Timeout.String(),
	}
	for _, g := range t.Gates {
		out.Gates = append(out.Gates, jsonGate{string(g.Action), g.Why, g.File, g.Line, g.Sometimes, g.Void})
	}
	if t.Audience != nil {
		out.For = &jsonAudience{t.Audience.Roles, t.Audience.Callers}
	}
	return out
}

func originJSON(o a2aserver.Origin) *jsonOrigin {
	if o == (a2aserver.Origin{}) {
		return nil
	}
	return &jsonOrigin{o.Kind, o.Entry, o.File, o.Line}
}
