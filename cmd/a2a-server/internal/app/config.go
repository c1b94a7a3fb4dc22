package app

import (
	"path/filepath"

	a2aserver "a2a-server"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/cmd/a2a-server/internal/operator"
	"a2a-server/internal/logs"
	"a2a-server/tool"
	"a2a-server/tool/builtin"
)

func configCheck(p *cli.Program, given *cli.Flags) error {
	options, _, _, err := configure(p, given)
	if err != nil {
		return err
	}
	options.Log = logs.New("warn", "console", p.Stderr).Logger
	text := "the configuration is valid"
	options.Inside.NotKnown = func() { text = "the configuration is valid, as far as is known here" }
	if err := a2aserver.Check(options); err != nil {
		return err
	}
	return p.Printf("%s\n", text)
}

func configShow(p *cli.Program, given *cli.Flags) error {
	c, err := p.Load(given)
	if err != nil {
		return err
	}
	return config.Show(p.Stdout, c)
}

// configure returns the server's Config, which logs errors for a person, its operator, and the loaded configuration.
func configure(p *cli.Program, given *cli.Flags) (a2aserver.Config, *operator.Operator, *config.Config, error) {
	c, err := p.Load(given)
	if err != nil {
		return a2aserver.Config{}, nil, nil, err
	}
	demo, err := demoTools(c)
	if err != nil {
		return a2aserver.Config{}, nil, nil, err
	}
	options, by := operator.Configure(p.Source(given), c)
	by.SetDefaultTools(demo)
	options.Init, options.Log = given.Init, logs.New("error", "console", p.Stderr).Logger
	return options, by, c, nil
}

// demoTools returns the tools to try a server by, for a configuration without the key tools.
func demoTools(c *config.Config) ([]tool.Toolset, error) {
	demo, err := builtin.New(builtin.Config{Ledger: filepath.Join(c.Data, "ledger.jsonl")})
	return []tool.Toolset{demo}, err
}
