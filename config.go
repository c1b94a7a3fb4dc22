package a2aserver

import (
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a/agentcard"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/app/config"
	"a2a-server/internal/app/process"
	"a2a-server/internal/inside"
	"a2a-server/internal/toolset"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Config configures a [Server]. Its zero value is a server without tools on
// 127.0.0.1:8080, with its data in ./data.
//
// The operator's configuration is read from three sources, each of which overrides the one
// before: File, Environment and Set. docs/configuration.md lists the keys. The other fields
// override all of them.
type Config struct {
	File        string            // path of a YAML file; "": none
	Environment []string          // NAME=value, as os.Environ returns it; nil: none
	Set         map[string]string // values by key, such as "limits.tool_timeout"; lists are comma separated

	// Tools are the tools that tasks may call, in addition to those of the configuration's key
	// tools; names must be unique. They are listed for the card as auth.Anonymous: toolsets of
	// package tool once, others also later. New fails if a toolset of package tool fails, or
	// two tools have the same name. Any other toolset that fails, or takes more than 5 s, is a
	// warning.
	Tools []tool.Toolset
	// DefaultTools are added to Tools as long as the configuration has no key tools.
	DefaultTools []tool.Toolset
	Planner      task.Planner // nil: that of the configuration

	// Decider decides approvals before the client is asked: see engine.Config.Decider.
	// [task.ProviderDecider] makes one of a function that only approves and rejects. The configuration's
	// key provider_error names the effect of its errors.
	Decider task.Decider
	// ToolDeciders has deciders of single tools, such as the agents to which a task may be handed over,
	// by name: see engine.Config.ToolDeciders.
	ToolDeciders map[string]task.Decider
	Hooks        []task.Hook      // run before the policy, in order, on each planned call
	Policy       *approval.Policy // nil: made from the configuration's gates and deadlines

	// AfterHooks see the result of each call whose tool has run, and may change or withhold it
	// before the planner and the client see it; ErrorHooks see each failure. See
	// [task.AfterHook].
	AfterHooks, ErrorHooks []task.AfterHook

	// Memory is the memory that tools search with SearchMemory; nil: the caller's ended tasks of the
	// same context, the newest first up to 1 MiB of text.
	Memory agent.Memory

	// Presenter shows approvals to clients and reads their answers; nil: all known
	// dialects.
	Presenter task.Presenter

	// Authenticator authenticates requests; nil: the configuration's key auth does or, without
	// that, every caller is auth.Anonymous, and New refuses an address that other machines can
	// reach, unless insecure_no_auth is set. With an Authenticator, auth may not name another
	// way to authenticate: it would be unclear which of the two applies. A program that wants
	// both makes them itself, with auth.First.
	Authenticator auth.Authenticator

	// Extensions are extensions of A2A that the program's own parts implement. The agent card
	// lists them after those of the server, and requests activate them. The configuration's
	// key card.required_extensions may require them.
	Extensions []agentcard.Extension

	// Store keeps the tasks; nil: the store that the key store names. The Server does not
	// close it, and nothing else may use it. The server's own keys are then in memory, so that
	// a restart ends the tokens of pages.
	Store store.Handle

	// Init makes an empty store if the configured file is missing from a data folder that had
	// a store. Without Init, New refuses such a folder: its tasks are somewhere else, or lost.
	Init bool

	// NoListen opens no port: requests come through [Server.Handler], in the caller's own
	// HTTP server, which is then responsible for timeouts and connections.
	NoListen bool

	// Log is the server's log. Defaults to the standard error, with the configuration's keys log.level and
	// log.format; zerolog.Nop() discards everything.
	Log zerolog.Logger

	// Now and Host are the clock of tasks and credentials: of deadlines, timers and timeouts
	// of calls, and of expiry. They are for tests, such as those of package a2aservertest;
	// nil: the system's.
	Now  func() time.Time
	Host engine.Host

	// CrashPoint is called at the crash points of packages engine and boltstore; it is for
	// tests that kill the process there.
	CrashPoint func(point string)

	// Inside is for the commands and the tests of this module; its type is internal.
	Inside inside.Options
}

// ErrConfig says that a configuration is valid by itself, but not with the things that it
// names, such as a file of instructions.
var ErrConfig = config.ErrUnusable

// source returns where the configuration is read from.
func (c *Config) source() config.Source {
	return config.Source{File: c.File, Environment: c.Environment, Flags: c.Set, Authenticated: c.Authenticator != nil || c.NoListen, Callers: c.Authenticator != nil}
}

// defaultLog sets Log unless the program has.
func (c *Config) defaultLog(conf *config.Config) {
	if !reflect.ValueOf(c.Log).IsZero() {
		return
	}
	var least process.LeastLevel
	least.Set(conf.Log)
	c.Log = process.WriteLog(conf.Log, os.Stderr).Level(zerolog.DebugLevel).Sample(&least)
	c.Inside.LogLevel = func(level string) { least.Set(config.Log{Level: level}) }
}

// tools returns the sources of the tools of a configuration. own returns the addresses
// on which the server listens, and cache is the folder for the lists of servers of tools.
func (c *Config) tools(conf *config.Config, own func() []netip.AddrPort, cache string) toolset.Config {
	index := ""
	if c.Store == nil { // else there may be no data folder
		index = toolset.IndexFolder(conf)
	}
	return toolset.Config{
		Operator: conf, Environment: c.Environment, Tools: c.Tools, DefaultTools: c.DefaultTools, Policy: c.Policy, Planner: c.Planner != nil,
		Only: c.Inside.Only, Cache: cache, Index: index, Own: own, Log: c.Log,
	}
}

// cacheFolder makes the folder for the lists of servers of tools; "": they are not kept.
func (c *Config) cacheFolder(conf *config.Config) (string, error) {
	if c.Store != nil {
		return "", nil // there may be no data folder
	}
	return toolset.CacheFolder(conf)
}

// warn logs warnings.
func warn(log zerolog.Logger, warnings []string) {
	for _, w := range warnings {
		log.Warn().Msg(w)
	}
}

// card returns the agent card of a configuration, apart from skills, security and the address
// of gRPC.
func (c *Config) card(conf *config.Config) (agentcard.Card, error) {
	card := agentcard.Card{
		Name: conf.Agent.Name, Description: conf.Agent.Description, Version: Version(), URL: conf.PublicURL,
		InputModes: conf.Agent.InputModes, SecurityForm: agentcard.SecurityForm(conf.Card.SecurityForm),
		Extensions: c.Extensions, RequiredExtensions: conf.Card.RequiredExtensions,
	}
	if card.Description == "" && c.Planner == nil && conf.Planner.Kind == "direct" {
		card.Description = `Runs tools, and asks a person before it runs those that need approval. Call a tool with a text, /tool key=value, or a data part, {"tool": "name", "args": {…}}; each skill has an example.`
	}
	if err := card.CheckExtensions(); err != nil {
		return agentcard.Card{}, fmt.Errorf("%w: card.required_extensions: %w", ErrConfig, err)
	}
	return card, nil
}
