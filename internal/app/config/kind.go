package config

import (
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

// toolKind describes a kind. A new kind is a row in [toolKinds], and the fields of [Tool] that list it in
// their tag kinds; internal/toolset makes its tools.
type toolKind struct {
	name Kind
	tag  reflect.StructTag // of the key that names an entry
	// check adds the problems of keys that depend on each other. It may set defaults that depend
	// on other keys. nil: no check is needed.
	check func(l *loader, t *Tool, n strictyaml.Node)
	// prefixes says that the tools of an entry are called after it, as files_read_file.
	prefixes bool
}

// toolKinds returns all kinds, in the order of the reference.
func toolKinds() []toolKind {
	return []toolKind{
		{KindCommand, `required:"yes" form:"a name" check:"tool" doc:"Name of a tool that runs a program."`, checkCommand, false},
		{KindMCP, `required:"yes" form:"a name" check:"tool" doc:"Name of an MCP server, with which its tools begin: files_read_file."`, checkMCP, true},
		{KindHTTP, `required:"yes" form:"a name" check:"tool" doc:"Name of a tool that sends a request."`, checkHTTP, false},
		{KindOpenAPI, `required:"yes" form:"a name" check:"tool" doc:"Name of a document, with which its tools begin: pets_listPets."`, checkOpenAPI, true},
		{KindAgent, `required:"yes" form:"a name" check:"tool" doc:"Name of a tool that is a remote A2A agent."`, checkAgent, false},
		{KindSearch, `required:"yes" form:"a name" check:"tool" doc:"Name of a tool that searches documents by their words."`, checkSearch, false},
		{KindAsk, `required:"yes" form:"a name" check:"tool" doc:"Name of a function that the calling agent runs itself, once its call is approved here."`, checkOptional, false},
		{KindBuiltin, `required:"yes" oneof:"a set of built-in tools: demo, ask_user, request_approval, finish, escalate" doc:"demo has echo, stream and transfer_money; ask_user and request_approval let a planner ask a person; with finish and escalate a model ends its task."`, nil, false},
	}
}

// Kinds returns all kinds, in the order of the reference.
func Kinds() []Kind {
	return lists.Map(toolKinds(), func(k toolKind) Kind { return k.name })
}

// described returns the description of k; ok is false if there is no such kind.
func (k Kind) described() (_ toolKind, ok bool) {
	all := toolKinds()
	i := slices.IndexFunc(all, func(t toolKind) bool { return t.name == k })
	if i < 0 {
		return toolKind{}, false
	}
	return all[i], true
}

// Prefixes reports whether the tools of an entry are called after it, as files_read_file.
func (k Kind) Prefixes() bool {
	described, _ := k.described()
	return described.prefixes
}

// kindOf returns the kind of an entry of tools: the kind whose name is a key of the entry.
// command gives way to mcp, which has a key command.
func kindOf(n strictyaml.Node) (Kind, bool) {
	if !n.IsMapping() {
		n.Expected("a tool", "; write its keys, as in - command: deploy")
		return "", false
	}
	names := n.Names()
	var known []string
	var named, found []Kind
	for _, k := range Kinds() {
		known = append(known, string(k))
		if slices.Contains(names, string(k)) {
			named = append(named, k)
		}
	}
	for _, k := range named {
		if !slices.ContainsFunc(named, func(other Kind) bool { return other != k && other.has(string(k)) }) {
			found = append(found, k)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], true
	case len(found) > 1:
		n.Add("is both %s and %s; an entry has one kind, so make it two entries", found[0], found[1])
		return "", false
	}
	for _, name := range names {
		if hint := suggest.DidYouMean(name, "", known); hint != "" {
			n.Add("has no kind%s", hint)
			return "", false
		}
	}
	n.Add("has no kind; begin it with %s, as in - command: deploy", strings.Join(known[:len(known)-1], ", ")+" or "+known[len(known)-1])
	return "", false
}

// has reports whether entries of the kind have a key of this name.
func (k Kind) has(name string) bool {
	_, has := find(keysOf(&Tool{Kind: k}), name)
	return has
}

// elsewhere returns the keys that only other kinds have, so that problems name these kinds.
func (t *Tool) elsewhere() (all []key) {
	own := keysOf(t)
	for _, k := range fieldsOf(t, "", reflect.ValueOf(t).Elem()) {
		if _, has := find(slices.Concat(own, all), k.name); !has && !slices.Contains(Kinds(), Kind(k.name)) {
			kind, _, _ := strings.Cut(k.tag.Get("kinds"), " ")
			all = append(all, key{name: k.name, elsewhere: fmt.Sprintf("%s tools, not of %s tools", kind, t.Kind)})
		}
	}
	return all
}
