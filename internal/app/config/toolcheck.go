package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"a2a-server/internal/strictyaml"
	"a2a-server/internal/suggest"
)

// later are the kinds of entries that will exist.
func later() []string { return []string{"agent", "search"} }

// kind returns the kind of an entry of tools, named by a key that no other kind has.
func (l *loader) kind(n strictyaml.Node) (Kind, bool) {
	if !n.IsMapping() {
		n.Expected("a tool", "; write its keys, as in - command: deploy")
		return "", false
	}
	names := n.Names()
	found := slices.DeleteFunc(Kinds(), func(k Kind) bool { return !slices.Contains(names, string(k)) })
	if slices.Contains(found, KindMCP) { // it has a key of that name
		found = slices.DeleteFunc(found, func(k Kind) bool { return k == KindCommand })
	}
	var known []string
	for _, k := range Kinds() {
		known = append(known, string(k))
	}
	switch {
	case len(found) == 1:
		return found[0], true
	case len(found) > 1:
		n.Add("is both %s and %s; an entry has one kind, so make it two entries", found[0], found[1])
		return "", false
	}
	for _, name := range names {
		if slices.Contains(later(), name) {
			n.Add("tools of the kind %s come later; remove the entry", name)
			return "", false
		}
		if hint := suggest.DidYouMean(name, "", known); hint != "" {
			n.Add("has no kind%s", hint)
			return "", false
		}
	}
	n.Add("has no kind; begin it with %s, as in - command: deploy", strings.Join(known[:len(known)-1], ", ")+" or "+known[len(known)-1])
	return "", false
}

// checkTool checks the keys of an entry that depend on each other.
func (l *loader) checkTool(t *Tool, n strictyaml.Node) {
	if (t.Kind == KindCommand || t.Kind == KindMCP && len(t.Argv) > 0) && t.Dir == "" {
		t.Dir = filepath.Dir(l.source.File)
		l.locate(n.Path(), &t.Dir)
	}
	in := n.Path() + "."
	for _, name := range t.Optional {
		if _, ok := t.Args[name]; !ok && l.sound(in+"args") {
			l.at(in+"optional", "there is no argument %s%s", quote(name), suggest.DidYouMean(name, "", slices.Sorted(maps.Keys(t.Args))))
		}
	}
	l.template(n.Below("stdin"), t.Stdin, "put the secret into env")
	l.template(n.Below("request"), t.Request, onlyHeaders)
	l.template(n.Below("server"), t.URL, onlyHeaders)
	if l.given(in+"body") && l.given(in+"form") {
		l.at(in+"form", "the request has a body, too; remove one of the two")
	}
	if t.Kind == KindMCP {
		l.checkServer(t, n)
	}
	if t.Kind.Prefixes() {
		l.checkNames(t, n)
	}
}

// checkServer checks how an MCP server is reached.
func (l *loader) checkServer(t *Tool, n strictyaml.Node) {
	in := n.Path() + "."
	process, remote := l.given(in+"command"), l.given(in+"url")
	switch {
	case process && remote:
		l.atKey(in+"url", "the server has a command, too; remove one of the two")
	case !process && !remote:
		n.Add("names neither command nor url; write command: [program, argument], or url: https://…")
	}
	useless, how := []string{"header", "networks"}, "a command; write url: if it is reached over the network"
	if remote {
		useless, how = []string{"dir", "env"}, "a URL; write command: if it is a program on this machine"
	}
	for _, name := range useless {
		if l.given(in+name) && process != remote {
			l.atKey(in+name, "has no effect, because the server is %s", how)
		}
	}
}

// checkNames checks that the lists of tools name only offered tools.
func (l *loader) checkNames(t *Tool, n strictyaml.Node) {
	only := n.Path() + ".only"
	if l.refused[only] {
		return
	}
	all := slices.Contains(t.Only, "*")
	if all && len(t.Only) > 1 {
		l.at(only, "\"*\" stands for all tools; remove it, or the names")
	}
	if l.given(only) && len(t.Only) == 0 {
		l.at(only, "is empty, so that no tool is offered; list some, or remove the entry")
	}
	for name, list := range map[string][]string{
		"approve": t.Approve.Names, "trust": t.Trust, "pins": slices.Sorted(maps.Keys(t.Pins)),
	} {
		for _, tool := range list {
			switch path := n.Path() + "." + name; {
			case tool == "*":
				l.atKey(path, "\"*\" is not the name of a tool; write the names")
			case !all && !slices.Contains(t.Only, tool):
				l.atKey(path, "%s is not under only, so it is not offered%s", quote(tool), suggest.DidYouMean(tool, "", t.Only))
			}
		}
	}
}

// names returns the names that the tools of t have or, if they are not known yet, how these
// begin, with a * after.
func (t *Tool) names() []string {
	switch {
	case t.Kind == KindBuiltin && t.Name == "demo":
		return []string{"echo", "stream", "transfer_money"}
	case !t.Kind.Prefixes():
		return []string{t.Name}
	case slices.Contains(t.Only, "*"):
		return []string{t.Name + "_*"}
	}
	var names []string
	for _, name := range t.Only {
		names = append(names, t.Name+"_"+name)
	}
	return names
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
