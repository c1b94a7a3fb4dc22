package toolset

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"a2a-server/internal/app/config"
	"a2a-server/internal/child"
	"a2a-server/tool"
)

// An Origin says where a tool or a gate was configured. The zero Origin is nowhere: it was
// given in Go.
type Origin struct {
	Kind  string `json:"kind"`  // of the entry of tools: command, mcp, http, openapi or builtin; gate for one of gates
	Entry string `json:"entry"` // its name
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"` // from 1; 0: it was not set in the file
}

// String returns the origin as its kind, name, file and line.
func (o Origin) String() string {
	if o == (Origin{}) {
		return "Go"
	}
	return fmt.Sprintf("%s %s (%s)", o.Kind, o.Entry, config.Place{File: o.File, Line: o.Line})
}

// workshop has the inputs for making tools.
type workshop struct {
	conf    *config.Config
	env     []string // NAME=value, of the server
	secrets *secrets
	own     func() []netip.AddrPort // where the server listens
	log     zerolog.Logger
	cache   string   // folder for the lists of servers; "": they are not kept
	only    string   // the tool that is called, with a slash; "": any may be
	before  *toolbox // whose entries are used again if they have not changed; may be nil
}

// toolbox has the toolsets of a configuration, in its order. It is immutable.
type toolbox struct {
	entries []*entry
	// secrets that the entries use; entries that are used again read them from here, too
	secrets map[string]config.Secret
}

// entry is an entry of tools.
type entry struct {
	config config.Tool
	origin Origin
	made   tool.Toolset // for all callers
	set    tool.Toolset // for whom the entry is
	server Server       // nil: it holds nothing open
	unused bool         // none of its tools is called, and it is not connected to

	program  startable // that it starts; nil: none
	problems []string  // operations of a document that are not offered, and why
}

// startable is a tool or a toolset that starts a program.
type startable interface {
	// Startable returns an error if the program cannot be started now; nil: no obstacle is
	// known.
	Startable() error
}

// programs returns the reasons why programs of the entries cannot be started, such as a file
// that is not executable. servers: also those of servers.
func (b *toolbox) programs(conf *config.Config, servers bool) (problems []config.Problem) {
	for i, e := range b.entries {
		if e.program == nil || e.server != nil && !servers {
			continue
		}
		err := e.program.Startable()
		if err == nil {
			continue
		}
		key := "run"
		if e.config.Kind == config.KindMCP {
			key = "command"
		}
		if errors.Is(err, child.ErrFolder) {
			key = "dir"
		}
		p := conf.Problem(conf.ToolPath(i, key))
		p.Problem = err.Error()
		problems = append(problems, p)
	}
	return problems
}

// A Server is a toolset that holds something open, such as a process.
type Server interface {
	io.Closer
	// Busy reports whether a call runs.
	Busy() bool
}

// sets returns the toolsets: of all tools, or only of tools that every caller may use.
func (b *toolbox) sets(all bool) []tool.Toolset {
	var sets []tool.Toolset
	for _, e := range b.entries {
		if e.unused {
			continue
		}
		if all {
			sets = append(sets, e.made)
		} else {
			sets = append(sets, e.set)
		}
	}
	return sets
}

// newToolbox makes the tools of a configuration. The error is a *config.Error with all
// problems.
func newToolbox(w workshop) (_ *toolbox, err error) {
	b := &toolbox{secrets: w.conf.Secrets}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close(w.before))
		}
	}()
	var problems []config.Problem
	for i := range w.conf.Tools.Entries {
		e, key, err := w.entry(i)
		for _, one := range each(err) {
			p := w.conf.Problem(w.conf.ToolPath(i, key))
			p.Problem = one.Error()
			problems = append(problems, p)
		}
		if err == nil {
			b.entries = append(b.entries, e)
		}
	}
	if len(problems) > 0 {
		return nil, &config.Error{Problems: problems}
	}
	return b, nil
}

// each returns the errors that err joins.
func each(err error) []error {
	if err == nil {
		return nil
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		if many, ok := inner.(interface{ Unwrap() []error }); ok {
			var all []error
			for _, one := range many.Unwrap() {
				all = append(all, each(one)...)
			}
			return all
		}
	}
	return []error{err}
}

// entry makes entry i of tools. key is the key that an error is about.
func (w *workshop) entry(i int) (_ *entry, key string, err error) {
	c := w.conf.Tools.Entries[i]
	place := w.conf.Place(w.conf.ToolPath(i, ""))
	e := &entry{config: c, origin: Origin{Kind: string(c.Kind), Entry: c.Name, File: place.File, Line: place.Line}}
	if same := w.same(&c); same != nil {
		e.made, e.server, e.program = same.made, same.server, same.program
	} else if key, err = w.build(e); err != nil {
		return nil, key, err
	}
	e.unused = w.only != "" && e.server != nil && !strings.HasPrefix(w.only, "/"+c.Name+"_")
	e.set = w.gated(e)
	if c.For != nil {
		e.set = tool.For(e.set, tool.Audience{Roles: c.For.Roles, Callers: c.For.Callers})
	}
	return e, "", nil
}

// same returns the entry of before that c would become again, with the same secrets: its
// processes and connections need not be replaced.
func (w *workshop) same(c *config.Tool) *entry {
	if w.before == nil || !reflect.DeepEqual(w.before.secrets, w.conf.Secrets) {
		return nil
	}
	for _, e := range w.before.entries {
		if e.server != nil && reflect.DeepEqual(&e.config, c) {
			return e
		}
	}
	return nil
}

// build makes the tools of an entry.
func (w *workshop) build(e *entry) (key string, err error) {
	switch e.config.Kind {
	case config.KindCommand:
		return w.command(e)
	case config.KindHTTP:
		return w.http(e)
	case config.KindBuiltin:
		return w.builtin(e)
	case config.KindMCP:
		return w.mcp(e)
	case config.KindOpenAPI:
		return w.openapi(e)
	default:
		return "", fmt.Errorf("there are no tools of the kind %s", e.config.Kind)
	}
}

// name returns the name of an entry's toolset.
func (e *entry) name() string { return string(e.config.Kind) + " " + e.config.Name }

// approval returns the setting of an entry with a single tool about approvals; nil: the
// default of its kind.
func (w *workshop) approval(c *config.Tool) *bool {
	yes := c.Approve.All
	if !c.Approve.Given && !w.conf.Exempt(c.Name) {
		return nil
	}
	return &yes
}

// gated returns the tools of an entry with the gates that its kind does not add by itself.
func (w *workshop) gated(e *entry) tool.Toolset {
	// With opt-in a default asks for no approval. Without that default a tool declares only
	// that its definition is not the pinned one, and that still asks.
	if e.config.Kind != config.KindMCP || e.config.Approve.Given || w.conf.Confirmation == config.OptIn {
		return e.made
	}
	return tool.WithConfirmation(e.made, tool.ConfirmMatching(func(name string) bool { return !w.conf.Exempt(name) }))
}

// environment returns the environment of a process that an entry starts: the variables that
// every such process gets and those of the entry, and the names of the secrets in others.
func (w *workshop) environment(own map[string]config.Value) (texts, secrets map[string]string) {
	texts, secrets = map[string]string{}, map[string]string{}
	for _, name := range []string{"PATH", "HOME", "LANG"} {
		if value, ok := config.Lookup(w.env, name); ok {
			texts[name] = value
		}
	}
	for name, v := range own {
		if texts[name] = v.Text; v.Secret != "" {
			delete(texts, name)
			secrets[name] = v.Secret
		}
	}
	return texts, secrets
}

// parameters returns the JSON Schema of the arguments of an entry; nil: it has none.
func parameters(c *config.Tool) map[string]any {
	if c.Args == nil {
		return nil
	}
	required := []any{}
	properties := map[string]any{}
	for name, schema := range c.Args {
		properties[name] = schema
		if !slices.Contains(c.Optional, name) {
			required = append(required, name)
		}
	}
	slices.SortFunc(required, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// ledger returns the file of the built-in tool transfer_money.
func ledger(conf *config.Config) string { return filepath.Join(conf.Data, "ledger.jsonl") }

// close closes the servers of b that other, which may be nil, does not use.
func (b *toolbox) close(other *toolbox) error {
	var errs []error
	for _, s := range b.servers(other) {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// servers returns the servers of b that other, which may be nil, does not use.
func (b *toolbox) servers(other *toolbox) []Server {
	var all []Server
	for _, e := range b.entries {
		if e.server != nil && (other == nil || !slices.ContainsFunc(other.entries, func(o *entry) bool { return o.server == e.server })) {
			all = append(all, e.server)
		}
	}
	return all
}
