package toolset

import (
	"encoding/json"
	"slices"

	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/tool"
)

// A kind is a kind of entries of tools. A new kind is a file kind_NAME.go with its function build,
// and a line in [kinds]. [config.Tool] has its keys.
type kind struct {
	name config.Kind
	// build makes the tools of e from e.config. It sets made and, as far as the kind has them,
	// held, server, startable and problems. key is the key of the entry that an error is about.
	build func(w *maker, e *entry) (key string, err error)
	asks  asking
	// gated returns the tools of e with the gates that build does not add, which depend on more
	// than the entry; nil: there are none.
	gated func(w *maker, e *entry) tool.Toolset
	// show adds the facts of this kind to the description of a tool; nil: there are none.
	show func(t *ToolInfo, c *config.Tool)
}

// asking says how a tool whose entry has no key approve is gated.
type asking int

// The values of asking.
const (
	askedByKind asking = iota // the kind, about some of its tools
	askedAlways               // the kind, about all of its tools
	askedByTool               // the tool itself
)

// kinds returns all kinds: those of cmd/a2a-server/internal/config, in its order.
func kinds() []kind {
	return []kind{
		{name: config.KindCommand, build: buildCommand},
		{name: config.KindMCP, build: buildMCP, asks: askedAlways, gated: gatedMCP, show: showMCP},
		{name: config.KindHTTP, build: buildHTTP},
		{name: config.KindOpenAPI, build: buildOpenAPI},
		{name: config.KindAgent, build: buildAgent, asks: askedAlways},
		{name: config.KindSearch, build: buildSearch},
		{name: config.KindAsk, build: buildAsk, asks: askedByTool},
		{name: config.KindBuiltin, build: buildBuiltin, asks: askedByTool},
	}
}

// kindOf returns the kind of a name, which is in the configuration.
func kindOf(name config.Kind) kind {
	all := kinds()
	return all[slices.IndexFunc(all, func(k kind) bool { return k.name == name })]
}

// single makes the toolset of an entry from its only tool. key is the key that an error of the tool is about.
func (e *entry) single(key string, t tool.Tool, err error) (string, error) {
	if err != nil {
		return key, err
	}
	e.made = tool.NewToolset(e.name(), t)
	return "", nil
}

// approval returns the setting of an entry with a single tool about approvals; nil: the
// default of its kind.
func (w *maker) approval(c *config.Tool) *bool {
	yes := slices.Contains(c.Approve, "*")
	if c.Approve == nil && !config.Exempt(w.Operator, c.Name) {
		return nil
	}
	return &yes
}

// headers returns the headers of an entry, with the secrets that they name.
func (w *maker) headers(c *config.Tool) map[string]func() (string, error) {
	all := map[string]func() (string, error){}
	for name, template := range c.Header {
		all[name] = w.secrets.filled(template)
	}
	return all
}

// identity returns what identifies the program or the server of an entry beside its own keys: values
// that are not confidential, and the names of secrets.
func identity(of any) string {
	raw, _ := json.Marshal(of) // texts always can be
	return string(raw)
}

// environment returns the environment of a process that an entry starts: the variables that
// every such process gets and those of the entry, and those that are secrets.
func (w *maker) environment(own map[string]config.Value) (texts map[string]string, secrets map[string]func() (string, error)) {
	texts, secrets = map[string]string{}, map[string]func() (string, error){}
	for _, name := range []string{"PATH", "HOME", "LANG"} {
		if value, ok := config.Lookup(w.Environment, name); ok {
			texts[name] = value
		}
	}
	for name, v := range own {
		if texts[name] = v.Text; v.Secret != "" {
			delete(texts, name)
			secrets[name] = func() (string, error) { return w.secrets.read(v.Secret) }
		}
	}
	return texts, secrets
}
