package config

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"a2a-server/internal/strictyaml"
	"a2a-server/internal/visible"
)

// Kind is a kind of entries of tools. It is also the name of the key that names an entry.
type Kind string

// The kinds.
const (
	KindCommand Kind = "command"
	KindMCP     Kind = "mcp"
	KindHTTP    Kind = "http"
	KindOpenAPI Kind = "openapi"
	KindBuiltin Kind = "builtin"
)

// Kinds returns all kinds, in the order of the reference.
func Kinds() []Kind { return []Kind{KindCommand, KindMCP, KindHTTP, KindOpenAPI, KindBuiltin} }

// Prefixes reports whether the tools of an entry are called after it, as files_read_file.
func (k Kind) Prefixes() bool { return k == KindMCP || k == KindOpenAPI }

// Tools are the entries of the key tools.
type Tools struct {
	Given   bool // the file has the key, even if it is empty
	Entries []Tool
}

// Tool is an entry of tools. It has the fields of its kind; all other fields are zero.
type Tool struct {
	Kind Kind
	Name string // of the tool; the prefix of tools without "_" if there may be several; or which built-in tools
	For  *For   // nil: every caller

	Approve     Approve
	Description string
	Args        map[string]any // JSON Schemas by argument
	Optional    []string       // arguments that may be missing
	Timeout     time.Duration  // 0: limits.tool_timeout

	Argv   []string // run of a command; command of an MCP server
	Dir    string   // absolute; "": the server's own
	Env    map[string]Value
	Stdin  string // template
	Output struct {
		Max int64  // bytes
		As  string // lines or bytes
	}

	URL      string            // of an MCP server, or the base of the URLs of an openapi entry
	Request  string            // method, a space, and the template of a URL
	Header   map[string]string // templates
	Body     any               // JSON whose strings are templates; nil: none
	Form     map[string]string // templates
	Result   string            // JSON Pointer
	Spec     string            // absolute path
	Networks []netip.Prefix    // that are not public, and may be connected to

	Only   []string
	Trust  []string
	Pins   map[string]string
	Elicit string // decline or ask

	Protocol string // newest or 2025-11-25
}

// For limits the callers of tools.
type For struct {
	Roles   []string `json:"roles,omitempty"`
	Callers []string `json:"callers,omitempty"`
}

// Approve says which tools of an entry need an approval for every call. The zero value is
// the default of the kind.
type Approve struct {
	Given bool
	All   bool
	Names []string // if not All; none: none of them
}

// MarshalJSON writes a as true or false, or as a list of names.
func (a Approve) MarshalJSON() ([]byte, error) {
	switch {
	case !a.Given:
		return json.Marshal(nil)
	case len(a.Names) > 0:
		return json.Marshal(a.Names)
	}
	return json.Marshal(a.All)
}

// Place is where something was configured. The zero Place is nowhere.
type Place struct {
	File string
	Line int // 0: not in the file
}

// String returns the place as file:line.
func (p Place) String() string {
	if p.Line == 0 {
		return visible.Line(p.File)
	}
	return fmt.Sprintf("%s:%d", visible.Line(p.File), p.Line)
}

// ToolPath returns the path of a key of entry i of tools, from 0, or, without the key, of the key
// with which the entry begins.
func (c *Config) ToolPath(i int, name string) string {
	path := fmt.Sprintf("tools[%d].", i)
	if _, given := c.origins[path+name]; given {
		return path + name
	}
	return path + string(c.Tools.Entries[i].Kind)
}

// Place returns where the key at path was set.
func (c *Config) Place(path string) Place {
	o := c.origins[path]
	if o.layer != File {
		return Place{File: o.name}
	}
	return Place{File: o.name, Line: o.key.Line}
}

// toolsKey returns the key tools.
func (c *Config) toolsKey() key {
	return key{
		name: "tools", noun: "tool", example: "- command: deploy",
		unset: "the tools to try the server by are there, as with - builtin: demo",
		entry: func(l *loader, n strictyaml.Node) {
			kind, ok := l.kind(n)
			if !ok {
				c.Tools.Entries = append(c.Tools.Entries, Tool{}) // the other entries keep their places
				return
			}
			t := Tool{Kind: kind}
			keys := t.keys()
			setDefaults(keys)
			if l.mapping(n, append(keys, t.elsewhere()...), "", "a tool", "") {
				l.checkTool(&t, n)
			}
			c.Tools.Entries = append(c.Tools.Entries, t)
		},
		entries: func() (all, blank [][]key) {
			for i := range c.Tools.Entries {
				t := &c.Tools.Entries[i]
				none := &Tool{Kind: t.Kind}
				of := none.keys()
				setDefaults(of)
				all, blank = append(all, t.keys()), append(blank, of)
			}
			return all, blank
		},
	}
}
