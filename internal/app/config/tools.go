package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"a2a-server/internal/lists"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/suggest"
	"a2a-server/internal/visible"
)

// Tools are the entries of the key tools.
type Tools struct {
	Given   bool // the file has the key, even if it is empty
	Entries []Tool
}

// Tool is an entry of tools. Fields whose keys its kind does not have are zero.
type Tool struct {
	Kind Kind
	Name string // of the tool; the prefix of tools without "_" if there may be several; or which built-in tools
	For  *For   // nil: every caller

	Approve     Approve
	Description string
	Args        map[string]any // JSON Schemas by argument
	Optional    []string       // arguments that may be missing
	Timeout     time.Duration  // 0: limits.tool_timeout

	Argv []string // run of a command; command of an MCP server
	Dir  string   // absolute; "": the server's own
	Env  map[string]Value

	URL      string            // of an MCP server, or the base of the URLs of an openapi entry
	Header   map[string]string // templates
	Networks []netip.Prefix    // that are not public, and may be connected to

	Only []string
	Pins map[string]string // digests by tool

	// Own has the values of keys that only this kind has, such as *HTTPTool: see [Own]. nil: there are
	// none.
	Own any
}

// Own returns the values of the keys that only the kind of t has, as an [HTTPTool] of http. It
// panics if T is the type of another kind.
func Own[T any](t *Tool) *T {
	if t.Own == nil {
		t.Own = new(T)
	}
	own, is := t.Own.(*T)
	if !is {
		panic(fmt.Sprintf("an entry of the kind %s has %T, not %T", t.Kind, t.Own, own))
	}
	return own
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

// Tools returns the names of the tools, "*" for all of them; nil: the default of the kind.
func (a Approve) Tools() []string {
	switch {
	case !a.Given:
		return nil
	case a.All:
		return []string{"*"}
	}
	return append([]string{}, a.Names...)
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
			kind, ok := kindOf(n)
			if !ok {
				c.Tools.Entries = append(c.Tools.Entries, Tool{}) // the other entries keep their places
				return
			}
			t := Tool{Kind: kind}
			keys := t.keys()
			setDefaults(keys)
			if l.mapping(n, append(keys, t.elsewhere()...), "", "a tool", "") {
				if described, _ := kind.described(); described.check != nil {
					described.check(l, &t, n)
				}
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

// setDir sets the folder of a program, if the file has none, to the folder of the file.
func (l *loader) setDir(t *Tool, n strictyaml.Node) {
	if t.Dir == "" {
		t.Dir = filepath.Dir(l.source.File)
		l.locate(n.Path(), &t.Dir)
	}
}

// checkOptional checks that the list optional names only arguments.
func checkOptional(l *loader, optional []string, args map[string]any, n strictyaml.Node) {
	in := n.Path() + "."
	for _, name := range optional {
		if _, ok := args[name]; !ok && l.sound(in+"args") {
			l.at(in+"optional", "there is no argument %s%s", quote(name), suggest.DidYouMean(name, "", slices.Sorted(maps.Keys(args))))
		}
	}
}

// checkNames checks that lists of tools, by key, name only tools that are offered.
func checkNames(l *loader, offered []string, n strictyaml.Node, lists map[string][]string) {
	only := n.Path() + ".only"
	if !l.sound(only) {
		return
	}
	all := slices.Contains(offered, "*")
	if all && len(offered) > 1 {
		l.at(only, "\"*\" stands for all tools; remove it, or the names")
	}
	if l.given(only) && len(offered) == 0 {
		l.at(only, "is empty, so that no tool is offered; list some, or remove the entry")
	}
	for name, list := range lists {
		for _, tool := range list {
			switch path := n.Path() + "." + name; {
			case tool == "*":
				l.atKey(path, "\"*\" is not the name of a tool; write the names")
			case !all && !slices.Contains(offered, tool):
				l.atKey(path, "%s is not under only, so it is not offered%s", quote(tool), suggest.DidYouMean(tool, "", offered))
			}
		}
	}
}

// names returns the names that the tools of t have or, if they are not known yet, how these
// begin, with a * after.
func (t *Tool) names() []string {
	switch kind, _ := t.Kind.described(); {
	case kind.names != nil:
		return kind.names(t)
	case !kind.prefixes:
		return []string{t.Name}
	case slices.Contains(t.Only, "*"):
		return []string{t.Name + "_*"}
	}
	return lists.Map(t.Only, func(name string) string { return t.Name + "_" + name })
}

// checkTools refuses entries whose tools have, or may later have, the same name: a server
// could otherwise take the name of another tool, or end both.
func (l *loader) checkTools() {
	entries := l.config.Tools.Entries
	l.config.Tools.Given = l.given("tools")
	what := func(i int) string {
		return fmt.Sprintf("%s %s on line %d", entries[i].Kind, quote(entries[i].Name), l.config.Place(l.config.ToolPath(i, "")).Line)
	}
	for i := range entries {
		for j := range i {
			one, other := &entries[i], &entries[j]
			at, both := l.config.Problem(l.config.ToolPath(i, "")), common(one.names(), other.names())
			switch {
			case one.Name == "" || other.Name == "":
				continue
			case one.Name == other.Name && one.Kind.Prefixes() == other.Kind.Prefixes():
				at.Problem = fmt.Sprintf("the %s is also called that; rename one", what(j))
			case both != "":
				at.Problem = fmt.Sprintf("the %s may have a tool with the same name, %s; rename one of the two", what(j), both)
			default:
				continue
			}
			l.problems = append(l.problems, at)
			break
		}
	}
	for _, name := range l.config.NoApproveTools {
		if slices.Contains(l.config.ApproveTools, name) {
			l.at("no_approve_tools", "%s is also under approve_tools; remove it from one of the two", quote(name))
		}
	}
}

// common returns a name that is in both lists of [Tool.names], or that both may get; "": none.
func common(names, others []string) string {
	for _, a := range names {
		for _, b := range others {
			one, open := strings.CutSuffix(a, "*")
			other, otherOpen := strings.CutSuffix(b, "*")
			switch {
			case open && otherOpen && (strings.HasPrefix(one, other) || strings.HasPrefix(other, one)):
				return "beginning with " + quote(max(one, other))
			case a == b, otherOpen && strings.HasPrefix(a, other):
				return quote(a)
			case open && strings.HasPrefix(b, one):
				return quote(b)
			}
		}
	}
	return ""
}
