package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/internal/lists"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/suggest"
	"a2a-server/internal/visible"
)

// Tools are the entries of the key tools.
type Tools struct {
	Given   bool   // the file has the key, even if it is empty
	Entries []Tool `yaml:"tools" reload:"yes" noun:"tool" example:"- command: deploy" unset:"the tools to try the server by are there, as with - builtin: demo"`
}

// Tool is an entry of tools. Fields whose keys its kind does not have are zero.
type Tool struct {
	Kind Kind
	Name string // of the tool; the prefix of tools without "_" if there may be several; or which built-in tools

	Description string            `yaml:"description" kinds:"command http search ask" required:"yes" text:"purpose" doc:"Effect of the tool."`
	About       string            `yaml:"description" kinds:"agent" doc:"Purpose of the agent. Default: that of the card."`
	Run         []string          `yaml:"run" kinds:"command" required:"yes" as:"argv" form:"a list of texts" doc:"Program and arguments, without a shell; {name} is an argument of the call, {{ a brace."`
	Command     []string          `yaml:"command" kinds:"mcp" as:"argv" form:"a list of texts" doc:"Program of a server that speaks MCP over stdio. Write this or url."`
	URL         string            `yaml:"url" kinds:"mcp" fill:"a URL" doc:"Server that speaks MCP over streamable HTTP."`
	Request     string            `yaml:"request" kinds:"http" required:"yes" text:"request" doc:"{name} is an argument of the call, as part of a segment of the path or of a value of the query."`
	Spec        string            `yaml:"spec" kinds:"openapi" required:"yes" text:"path" doc:"OpenAPI document, 3.0 or 3.1, without external references."`
	Server      string            `yaml:"server" kinds:"openapi" required:"yes" fill:"a URL such as https://pets.example.com/v1" doc:"Base URL of the requests; the document's servers are not used."`
	Card        string            `yaml:"card" kinds:"agent" required:"yes" form:"a URL" fill:"the URL of the agent's card" doc:"URL of the agent's card. The agent must have the same origin."`
	Bearer      string            `yaml:"auth.bearer.secret" kinds:"agent" form:"the name of a secret" text:"secret name" doc:"Secret that is sent as bearer token."`
	Folder      string            `yaml:"folder" kinds:"search" text:"path" doc:"Folder whose files are searched, with those below it. Write this, folders or memory."`
	Folders     []string          `yaml:"folders" kinds:"search" fill:"a path" doc:"Several folders; paths of results begin with the folder's name."`
	Memory      bool              `yaml:"memory" kinds:"search" doc:"Searches the caller's earlier tasks of the context instead."`
	Extensions  []string          `yaml:"extensions" kinds:"search" default:"md,markdown,txt,html,htm,json" text:"extension" doc:"Extensions of the files that are searched."`
	Refresh     time.Duration     `yaml:"refresh" kinds:"search" default:"10s" min:"1s" doc:"How old the index may be before a search looks for changed files."`
	Hint        string            `yaml:"hint" kinds:"ask" doc:"Question to the approver, with {argument} or {/json/pointer}. Default: it lists the arguments."`
	Args        map[string]any    `yaml:"args" kinds:"command http ask" as:"schemas" form:"JSON Schemas by name" doc:"Arguments of a call, required unless under optional."`
	Optional    []string          `yaml:"optional" kinds:"command http ask" text:"argument" doc:"Arguments that a call may leave out, with whole values that they are."`
	Dir         string            `yaml:"dir" kinds:"command mcp" text:"path" doc:"Working folder. Default: the file's."`
	Env         map[string]Value  `yaml:"env" kinds:"command mcp" as:"environment" form:"texts or {secret: NAME}, by name" doc:"Environment, beside PATH, HOME and LANG."`
	Stdin       string            `yaml:"stdin" kinds:"command" doc:"Standard input, with placeholders."`
	Header      map[string]string `yaml:"header" kinds:"mcp http openapi agent" as:"headers" form:"texts by name" doc:"Headers; {secret:NAME} is a secret, as in \"Bearer {secret:jira}\"."`
	Body        any               `yaml:"body" kinds:"http" as:"body" form:"any value" doc:"JSON that is sent, with placeholders."`
	Form        map[string]string `yaml:"form" kinds:"http" as:"form" form:"texts by name" doc:"Fields of a form, instead of body."`
	Result      string            `yaml:"result" kinds:"http" text:"pointer" doc:"Part of the answer that is the result. Default: all."`
	Networks    []netip.Prefix    `yaml:"networks" kinds:"mcp http openapi agent" doc:"Allowed addresses that are not public."`
	Depth       int               `yaml:"depth" kinds:"agent" default:"3" min:"1" max:"16" doc:"Agents that may pass a message on, this one included."`
	Transfer    bool              `yaml:"transfer" kinds:"agent" doc:"Adds the tool transfer_to_NAME, with which a model hands its task over to the agent."`
	Only        []string          `yaml:"only" kinds:"mcp openapi" required:"yes" form:"a list of names, or [\"*\"] for all" text:"tool" doc:"The tools or operations (operationId) that are offered; [\"*\"] is all, also later additions."`
	Trust       []string          `yaml:"trust" kinds:"mcp" text:"tool" doc:"Tools whose hints (read-only, idempotent) are believed: calls may be repeated after a crash."`
	Pins        map[string]string `yaml:"pins" kinds:"mcp" as:"pins" form:"digests by name" doc:"Reviewed digests, as 'a2a-server tools show' prints them. A changed tool needs approval; a tool without a pin is not offered."`
	Elicit      string            `yaml:"elicit" kinds:"mcp" default:"decline" oneof:"an answer to questions of the server: decline, ask" doc:"With ask, people answer the server's forms."`
	Protocol    string            `yaml:"protocol" kinds:"mcp" default:"newest" oneof:"a version of MCP to speak: newest, 2025-11-25" doc:"Version of MCP. Servers that ask and wait (ctx.elicit) need 2025-11-25."`
	Timeout     time.Duration     `yaml:"timeout" kinds:"command mcp http openapi agent search" default:"0s" doc:"How long a call may take. 0s: limits.tool_timeout."`
	OutputMax   int64             `yaml:"output.max" kinds:"command" default:"1MiB" min:"1KiB" max:"16MiB" doc:"Output that is kept."`
	OutputAs    string            `yaml:"output.as" kinds:"command" default:"lines" oneof:"a form of output: lines, bytes" doc:"Pieces in which output is published."`
	Approve     Approve           `yaml:"approve" kinds:"command mcp http openapi agent search" as:"approve" form:"true or false" doc:"Whether calls need approval; for mcp and openapi all, none or names. Default: all but GET, HEAD and searches. Gates can add to it."`
	For         *For              `yaml:"for" as:"for" form:"{roles: [ops], callers: [\"corp:alice\"]}" doc:"Callers that may use and see the tools. Default: all. Needs auth."`
}

// For limits the callers of tools.
type For struct {
	Roles   []string `json:"roles,omitempty" yaml:"roles" fill:"a name, or remove it"`
	Callers []string `json:"callers,omitempty" yaml:"callers" fill:"a name, or remove it"`
}

// Approve names the tools of an entry that need an approval for every call, "*" for all of them; nil: the default
// of the kind.
type Approve []string

// ToolPath returns the path of a key of entry i of tools, from 0, or, without the key, of the key
// with which the entry begins.
func (c *Config) ToolPath(i int, name string) string {
	path := fmt.Sprintf("tools[%d].", i)
	if _, given := c.origins[path+name]; given {
		return path + name
	}
	return path + string(c.Tools.Entries[i].Kind)
}

// Place returns where the key at path was set: the file and the line, or the name of a flag or a variable.
func (c *Config) Place(path string) (file string, line int) {
	o := c.origins[path]
	return o.name, o.key.Line
}

// setDir sets the folder of a program, if the file has none, to the folder of the file.
func (l *loader) setDir(t *Tool, n strictyaml.Node) {
	if t.Dir == "" {
		t.Dir = filepath.Dir(l.source.File)
		l.locate(n.Path(), &t.Dir)
	}
}

// checkOptional checks that the list optional names only arguments, and the hint none that is misspelled.
func checkOptional(l *loader, t *Tool, n strictyaml.Node) {
	for _, p := range (approval.Gate{Hint: t.Hint}).Places() {
		hint := suggest.DidYouMean(p.Path[0], "", slices.Sorted(maps.Keys(t.Args)))
		_, ok := t.Args[p.Path[0]]
		l.refuse(!ok && hint != "", n.Path()+".hint", "there is no argument %s%s", quote(p.Path[0]), hint)
	}
	for _, name := range t.Optional {
		if _, ok := t.Args[name]; !ok && l.sound(n.Path()+".args") {
			l.at(n.Path()+".optional", "there is no argument %s%s", quote(name), suggest.DidYouMean(name, "", slices.Sorted(maps.Keys(t.Args))))
		}
	}
}

// checkTool checks the keys of an entry that depend on each other. Those that its kind does not have are zero.
func checkTool(l *loader, t *Tool, n strictyaml.Node) {
	in := n.Path() + "."
	checkOptional(l, t, n)
	if t.Kind == KindCommand || len(t.Command) > 0 {
		l.setDir(t, n)
	}
	l.template(n.Below("stdin"), t.Stdin, "put the secret into env")
	for name, text := range map[string]string{"request": t.Request, "server": t.Server, "url": t.URL} {
		l.template(n.Below(name), text, onlyHeaders)
	}
	if t.Bearer != "" {
		l.template(n.Below("auth.bearer.secret"), "{secret:"+t.Bearer+"}", "")
	}
	l.refuse(l.given(in+"body") && l.given(in+"form"), in+"form", "the request has a body, too; remove one of the two")
	if t.For != nil {
		l.needsCallers(in+"for", "no caller could use these tools: without authentication callers cannot be told apart; set auth (docs/security.md), or remove for:")
	}
	if t.Kind == KindMCP {
		checkServer(l, n)
	}
	if t.Kind == KindSearch {
		checkSearch(l, t, n)
	}
	if t.Kind.Prefixes() {
		checkNames(l, t.Only, n, map[string][]string{"approve": t.Approve, "trust": t.Trust, "pins": slices.Sorted(maps.Keys(t.Pins))})
	}
}

// checkServer checks how an MCP server is reached.
func checkServer(l *loader, n strictyaml.Node) {
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
		l.refuseKey(l.given(in+name) && process != remote, in+name, "has no effect, because the server is %s", how)
	}
}

// checkSearch checks what is searched, and makes paths absolute.
func checkSearch(l *loader, t *Tool, n strictyaml.Node) {
	in := n.Path() + "."
	folder, folders := l.given(in+"folder"), l.given(in+"folders")
	switch {
	case !folder && !folders && !t.Memory:
		n.Add("names nothing to search; write folder: ./docs")
	case folder && folders, t.Memory && (folder || folders):
		n.Add("has more than one of folder, folders and memory; keep one of them, and make the others entries of their own")
	case folder && t.Folder == "" && l.sound(in+"folder"):
		l.at(in+"folder", "is empty; write ./docs")
	case folders && len(t.Folders) == 0 && l.sound(in+"folders"):
		l.at(in+"folders", "is empty; write [./docs, ./manuals]")
	}
	if t.Memory {
		for _, name := range []string{"extensions", "refresh"} {
			l.refuseKey(l.given(in+name), in+name, "has no effect, because no files are searched; remove it")
		}
	}
	names := map[string]string{}
	for i := range t.Folders {
		path := &t.Folders[i]
		l.locate(in+"folders", path)
		name := filepath.Base(*path)
		if first, twice := names[name]; twice {
			l.at(in+"folders", "%s and %s have the same name, so that the paths of results would not tell them apart; rename one, or make it an entry of its own", visible.Quote(first, maxPath), visible.Quote(*path, maxPath))
		}
		names[name] = *path
	}
}

const noName = `"*" is not the name of a tool; write the names`

// checkNames checks that lists of tools, by key, name only tools that are offered.
func checkNames(l *loader, offered []string, n strictyaml.Node, lists map[string][]string) {
	only := n.Path() + ".only"
	if !l.sound(only) {
		return
	}
	all := slices.Contains(offered, "*")
	l.refuse(all && len(offered) > 1, only, "\"*\" stands for all tools; remove it, or the names")
	l.refuse(l.given(only) && len(offered) == 0, only, "is empty, so that no tool is offered; list some, or remove the entry")
	for name, list := range lists {
		for _, tool := range list {
			switch path := n.Path() + "." + name; {
			case tool == "*" && name == "approve": // it was read so
			case tool == "*":
				l.atKey(path, noName)
			case !all && !slices.Contains(offered, tool):
				l.atKey(path, "%s is not under only, so it is not offered%s", quote(tool), suggest.DidYouMean(tool, "", offered))
			}
		}
	}
}

// TransferPrefix begins the name of a tool that hands a task over to an agent.
const TransferPrefix = "transfer_to_"

// names returns the names that the tools of t have or, if they are not known yet, how these
// begin, with a * after.
func (t *Tool) names() []string {
	switch {
	case t.Kind == KindBuiltin && t.Name == "demo":
		return []string{"echo", "stream", "transfer_money"}
	case t.Transfer:
		return []string{t.Name, TransferPrefix + t.Name}
	case !t.Kind.Prefixes():
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
		_, line := l.config.Place(l.config.ToolPath(i, ""))
		return fmt.Sprintf("%s %s on line %d", entries[i].Kind, quote(entries[i].Name), line)
	}
	for i := range entries {
		for j := range i {
			one, other := &entries[i], &entries[j]
			path, both := l.config.ToolPath(i, ""), common(one.names(), other.names())
			switch {
			case one.Name == "" || other.Name == "":
				continue
			case one.Name == other.Name && one.Kind.Prefixes() == other.Kind.Prefixes():
				l.at(path, "the %s is also called that; rename one", what(j))
			case both != "":
				l.at(path, "the %s may have a tool with the same name, %s; rename one of the two", what(j), both)
			default:
				continue
			}
			break
		}
	}
	for _, name := range l.config.NoApproveTools {
		l.refuse(slices.Contains(l.config.ApproveTools, name), "no_approve_tools", "%s is also under approve_tools; remove it from one of the two", quote(name))
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
