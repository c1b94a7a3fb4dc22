package app

import (
	"context"
	"fmt"

	a2aserver "a2a-server"
	"a2a-server/internal/app/config"
)

// from returns a Config that names the sources of the configuration.
func (p *program) from(given *flags) a2aserver.Config {
	file := given.file
	if file == "" {
		file = p.variable(config.FileVariable)
	}
	return a2aserver.Config{File: file, Environment: p.env, Set: given.values, Init: given.init}
}

// load reads the configuration from all its sources.
func (p *program) load(given *flags) (*config.Config, error) {
	c := p.from(given)
	return config.Load(config.Source{File: c.File, Environment: c.Environment, Flags: c.Set})
}

// variable returns the value of an environment variable; "": it is not set.
func (p *program) variable(name string) string {
	value, _ := config.Lookup(p.env, name)
	return value
}

func (p *program) configCheck(_ context.Context, given *flags) error {
	options, _, err := p.configure(given)
	if err != nil {
		return err
	}
	options.Log = newLogger(config.Log{Level: "warn", Format: "console"}, p.stderr)
	if err := a2aserver.Check(options); err != nil { //nolint:contextcheck // it lists tools as New does, which has none
		return err
	}
	_, err = fmt.Fprintln(p.stdout, "the configuration is valid")
	return err
}

func (p *program) configShow(_ context.Context, given *flags) error {
	c, err := p.load(given)
	if err != nil {
		return err
	}
	return config.Show(p.stdout, c)
}
