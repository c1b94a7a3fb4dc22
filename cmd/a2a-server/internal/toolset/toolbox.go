package toolset

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	a2aserver "a2a-server"

	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/catalog"
	"a2a-server/internal/child"
	"a2a-server/internal/lists"
	"a2a-server/tool"
	"a2a-server/tool/mcptoolset"
)

// maker has the inputs for making tools.
type maker struct {
	Config
	secrets *secrets
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
	number int // in the configuration, from 0
	config config.Tool
	kind   kind
	origin catalog.Origin
	made   tool.Toolset         // for all callers
	set    tool.Toolset         // for whom the entry is
	held   a2aserver.ToolServer // what it holds open; nil: nothing
	server *mcptoolset.Toolset  // that lists its tools, and is held, too; nil: they are known
	unused bool                 // none of its tools is called, and it is not connected to

	// startable returns what keeps the entry's program from starting now, or its folders from being
	// read; nil: no obstacle is known. It is nil without either.
	startable  func() error
	programKey string   // the key that names the program
	problems   []string // operations of a document that are not offered, and why
}

// programs returns the reasons why programs of the entries cannot be started, such as a file
// that is not executable. servers: also those of servers.
func (b *toolbox) programs(conf *config.Config, servers bool) (problems []config.Problem) {
	for i, e := range b.entries {
		if e.startable == nil || e.server != nil && !servers {
			continue
		}
		err := e.startable()
		if err == nil {
			continue
		}
		key := e.programKey
		if errors.Is(err, child.ErrFolder) {
			key = "dir"
		}
		problems = append(problems, conf.Problem(conf.ToolPath(i, key), "%v", err))
	}
	return problems
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
func newToolbox(w maker) (_ *toolbox, err error) {
	b := &toolbox{secrets: w.Operator.Secrets}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close(w.before))
		}
	}()
	var problems []config.Problem
	for i := range w.Operator.Tools.Entries {
		e, key, err := w.entry(i)
		for _, one := range each(err) {
			problems = append(problems, w.Operator.Problem(w.Operator.ToolPath(i, key), "%v", one))
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
			return slices.Concat(lists.Map(many.Unwrap(), each)...)
		}
	}
	return []error{err}
}

// entry makes entry i of tools. key is the key that an error is about.
func (w *maker) entry(i int) (_ *entry, key string, err error) {
	c := w.Operator.Tools.Entries[i]
	e := &entry{number: i, config: c, kind: kindOf(c.Kind), origin: origin(w.Operator, w.Operator.ToolPath(i, ""), string(c.Kind), c.Name)}
	if same := w.same(&c); same != nil {
		e.made, e.held, e.server, e.startable, e.programKey = same.made, same.held, same.server, same.startable, same.programKey
	} else if key, err = e.kind.build(w, e); err != nil {
		return nil, key, err
	}
	e.unused = w.Only != "" && e.server != nil && !strings.HasPrefix(w.Only, "/"+c.Name+"_")
	e.set = w.offered(e)
	return e, "", nil
}

// offered returns the tools of e for whom the entry is. A tool that approve names asks, even if
// its kind has forgotten that key.
func (w *maker) offered(e *entry) tool.Toolset {
	c, set := &e.config, e.made
	if e.kind.gated != nil {
		set = e.kind.gated(w, e)
	}
	if c.Approve != nil {
		set = tool.WithConfirmation(set, tool.ConfirmMatching(func(name string) bool { return approves(c, name) }))
	}
	if c.For != nil {
		set = tool.For(set, tool.Audience{Roles: c.For.Roles, Callers: c.For.Callers})
	}
	return set
}

// same returns the entry of before that c would become again, with the same secrets: its
// processes and connections need not be replaced.
func (w *maker) same(c *config.Tool) *entry {
	if w.before == nil || !reflect.DeepEqual(w.before.secrets, w.Operator.Secrets) {
		return nil
	}
	for _, e := range w.before.entries {
		if e.held != nil && reflect.DeepEqual(&e.config, c) {
			return e
		}
	}
	return nil
}

// name returns the name of an entry's toolset.
func (e *entry) name() string { return string(e.config.Kind) + " " + e.config.Name }

// close closes the servers of b that other, which may be nil, does not use.
func (b *toolbox) close(other *toolbox) error {
	return errors.Join(lists.Map(b.servers(other), a2aserver.ToolServer.Close)...)
}

// servers returns the servers of b that other, which may be nil, does not use.
func (b *toolbox) servers(other *toolbox) []a2aserver.ToolServer {
	var all []a2aserver.ToolServer
	for _, e := range b.entries {
		if e.held != nil && (other == nil || !slices.ContainsFunc(other.entries, func(o *entry) bool { return o.held == e.held })) {
			all = append(all, e.held)
		}
	}
	return all
}
