package a2aserver

import (
	"errors"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a/agentcard"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/app/config"
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
	Planner      task.Planner              // nil: that of the configuration
	Confirm      tool.ConfirmationProvider // also asked for every new approval, as the client is; see engine.Config.Provider
	Hooks        []task.Hook               // run before the policy, in order, on each planned call
	Policy       *approval.Policy          // nil: made from the configuration's gates and deadlines

	// AfterHooks see the result of each call whose tool has run, and may change or withhold it
	// before the planner and the client see it; ErrorHooks see each failure. See
	// [task.AfterHook].
	AfterHooks, ErrorHooks []task.AfterHook

	// Memory is the memory that tools search with SearchMemory; nil: SearchMemory fails.
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
	// close it, and nothing else may use it. If it has the methods Err() error, Trouble()
	// error and Incarnation() uint64, they are used as those of *boltstore.Handle are. The
	// server's own keys are then in memory, so that a restart ends the tokens of pages.
	Store store.Handle

	// Init makes an empty store if the configured file is missing from a data folder that had
	// a store. Without Init, New refuses such a folder: its tasks are somewhere else, or lost.
	Init bool

	// NoListen opens no port: requests come through [Server.Handler], in the caller's own
	// HTTP server, which is then responsible for timeouts and connections.
	NoListen bool

	// only is the tool that CallOnce calls, with a slash; "": any may be called.
	only string
	// bound changes the bounds inside the server, for tests; nil: none are changed.
	bound func(*limits)

	// Log is the server's log. The zero Logger discards everything.
	Log zerolog.Logger

	// Now and Host are the clock of tasks and credentials: of deadlines, timers and timeouts
	// of calls, and of expiry. They are for tests, such as those of package a2aservertest;
	// nil: the system's.
	Now  func() time.Time
	Host engine.Host

	// CrashPoint is called at the crash points of packages engine and boltstore; it is for
	// tests that kill the process there.
	CrashPoint func(point string)
}

// load reads the configuration.
func (c *Config) load() (*config.Config, error) {
	return config.Load(config.Source{File: c.File, Environment: c.Environment, Flags: c.Set, Authenticated: c.Authenticator != nil || c.NoListen, Callers: c.Authenticator != nil})
}

// Check returns the error that New would return for this Config, as far as that is known
// without opening or changing anything. The error lists all problems with keys; warnings go
// to the log. A command or an MCP server that cannot be started, because its program or its
// folder is missing, is an error here; New starts without it and warns.
func Check(c Config) error {
	conf, err := c.load()
	if err != nil {
		return err
	}
	files, err := c.tlsFiles(conf)
	if err != nil {
		return err
	}
	if _, err := c.authentication(conf, files, nil); err != nil {
		return err
	}
	if _, err := socketUsers(conf); err != nil {
		return err
	}
	if _, err := adminDoor(conf, serverUser(conf)); err != nil {
		return err
	}
	if _, err := c.card(conf); err != nil {
		return err
	}
	if _, err := c.pushes(conf, nil); err != nil {
		return err
	}
	var now live
	if _, err := c.planner(conf, now.always); err != nil {
		return err
	}
	s, err := c.newState(conf, nil, nil, "")
	if err != nil {
		return err
	}
	_, warnings, _, err := s.check(0 /* wait */)
	warn(c.Log, warnings)
	if missing := s.box.programs(conf, true /* servers */); err == nil && len(missing) > 0 {
		err = &config.Error{Problems: missing}
	}
	return errors.Join(err, s.box.close(nil))
}
