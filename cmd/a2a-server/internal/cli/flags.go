package cli

import (
	"cmp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/visible"
)

// Flags are the flags that a command line sets.
type Flags struct {
	File   string            // of --config
	values map[string]string // by the name of the key
	Init   bool              // of serve --init
	Demo   bool              // of serve --demo
}

// Set sets a key of the configuration, as its flag does.
func (f *Flags) Set(name, value string) { f.values[name] = value }

// ConfigFlags gives c the flags of the configuration. A wrong value is
// reported together with all other problems of the configuration.
func ConfigFlags(c *cobra.Command) *Flags {
	given := &Flags{values: map[string]string{}}
	FileFlag(c, given)
	for _, k := range config.Keys() {
		if !k.HasFlag {
			continue
		}
		about := k.Meaning + " Variable " + k.Variable()
		if k.Default != "" {
			about += ", default " + k.Default
		}
		f := c.Flags().VarPF(&value{key: k, into: given.values}, k.Flag(), "", about+".")
		if isSwitch(k) {
			f.NoOptDefVal = "true"
		}
	}
	return given
}

// IsKey reports whether a flag sets a key of the configuration.
func IsKey(f *pflag.Flag) bool {
	_, is := f.Value.(*value)
	return is
}

// FileFlag gives c the flag that names the configuration file.
func FileFlag(c *cobra.Command, given *Flags) {
	c.Flags().StringVar(&given.File, "config", "", "The configuration `file`. Defaults to the value of "+config.FileVariable+"; without both, no file is read.")
}

// value is a flag of the configuration. It accepts any text.
type value struct {
	key  config.Key
	into map[string]string
}

// String returns the default.
func (v *value) String() string { return cmp.Or(v.into[v.key.Name], v.key.Default) }

// Set keeps text for config.Load. If a list is given twice, their entries are joined.
func (v *value) Set(text string) error {
	if before, twice := v.into[v.key.Name]; twice && v.key.List {
		text = before + "," + text
	}
	v.into[v.key.Name] = text
	return nil
}

// Type returns the form of the value, for the help.
func (v *value) Type() string { return v.key.Value }

// isSwitch reports whether the flag alone means true.
func isSwitch(k config.Key) bool { return k.Default == "true" || k.Default == "false" }

// Source returns the sources of the configuration.
func (p *Program) Source(given *Flags) config.Source {
	return config.Source{File: cmp.Or(given.File, p.Variable(config.FileVariable)), Environment: p.Env, Flags: given.values}
}

// NoteSource prints which configuration a command about tools has read: a running server may have another.
func (p *Program) NoteSource(given *Flags) {
	if file := p.Source(given).File; file != "" {
		p.Note("From the configuration " + visible.Line(file) + ", not from a running server:")
		return
	}
	p.Note("No configuration file was read (--config or " + config.FileVariable + " names it); these are the tools and gates without it, not those of a running server:")
}

// Load reads the configuration from all its sources.
func (p *Program) Load(given *Flags) (*config.Config, error) {
	return config.Load(p.Source(given))
}

// LoadPlace reads where the server of the configuration is, see [config.Source.Place].
func (p *Program) LoadPlace(given *Flags) (*config.Config, error) {
	s := p.Source(given)
	s.Place = true
	return config.Load(s)
}
