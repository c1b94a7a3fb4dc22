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
	var found []Kind
	for _, k := range Kinds() {
		if slices.Contains(names, string(k)) {
			found = append(found, k)
		}
	}
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
	for _, name := range t.Optional {
		if _, ok := t.Args[name]; !ok && !l.refused[n.Below("args").Path()] {
			l.at(n.Below("optional").Path(), "there is no argument %s%s", quote(name), suggest.DidYouMean(name, "", slices.Sorted(maps.Keys(t.Args))))
		}
	}
	l.template(n.Below("stdin"), t.Stdin, "put the secret into env")
	l.template(n.Below("request"), t.Request, onlyHeaders)
	l.template(n.Below("server"), t.URL, onlyHeaders)
	if t.Body != nil && t.Form != nil {
		l.at(n.Below("form").Path(), "the request has a body, too; remove one of the two")
	}
	if t.Kind == KindMCP {
		l.checkServer(t, n)
	}
	if t.Kind.prefixes() {
		l.checkNames(t, n)
	}
}

// checkServer checks how an MCP server is reached.
func (l *loader) checkServer(t *Tool, n strictyaml.Node) {
	_, process := l.given(n, "command")
	at, remote := l.given(n, "url")
	switch {
	case process && remote:
		l.report.Add(at.key, n.Below("url").Path(), "the server has a command, too; remove one of the two")
	case !process && !remote:
		n.Add("names neither command nor url; write command: [program, argument], or url: https://…")
	}
	useless, how := []string{"header", "networks"}, "a command; write url: if it is reached over the network"
	if remote {
		useless, how = []string{"dir", "env"}, "a URL; write command: if it is a program on this machine"
	}
	for _, name := range useless {
		if at, given := l.given(n, name); given && process != remote {
			l.report.Add(at.key, n.Below(name).Path(), "has no effect, because the server is %s", how)
		}
	}
}

// checkNames checks that the lists of tools name only offered tools.
func (l *loader) checkNames(t *Tool, n strictyaml.Node) {
	if l.refused[n.Below("only").Path()] {
		return
	}
	all := slices.Contains(t.Only, "*")
	if all && len(t.Only) > 1 {
		l.at(n.Below("only").Path(), "\"*\" stands for all tools; remove it, or the names")
	}
	if _, given := l.given(n, "only"); given && len(t.Only) == 0 {
		l.at(n.Below("only").Path(), "is empty, so that no tool is offered; list some, or remove the entry")
	}
	for name, list := range map[string][]string{
		"approve": t.Approve.Names, "trust": t.Trust, "pins": slices.Sorted(maps.Keys(t.Pins)),
	} {
		for _, tool := range list {
			switch at, _ := l.given(n, name); {
			case tool == "*":
				l.report.Add(at.key, n.Below(name).Path(), "\"*\" is not the name of a tool; write the names")
			case !all && !slices.Contains(t.Only, tool):
				l.report.Add(at.key, n.Below(name).Path(), "%s is not under only, so it is not offered%s", quote(tool), suggest.DidYouMean(tool, "", t.Only))
			}
		}
	}
}

// names returns the names that the tools of t have, and the prefix that they begin with if
// their names are not known yet.
func (t *Tool) names() (names []string, prefix string) {
	switch {
	case t.Kind == KindBuiltin && t.Name == "demo":
		return []string{"echo", "stream", "transfer_money"}, ""
	case !t.Kind.prefixes():
		return []string{t.Name}, ""
	case slices.Contains(t.Only, "*"):
		return nil, t.Name + "_"
	}
	for _, name := range t.Only {
		names = append(names, t.Name+"_"+name)
	}
	return names, ""
}

// checkTools refuses entries whose tools have, or may later have, the same name: a server
// could otherwise take the name of another tool, or end both.
func (l *loader) checkTools() {
	entries := l.config.Tools.Entries
	_, l.config.Tools.Given = l.config.origins["tools"]
	what := func(i int) string {
		return fmt.Sprintf("%s %s on line %d", entries[i].Kind, quote(entries[i].Name), l.config.ToolPlace(i, "").Line)
	}
	for i := range entries {
		names, prefix := entries[i].names()
		for j := range i {
			others, otherPrefix := entries[j].names()
			at := l.config.ToolProblem(i, "")
			switch {
			case entries[i].Name == "" || entries[j].Name == "":
				continue
			case entries[i].Name == entries[j].Name && entries[i].Kind.prefixes() == entries[j].Kind.prefixes():
				at.Problem = fmt.Sprintf("the %s is also called that; rename one", what(j))
			case common(names, prefix, others, otherPrefix) != "":
				at.Problem = fmt.Sprintf("the %s may have a tool with the same name, %s; rename one of the two", what(j), common(names, prefix, others, otherPrefix))
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

// common returns a name that is in both sets, or that both may get.
func common(names []string, prefix string, others []string, otherPrefix string) string {
	for _, name := range names {
		if slices.Contains(others, name) || otherPrefix != "" && strings.HasPrefix(name, otherPrefix) {
			return quote(name)
		}
	}
	for _, name := range others {
		if prefix != "" && strings.HasPrefix(name, prefix) {
			return quote(name)
		}
	}
	if prefix != "" && otherPrefix != "" && (strings.HasPrefix(prefix, otherPrefix) || strings.HasPrefix(otherPrefix, prefix)) {
		return "beginning with " + quote(max(prefix, otherPrefix))
	}
	return ""
}
