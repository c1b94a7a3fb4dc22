package app

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	a2aserver "a2a-server"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/demo"
	"a2a-server/internal/httpd"
	"a2a-server/internal/terminal"
)

// demoData is the data folder of serve --demo.
const demoData = "demo-data"

// configured returns what configures more than where a server is, how much it logs and its limits:
// the file, or the names of keys. "" for a server that serve makes a demo.
func configured(file string, c *config.Config) string {
	if file != "" {
		return "--config or " + config.FileVariable
	}
	keys := slices.DeleteFunc(config.Given(c), func(key string) bool {
		group, _, _ := strings.Cut(key, ".")
		return slices.Contains([]string{"listen", "data", "store", "log", "limits"}, group)
	})
	return strings.Join(keys, ", ")
}

// startDemo starts the scripted model of serve --demo and sets the keys that use it. end stops it. It does
// nothing without --demo.
func startDemo(p *cli.Program, given *cli.Flags) (end func(), _ error) {
	if !given.Demo {
		return func() {}, nil
	}
	c, err := p.Load(given)
	if err != nil {
		return nil, err
	}
	if set := configured(p.Source(given).File, c); set != "" {
		return nil, cli.Usage("serve --demo takes no configuration, and %s is set: remove it, or run serve without --demo", set)
	}
	if !slices.Contains(config.Given(c), "data") {
		given.Set("data", demoData)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // end closes it
	if err != nil {
		return nil, fmt.Errorf("listen for the scripted model: %w", err)
	}
	port, model := httpd.NewPort(l), httpd.NewServer(http.HandlerFunc(demo.Complete), zerolog.Nop())
	port.Serve(model.Serve, func(error) {}) // the planner that asks it says so
	given.Set("planner.kind", "llm")
	given.Set("planner.llm.url", "http://"+l.Addr().String()+"/v1")
	given.Set("planner.llm.model", "script")
	return func() {
		_ = model.Close() // the server that asked it has ended
		_ = port.Close()
	}, nil
}

// showDemo makes a server without a configuration a demo. A demo prints its URL, and a configured server with pages
// does on a terminal: a program that reads its output finds the URL in the log.
func showDemo(p *cli.Program, given *cli.Flags, c *config.Config, options *a2aserver.Config) error {
	demonstrates := given.Demo || configured(p.Source(given).File, c) == ""
	if demonstrates || c.UI.Enabled && terminal.Is(p.Stdout) {
		options.Inside.Listening = func(url string) { _, _ = fmt.Fprintln(p.Stdout, "Open "+url) } // the log has it, too
	}
	if !demonstrates {
		return nil
	}
	gate, err := demo.Gate()
	if err != nil {
		return err
	}
	unconfigured := *c
	unconfigured.Gates = append(slices.Clip(c.Gates), gate)
	if options.Policy, err = config.Policy(&unconfigured); err != nil {
		return err
	}
	options.Inside.Demo = true
	return nil
}
