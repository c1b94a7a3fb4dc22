package a2aserver

import (
	"time"

	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/app/config"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// Config configures a [Server]. Its zero value is a server without tools on
// 127.0.0.1:8080, with its data in ./data.
//
// What an operator may set is read from three sources, each of which overrides the one
// before: File, Environment and Set. docs/configuration.md lists the keys. What is given
// in Go overrides all of them.
type Config struct {
	File        string            // path of a YAML file; "": none
	Environment []string          // NAME=value, as os.Environ gives it; nil: none is looked at
	Set         map[string]string // values by key, such as "limits.tool_timeout"; lists are comma separated

	// Tools are what can be called; no name may occur twice. New lists them once, on behalf
	// of auth.Anonymous, for the card: a toolset that fails then is an error.
	Tools   []tool.Toolset
	Planner task.Planner              // nil: the one that is configured
	Confirm tool.ConfirmationProvider // asked for every new approval beside the client; see engine.Config.Provider
	Hooks   []task.Hook               // run before the policy, in order, on each planned call
	Policy  *approval.Policy          // nil: made from the configuration's gates and deadlines

	// Presenter shows approvals to clients and reads their answers; nil: all dialects that
	// are known.
	Presenter task.Presenter

	// Authenticator proves who makes a request; nil: everybody is auth.Anonymous. Without
	// one a public address is refused, unless insecure_no_auth is set.
	Authenticator auth.Authenticator

	// Store is where tasks are kept; nil: what the key store says. It is not closed by the
	// Server, and belongs to it alone. If it has them, its methods Err() error, Trouble()
	// error and Incarnation() uint64 are used, as those of *boltstore.Handle are.
	Store store.Handle

	// NoListen opens no port: requests come through [Server.Handler], in the caller's own
	// HTTP server, which is then responsible for timeouts and connections.
	NoListen bool

	// Log is the server's log. The zero Logger discards everything.
	Log zerolog.Logger

	// Now and Host are the time of tasks: of deadlines, timers and time-outs of calls. They
	// are for tests, such as those of package a2aservertest; nil: the system's.
	Now  func() time.Time
	Host engine.Host

	// CrashPoint is called at the crash points of packages engine and boltstore, for tests
	// that kill the process there.
	CrashPoint func(point string)
}

// load reads the configuration.
func (c *Config) load() (*config.Config, error) {
	return config.Load(config.Source{File: c.File, Environment: c.Environment, Flags: c.Set, Authenticated: c.Authenticator != nil || c.NoListen})
}

// Check returns what would keep New from making a Server with this Config, as far as that
// can be seen without opening or changing anything. The error has all problems with keys;
// warnings go to the log.
func Check(c Config) error {
	conf, err := c.load()
	if err != nil {
		return err
	}
	p, err := c.parts(conf)
	for _, warning := range p.warnings {
		c.Log.Warn().Msg(warning)
	}
	return err
}
