package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"a2a-server/internal/lists"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/suggest"
)

// Kind is a kind of entries of tools. It is also the name of the key that names an entry.
type Kind string

// The kinds of tools.
const (
	KindCommand Kind = "command" // a program
	KindMCP     Kind = "mcp"     // the tools of an MCP server
	KindHTTP    Kind = "http"    // a request
	KindOpenAPI Kind = "openapi" // the requests that a document describes
	KindAgent   Kind = "agent"   // a remote agent
	KindSearch  Kind = "search"  // a search in documents
	KindAsk     Kind = "ask"     // the agent's own function, whose calls are approved here
	KindBuiltin Kind = "builtin"
)

// toolKind describes a kind. A new kind is a row in [toolKinds], the fields of [Tool] that list it in
// their tag kinds, and rules in [checkTool]; cmd/a2a-server/internal/toolset makes its tools.
type toolKind struct {
	name Kind
	tag  reflect.StructTag // of the key that names an entry
}

// toolKinds are all kinds, in the order of the reference.
var toolKinds = []toolKind{
	{KindCommand, `required:"yes" text:"tools" doc:"Name of a tool that runs a program."`},
	{KindMCP, `required:"yes" text:"tools" doc:"Name of an MCP server, with which its tools begin: files_read_file."`},
	{KindHTTP, `required:"yes" text:"tools" doc:"Name of a tool that sends a request."`},
	{KindOpenAPI, `required:"yes" text:"tools" doc:"Name of a document, with which its tools begin: pets_listPets."`},
	{KindAgent, `required:"yes" text:"tools" doc:"Name of a tool that is a remote A2A agent."`},
	{KindSearch, `required:"yes" text:"tools" doc:"Name of a tool that searches documents by their words."`},
	{KindAsk, `required:"yes" text:"tools" doc:"Name of a function that the calling agent runs itself, once its call is approved here."`},
	{KindBuiltin, `required:"yes" oneof:"a set of built-in tools: demo, ask_user, request_approval, finish, escalate" doc:"demo has echo, stream and transfer_money; ask_user and request_approval let a planner ask a person; with finish and escalate a model ends its task."`},
}

// Kinds returns all kinds, in the order of the reference.
func Kinds() []Kind {
	return lists.Map(toolKinds, func(k toolKind) Kind { return k.name })
}

// Prefixes reports whether the tools of an entry are called after it, as files_read_file.
func (k Kind) Prefixes() bool { return k == KindMCP || k == KindOpenAPI }

// kindOf returns the kind of an entry of tools: the kind whose name is a key of the entry; "": it has no kind.
// command gives way to mcp, which has a key command.
func kindOf(n strictyaml.Node) Kind {
	names, known := n.Names(), lists.Map(toolKinds, func(k toolKind) string { return string(k.name) })
	found := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return !slices.Contains(names, name) })
	if slices.Contains(found, string(KindMCP)) {
		found = slices.DeleteFunc(found, func(name string) bool { return name == string(KindCommand) })
	}
	hint := ""
	for _, name := range names {
		hint = cmp.Or(hint, suggest.DidYouMean(name, "", known))
	}
	switch {
	case !n.IsMapping():
		n.Expected("a tool", "; write its keys, as in - command: deploy")
	case len(found) == 1:
		return Kind(found[0])
	case len(found) > 1:
		n.Add("is both %s and %s; an entry has one kind, so make it two entries", found[0], found[1])
	case hint != "":
		n.Add("has no kind%s", hint)
	default:
		n.Add("has no kind; begin it with %s, as in - command: deploy", strings.Join(known[:len(known)-1], ", ")+" or "+known[len(known)-1])
	}
	return ""
}

// elsewhere returns the keys that only other kinds have, so that problems name these kinds.
func (t *Tool) elsewhere() (all []key) {
	own := keysOf(t)
	for _, k := range fieldsOf(t, "", reflect.ValueOf(t).Elem()) {
		if _, has := find(slices.Concat(own, all), k.name); !has && !slices.Contains(Kinds(), Kind(k.name)) {
			kind, _, _ := strings.Cut(k.tag.Get("kinds"), " ")
			k.elsewhere = fmt.Sprintf("%s tools, not of %s tools", kind, t.Kind)
			all = append(all, k)
		}
	}
	return all
}
