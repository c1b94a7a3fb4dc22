package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"a2a-server/internal/lists"
	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/suggest"
)

// Kind is a kind of entries of tools. It is also the name of the key that names an entry.
type Kind string

// toolKind describes a kind. A new kind is a file kind_NAME.go and a line in [toolKinds];
// internal/toolset makes its tools.
type toolKind struct {
	name Kind
	// keys returns the keys of an entry, bound to t. The first key names the entry. The key for,
	// which every kind has, is added.
	keys func(t *Tool) []key
	// check adds the problems of keys that depend on each other. It may set defaults that depend
	// on other keys. nil: no check is needed.
	check func(l *loader, t *Tool, n strictyaml.Node)
	// prefixes says that the tools of an entry are called after it, as files_read_file.
	prefixes bool
	// names returns the names of the tools of an entry that has names of its own for them; nil:
	// they follow from the name of the entry.
	names func(t *Tool) []string
}

// toolKinds returns all kinds, in the order of the reference.
func toolKinds() []toolKind {
	return []toolKind{
		commandKind(),
		mcpKind(),
		httpKind(),
		openapiKind(),
		agentKind(),
		searchKind(),
		askKind(),
		builtinKind(),
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
	_, has := find((&Tool{Kind: k}).keys(), name)
	return has
}

// keys returns the keys of an entry of tools of the kind of t, bound to t.
func (t *Tool) keys() []key {
	kind, ok := t.Kind.described()
	if !ok {
		return nil
	}
	return append(kind.keys(t), t.forKey())
}

// elsewhere returns the keys that only other kinds have, so that problems name these kinds.
func (t *Tool) elsewhere() []key {
	own, kinds, all := t.keys(), Kinds(), []key{}
	for _, kind := range kinds {
		for _, k := range (&Tool{Kind: kind}).keys() {
			if _, has := find(slices.Concat(own, all), k.name); !has && !slices.Contains(kinds, Kind(k.name)) {
				all = append(all, key{name: k.name, elsewhere: fmt.Sprintf("%s tools, not of %s tools", kind, t.Kind)})
			}
		}
	}
	return all
}

// The keys of several kinds follow.

// nameKey returns the key that names an entry.
func (t *Tool) nameKey(kind Kind, meaning string) key {
	return required(one(string(kind), "", setting.Text(&t.Name, "a name", aToolName), meaning))
}

func (t *Tool) descriptionKey() key {
	return required(one("description", "", setting.Text(&t.Description, "a text", setting.NotEmpty("what the tool does")), "Effect of the tool."))
}

func (t *Tool) argsKey() key {
	return shaped("args", "JSON Schemas by name", &t.Args, schemas, "Arguments of a call, required unless under optional.")
}

func (t *Tool) optionalKey() key {
	return many("optional", "", &t.Optional, argumentName, "Arguments that a call may leave out, with whole values that they are.")
}

func (t *Tool) dirKey() key { return file("dir", &t.Dir, "Working folder. Default: the file's.") }

func (t *Tool) envKey() key {
	return shaped("env", "texts or {secret: NAME}, by name", &t.Env, environmentOf, "Environment, beside PATH, HOME and LANG.")
}

func (t *Tool) headerKey() key {
	return shaped("header", "texts by name", &t.Header, headersOf, "Headers; {secret:NAME} is a secret, as in \"Bearer {secret:jira}\".")
}

func (t *Tool) networksKey() key {
	return many("networks", "", &t.Networks, setting.Network, "Allowed addresses that are not public.")
}

func (t *Tool) onlyKey() key {
	k := required(many("only", "", &t.Only, toolName, "The tools or operations (operationId) that are offered; [\"*\"] is all, also later additions."))
	k.form = "a list of names, or [\"*\"] for all"
	return k
}

func (t *Tool) timeoutKey() key {
	return one("timeout", "0s", setting.Duration(&t.Timeout, 0), "How long a call may take. 0s: limits.tool_timeout.")
}

// approveMeaning has PREFIXING for the kinds with prefixes.
const approveMeaning = "Whether calls need approval; for PREFIXING all, none or names. Default: all but GET, HEAD and searches. Gates can add to it."

// approveKey returns the key approve of an entry with a single tool.
func (t *Tool) approveKey() key {
	return shaped("approve", "true or false", &t.Approve, approveOf(false /* several */), approveMeaning)
}

// approveToolsKey returns the key approve of an entry with several tools.
func (t *Tool) approveToolsKey() key {
	k := shaped("approve", "all, none or a list of names", &t.Approve, approveOf(true /* several */), approveMeaning)
	asJSON := k.texts
	k.texts = func() []string {
		words := map[string]string{"true": "all", "false": "none"}
		text := asJSON()[0]
		return []string{cmp.Or(words[text], text)}
	}
	return k
}

func (t *Tool) forKey() key {
	return shaped("for", "{roles: [ops], callers: [\"corp:alice\"]}", &t.For, audienceOf, "Callers that may use and see the tools. Default: all. Needs auth.")
}
