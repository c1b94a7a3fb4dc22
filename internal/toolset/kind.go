package toolset

import (
	"fmt"
	"slices"

	"a2a-server/internal/app/config"
	"a2a-server/tool"
)

// A Kind is a kind of entries of tools. A new kind is a file kind_NAME.go with a type that
// embeds base, and a line in [kinds]. A file of the same name in internal/app/config, which
// knows nothing of tools, has its keys and their checks.
type Kind interface {
	// Name returns the kind as the configuration names it.
	Name() config.Kind
	// Make makes the tools of e from e.config. It sets made and, as far as the kind has them,
	// held, server, program and problems.
	// key is the key of the entry that an error is about.
	Make(w *maker, e *entry) (key string, err error)
	// Gated returns the tools of e with the gates that Make does not add: those that depend on
	// more than the entry.
	Gated(w *maker, e *entry) tool.Toolset
	// Asks returns what asks about calls if the entry has no key approve.
	Asks() Asking
	// Show adds the facts of this kind to the description of a tool.
	Show(t *ToolInfo, c *config.Tool)
	// Cached reports whether the definitions of tools are kept for the next start.
	Cached() bool
}

// Asking is what asks about the calls of a tool whose entry has no key approve.
type Asking int

// The values of Asking.
const (
	AskedByKind Asking = iota // the kind, about some of its tools
	AskedAlways               // the kind, about all of its tools
	AskedByTool               // the tool itself
)

// kinds returns all kinds: those of internal/app/config, in its order.
func kinds() []Kind {
	return []Kind{
		command{base{config.KindCommand}},
		mcp{base{config.KindMCP}},
		request{base{config.KindHTTP}},
		openapi{base{config.KindOpenAPI}},
		remoteAgent{base{config.KindAgent}},
		finder{base{config.KindSearch}},
		decision{base{config.KindAsk}},
		native{base{config.KindBuiltin}},
	}
}

// kindOf returns the kind of a name.
func kindOf(name config.Kind) (Kind, error) {
	all := kinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Name() == name })
	if i < 0 {
		return nil, fmt.Errorf("there are no tools of the kind %s", name)
	}
	return all[i], nil
}

// base has the methods of a Kind, apart from Make, as most kinds have them.
type base struct{ name config.Kind }

// Name implements [Kind].
func (b base) Name() config.Kind { return b.name }

// Gated implements [Kind].
func (base) Gated(_ *maker, e *entry) tool.Toolset { return e.made }

// Asks implements [Kind].
func (base) Asks() Asking { return AskedByKind }

// Show implements [Kind].
func (base) Show(*ToolInfo, *config.Tool) {}

// Cached implements [Kind].
func (base) Cached() bool { return false }

// approval returns the setting of an entry with a single tool about approvals; nil: the
// default of its kind.
func (w *maker) approval(c *config.Tool) *bool {
	yes := c.Approve.All
	if !c.Approve.Given && !config.Exempt(w.conf, c.Name) {
		return nil
	}
	return &yes
}

// environment returns the environment of a process that an entry starts: the variables that
// every such process gets and those of the entry, and the names of the secrets in others.
func (w *maker) environment(own map[string]config.Value) (texts, secrets map[string]string) {
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
