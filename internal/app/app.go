package app

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/a2a/dialect"
	"a2a-server/internal/app/config"
	"a2a-server/internal/auth"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/builtin"
)

// Options are what an App is made of.
type Options struct {
	Config *config.Config // required, from config.Load
	Log    zerolog.Logger
	Hook   func(point string) // called at the points of task and boltstore, for tests that kill the process

	// Authenticate says who a request is made for; nil: everybody is anonymous.
	Authenticate func(*http.Request) (auth.Principal, error)
}

// App is a server that is put together and has its port, but serves nobody yet. Run
// is called once; an App that is not wanted any more is given back by a Run whose
// context has ended.
type App struct {
	config   *config.Config
	log      zerolog.Logger
	callers  func(*http.Request) (auth.Principal, error) // nil: everybody is anonymous
	store    *backend
	engine   *engine.Engine
	registry *tool.Registry
	listener net.Listener
	url      string // base URL, as the card has it
	server   *http.Server
	health   health
	room     room
	requests atomic.Int64 // being answered
}

// New opens the store and takes the port. An error that wraps [ErrConfig] says that
// the configuration does not fit its surroundings; all others are of the machine.
// Nothing stays open after an error.
func New(o Options) (_ *App, err error) {
	a := &App{config: o.Config, log: o.Log, callers: o.Authenticate}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.release())
		}
	}()
	parts, err := makeParts(o.Config)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Config.Data, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w: choose another one with data", err)
	}
	tools, err := builtin.New(builtin.Config{Ledger: filepath.Join(o.Config.Data, "ledger.jsonl")})
	if err != nil {
		return nil, err
	}
	a.registry = tool.NewRegistry(tools)
	if a.store, err = openStore(o.Config, o.Hook); err != nil {
		return nil, err
	}
	limits := a.limits()
	a.engine, err = engine.New(engine.Config{
		Store: a.store.handle, Tools: a.registry, Planner: parts.planner, Policy: parts.policy,
		Presenter: dialect.New(dialect.Config{Keywords: o.Config.Keywords}),
		Agent:     o.Config.Agent.Name, HoldSiblings: o.Config.HoldSiblings, NoIdempotency: !o.Config.Idempotency,
		Limits: limits.Engine, Answers: answersWithin(o.Config.Limits.Answers, debug.SetMemoryLimit(-1)), Page: o.Config.Limits.Page, Log: o.Log, Hook: o.Hook,
	})
	if err != nil {
		return nil, err
	}
	if a.listener, err = listen(o.Config); err != nil {
		return nil, err
	}
	a.room = fit(o.Config.Limits, openFiles())
	a.listener = newConnections(a.listener, a.room.connections, headerTimeout(&o.Config.Limits), o.Log, time.Now)
	a.url = baseURL(o.Config, a.listener.Addr())
	if err := a.serveProtocol(); err != nil {
		return nil, err
	}
	return a, nil
}

// limits are those of the configuration: shared among the callers, if they can be told
// apart.
func (a *App) limits() config.Limits {
	if a.callers == nil {
		return a.config.Limits.Unshared()
	}
	return a.config.Limits
}

// serveProtocol makes the HTTP server with all its routes.
func (a *App) serveProtocol() error {
	skills, err := skills(a.registry, a.config)
	if err != nil {
		return err
	}
	guard := guardOf(a.config, a.listener.Addr())
	limits := a.limits()
	protocol, err := a2a.New(a2a.Config{
		Engine: a.engine, Incarnation: a.store.incarnation, Authenticate: a.callers,
		Card: a2a.Card{
			Name: a.config.Agent.Name, Description: a.config.Agent.Description,
			Version: Version(), URL: a.url, Skills: skills,
		},
		Guard: guard, MaxBody: limits.Body, Streams: a.room.streams, StreamsPerCaller: limits.StreamsPerCaller,
		Waiting: limits.Waiting, WaitingPerCaller: limits.WaitingPerCaller, Heartbeat: limits.Heartbeat, WriteTimeout: limits.WriteTimeout, ReadRate: limits.ReadRate, Log: a.log,
	})
	if err != nil {
		return err
	}
	a.health.store, a.health.trouble = a.store.err, a.store.trouble
	a.server = a.newServer(a.routes(protocol, probeGuard(guard, a.listener.Addr())))
	return nil
}

// Addr returns the address that the App listens on.
func (a *App) Addr() net.Addr { return a.listener.Addr() }

// release closes what an App that was never run has opened.
func (a *App) release() error {
	var errs []error
	if a.listener != nil {
		errs = append(errs, a.listener.Close())
	}
	if a.store != nil {
		errs = append(errs, a.store.close())
	}
	return errors.Join(errs...)
}

// toolNames returns the names of all tools, for the log.
func (a *App) toolNames() string {
	tools, _ := a.registry.Tools(nil) // what is wrong with one has been said by New
	var names []string
	for _, t := range tools {
		names = append(names, t.Name())
	}
	return strings.Join(names, " ")
}
