package main

import (
	"context"
	"fmt"
	"strings"

	"a2a-server/internal/app"
	"a2a-server/internal/app/config"
)

// fileVariable names the file of the configuration when no flag does.
const fileVariable = "A2A_SERVER_CONFIG"

// load reads the configuration from everywhere.
func (p *program) load(given *flags) (*config.Config, error) {
	file := given.file
	if file == "" {
		file = p.variable(fileVariable)
	}
	return config.Load(config.Source{File: file, Environment: p.env, Flags: given.values})
}

// variable returns the value of an environment variable. The last one counts.
func (p *program) variable(name string) string {
	found := ""
	for _, line := range p.env {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			found = value
		}
	}
	return found
}

func (p *program) configCheck(_ context.Context, given *flags) error {
	c, err := p.load(given)
	if err != nil {
		return err
	}
	if err := app.Check(c); err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.stdout, "the configuration is right")
	return err
}

func (p *program) configShow(_ context.Context, given *flags) error {
	c, err := p.load(given)
	if err != nil {
		return err
	}
	return config.Show(p.stdout, c)
}
