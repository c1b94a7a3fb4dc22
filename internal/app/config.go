package app

import (
	"fmt"
	"path/filepath"

	a2aserver "a2a-server"
	"a2a-server/internal/app/cli"
	"a2a-server/internal/app/config"
	"a2a-server/internal/app/process"
	"a2a-server/tool"
	"a2a-server/tool/builtin"
)

func configCheck(p *cli.Program, given *cli.Flags) error {
	options, _, err := configure(p, given)
	if err != nil {
		return err
	}
	options.Log = process.NewLogger(config.Log{Level: "warn", Format: "console"}, p.Stderr)
	text := "the configuration is valid"
	options.Inside.NotKnown = func() { text = "the configuration is valid, as far as is known here" }
	if err := a2aserver.Check(options); err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.Stdout, text)
	return err
}

func configShow(p *cli.Program, given *cli.Flags) error {
	c, err := p.Load(given)
	if err != nil {
		return err
	}
	return config.Show(p.Stdout, c)
}

// configure returns the server's Config, which logs errors for a person, and the loaded configuration.
func configure(p *cli.Program, given *cli.Flags) (a2aserver.Config, *config.Config, error) {
	c, err := p.Load(given)
	if err != nil {
		return a2aserver.Config{}, nil, err
	}
	demo, err := builtin.New(builtin.Config{Ledger: filepath.Join(c.Data, "ledger.jsonl")})
	s := p.Source(given)
	return a2aserver.Config{
		File: s.File, Environment: s.Environment, Set: s.Flags, Init: given.Init, DefaultTools: []tool.Toolset{demo},
		Log: process.NewLogger(config.Log{Level: "error", Format: "console"}, p.Stderr),
	}, c, err
}
