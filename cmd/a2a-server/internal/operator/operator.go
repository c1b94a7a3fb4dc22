// Package operator makes the parts of a server from the operator's configuration, and makes them again for a
// reload. It knows how each section of the configuration becomes a part, and not how a server puts them together.
package operator

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"a2a-server/tool/agent"

	a2aserver "a2a-server"
	"a2a-server/auth/apikey"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/cmd/a2a-server/internal/toolset"
	"a2a-server/internal/tlsfiles"
	"a2a-server/tool"
)

// Operator implements [a2aserver.Operator]. [Configure] makes it.
type Operator struct {
	defaults []tool.Toolset // of a configuration without the key tools
	only     string         // the only tool that is called, with a slash; "": any may be
	source   config.Source
	loaded   *config.Config
	conf     *config.Config // loaded, with the settings as the program has changed them

	given     *a2aserver.Config // by the program
	own       func() []netip.AddrPort
	files     *tlsfiles.Files // certificates of the ports; nil: no TLS
	keys      *apikey.Authenticator
	tools     atomic.Pointer[toolset.State] // that are in force; nil until Offer
	decidable bool                          // local users decide on the admin socket
	swept     sync.Once                     // the data folder, of what earlier configurations have left
}

// Configure returns the Config of a server with a configuration that was loaded from a source. Its log is as the
// configuration says.
func Configure(source config.Source, conf *config.Config) (a2aserver.Config, *Operator) {
	settings, o := conf.Settings, &Operator{source: source, loaded: conf, conf: conf}
	return a2aserver.Config{Settings: &settings, Operator: o}, o
}

// SetDefaultTools sets the tools of a configuration without the key tools. Call it before Parts.
func (o *Operator) SetDefaultTools(sets []tool.Toolset) { o.defaults = sets }

// Only makes the operator that of a server for a single call of a tool, which is named with a slash: servers of
// other tools are not started, and nobody authenticates. Call it before Parts.
func (o *Operator) Only(name string) { o.only = name }

// Parts implements [a2aserver.Operator].
func (o *Operator) Parts(c *a2aserver.Config, addresses func() []netip.AddrPort) (*a2aserver.Parts, error) {
	o.given, o.own = c, addresses
	with := o.source
	with.Authenticated, with.Callers, with.Later = c.Authenticator != nil || c.NoListen, c.Authenticator != nil, false
	conf := o.loaded
	if with.Authenticated != o.source.Authenticated || with.Callers != o.source.Callers || with.Later != o.source.Later {
		var err error
		if conf, err = config.Load(with); err != nil { // the program's parts may not go with the configuration
			return nil, err
		}
	}
	o.source, o.loaded = with, conf
	o.conf = o.settled(conf)
	conf = o.conf
	p := &a2aserver.Parts{Metrics: a2aserver.Metrics{Listen: conf.Admin.Listen}}
	if name := conf.Admin.Token.Secret; name != "" {
		p.Metrics.Token = func() (string, error) { return o.secret(name) }
	}
	var err error
	if o.files, err = o.certificates(); err != nil {
		return nil, err
	}
	if o.files != nil {
		p.Certificates, p.Background = o.files.TLS(), o.files.Run
	}
	if p.Authentication, err = o.authentication(); err != nil {
		return nil, err
	}
	if conf.Push.Enabled {
		p.Warnings = append(p.Warnings, config.PushWarnings(conf)...)
	}
	if p.Admin, err = o.socket(addresses == nil); err != nil {
		return nil, err
	}
	o.decidable = p.Admin != nil
	if c.Planner == nil && conf.Planner.Kind == "llm" {
		if p.Planner, err = o.model(); err != nil {
			return nil, err
		}
	}
	if c.Authenticator == nil {
		p.Reach = o.reach()
	}
	if conf.DeclaredGates == config.IgnoreDeclared {
		p.Warnings = append(p.Warnings, "declared_gates is ignore: tools that want approval run without it, unless a gate of the configuration asks")
	}
	return p, nil
}

// settled returns a configuration with the settings as the program has changed them, apart from settings that a reload
// reads again.
func (o *Operator) settled(conf *config.Config) *config.Config {
	c := *conf
	c.Settings = *o.given.Settings
	c.Log.Level = conf.Log.Level
	return &c
}

// Offer implements [a2aserver.Operator].
func (o *Operator) Offer() (*a2aserver.Offer, error) { return o.offer(o.conf) }

// Reload implements [a2aserver.Operator].
func (o *Operator) Reload() (*a2aserver.Offer, []string, error) {
	conf, restart, err := config.Reload(o.source, o.loaded)
	if err != nil {
		return nil, nil, err
	}
	conf = o.settled(conf)
	if o.files != nil { // it would notice new keys by itself, a little later
		if err := o.files.Reload(); err != nil {
			return nil, nil, err
		}
	}
	if o.decidable {
		if err := checkPrograms(o.conf, conf, os.Geteuid()); err != nil {
			return nil, nil, err
		}
	}
	offer, err := o.offer(conf)
	return offer, restart, err
}

// ReloadKeys implements [a2aserver.Operator].
func (o *Operator) ReloadKeys() error {
	if o.keys == nil {
		return nil
	}
	return o.keys.Reload()
}

// Check implements [a2aserver.Operator].
func (o *Operator) Check() (warnings []string, _ error) {
	warnings, roles := o.checkRoles()
	_, unread, routes := o.routes(o.conf)
	problems, err := toolset.Check(o.toolsConfig(o.conf, "" /* cache */))
	return slices.Concat(warnings, unread, problems), errors.Join(roles, routes, err)
}

// offer makes the offer of a configuration.
func (o *Operator) offer(conf *config.Config) (*a2aserver.Offer, error) {
	routes, unread, err := o.routes(conf)
	if err != nil {
		return nil, err
	}
	cache := ""
	if o.given.Store == nil { // else there may be no data folder
		if cache, err = toolset.CacheFolder(conf); err != nil {
			return nil, err
		}
	}
	tools, err := toolset.New(o.toolsConfig(conf, cache), o.tools.Load())
	if err != nil {
		return nil, err
	}
	undecidable, unmet := o.roleProblems(conf)
	sets, all := tools.Sets()
	return &a2aserver.Offer{
		Tools: sets, All: all, Policy: tools.Policy, Routes: routes, Servers: tools.Servers(), Reserved: tools.Reserved(),
		Defaults: tools.Defaults(), LogLevel: conf.Log.Level, Complete: tools.Complete, Origin: tools.Origin, Text: tools.Text,
		InForce: func() { o.tools.Store(tools) }, Start: o.start(tools), Await: tools.Await, Problems: tools.Problems,
		Warnings: slices.Concat(config.InertRoles(o.callers(o.conf)), unread, unmet, undecidable),
	}, nil
}

// start returns a function that starts the work of tools in the background. The first removes the remains of earlier
// configurations.
func (o *Operator) start(tools *toolset.State) func() error {
	return func() (err error) {
		o.swept.Do(func() {
			if err = tools.Sweep(); err != nil {
				err = fmt.Errorf("the data folder has indexes that are of no use: %w", err)
			}
		})
		tools.Start()
		return err
	}
}

// toolsConfig returns the inputs for the tools of a configuration. cache is the folder for the lists of servers
// of tools; "": they are not kept.
func (o *Operator) toolsConfig(conf *config.Config, cache string) toolset.Config {
	index := ""
	if o.given.Store == nil { // else there may be no data folder
		index = toolset.IndexFolder(conf)
	}
	return toolset.Config{
		Operator: conf, Environment: o.source.Environment, Tools: o.given.Tools, DefaultTools: o.defaults, Policy: o.given.Policy,
		Planner: o.given.Planner != nil, Only: o.only, Cache: cache, Index: index, Own: o.own, Log: o.given.Log,
	}
}

// secret returns a secret of the configuration that is in force.
func (o *Operator) secret(name string) (string, error) { return o.tools.Load().Secret(name) }

// Down returns why servers of tools have not listed their tools; nil: each has.
func (o *Operator) Down(as agent.ReadonlyContext) error { return o.tools.Load().Down(as) }
