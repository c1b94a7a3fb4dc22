package a2aserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/approval/dialect"
	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/auth/peer"
	"a2a-server/internal/directory"
	"a2a-server/internal/httpd"
	"a2a-server/internal/keyring"
	"a2a-server/internal/limits"
	"a2a-server/task/engine"
	"a2a-server/task/inbox/api"
	"a2a-server/task/inbox/web/signin"
	"a2a-server/task/notify"
	"a2a-server/task/push"
	"a2a-server/tool/searchtool"
)

// A Server is an A2A server. Its store and its port are open, but it serves nothing before
// [Server.Run]. It is safe for concurrent use. [New] makes it.
type Server struct {
	settings *Settings
	log      zerolog.Logger
	given    Config // that of New
	parts    *Parts
	Authentication
	store     *backend
	persons   *directory.Directory
	keys      *keyring.Keyring
	engine    *engine.Engine
	admin     sidePort // the admin socket
	approvals *api.Service
	signin    *signin.SignIn // nil: there are no pages
	push      *pushes        // nil: no push notifications
	notify    *pumping
	tools     offers
	addresses atomic.Pointer[[]netip.AddrPort] // of the ports, for tools that must not reach them
	port      *httpd.Port                      // nil: NoListen
	grpc      grpcPort
	url       string // base URL, for the log
	web       *http.Server
	mounted   *httpd.Mounted
	health    httpd.Health
	monitor   monitor
	limits    limits.Limits
	requests  atomic.Int64  // being answered
	streams   *httpd.Shares // that are open

	mu     sync.Mutex
	closed bool               // everything is released, or Run releases it
	end    context.CancelFunc // ends Run; nil: it was not called
	ended  chan struct{}      // closed when everything is released
}

// New opens the store and the port. The error lists all problems with the operator's
// configuration; an error that wraps [ErrConfig] means that the configuration does not fit its
// environment; all other errors come from the machine. Nothing stays open after an error.
func New(c Config) (*Server, error) {
	c.complete()
	s := &Server{settings: c.Settings, given: c, log: c.Log, ended: make(chan struct{})}
	s.tools.config = &s.given
	for _, open := range []func() error{
		s.takeParts, s.openTools, s.openData, s.makeEngine, s.makeSenders, s.openAdmin, s.openPorts, s.checkDemo, s.serveProtocol,
	} {
		if err := open(); err != nil {
			return nil, errors.Join(err, s.release())
		}
	}
	return s, nil
}

// takeParts takes the parts of the operator, checks card and push notifications, and derives the limits.
func (s *Server) takeParts() (err error) {
	if s.parts, err = s.given.Operator.Parts(&s.given, s.own); err != nil {
		return err
	}
	s.Authentication = s.parts.Authentication
	warn(s.log, s.parts.Warnings)
	if _, err = s.given.card(true); err != nil {
		return err
	}
	if s.push, err = newPushes(s.settings, s.own); err != nil {
		return err
	}
	s.limits = limits.Derive((*limits.Configured)(&s.settings.Limits), s.Authenticator != nil, limits.OfProcess())
	if s.given.Inside.Limits != nil {
		s.given.Inside.Limits(&s.limits)
	}
	return nil
}

// openTools chooses the planner, and makes the tools and gates.
func (s *Server) openTools() error { return s.tools.open(s.parts.Planner) }

// openData opens the store, whose commits are measured, and the server's own keys.
func (s *Server) openData() (err error) {
	c := &s.given
	if c.Store != nil {
		s.store = useStore(c.Store)
	} else if err := os.MkdirAll(s.settings.Data, 0o700); err != nil {
		return fmt.Errorf("create the data folder: %w: choose another one with data", err)
	} else if err := c.checkData(); err != nil {
		return err
	}
	s.meter()
	if s.store == nil {
		if s.store, err = openStore(s.settings, c.CrashPoint, s.monitor.metrics); err != nil {
			return err
		}
	}
	s.watchStore()
	s.persons = directory.New(directory.Config{Store: s.store.handle, Now: c.Now, Operators: []string{apikey.Method, peer.Method}, Log: c.Log})
	if s.Authenticator != nil {
		s.Authenticator = auth.Completing(s.Authenticator, s.persons.Complete)
	}
	s.keys, err = c.openKeys()
	return err
}

// makeEngine makes the engine.
func (s *Server) makeEngine() (err error) {
	c, offered := &s.given, s.tools.Load()
	if c.Presenter == nil {
		c.Presenter = dialect.New(dialect.Config{Keywords: s.settings.Keywords})
	}
	config := engine.Config{
		Store: s.store.handle, Tools: offered.Registry, Planner: s.tools.planner, Policy: offered.Tools.Policy, Presenter: c.Presenter,
		Memory: c.Memory, Rank: searchtool.Rank, Hooks: c.Hooks, AfterHooks: c.AfterHooks, ErrorHooks: c.ErrorHooks, Decider: c.Decider, ToolDeciders: c.ToolDeciders, ProviderErrorFails: s.settings.ProviderError == FailCall,
		Agent: s.settings.Agent.Name, DelegatedDecisions: s.Delegated, People: s.People, HoldSiblings: s.settings.HoldSiblings, NoIdempotency: !s.settings.Idempotency, WholeText: s.settings.Streams.WholeText,
		Limits: s.limits.Engine, Answers: s.limits.Answers, Page: s.limits.Page, Observers: s.monitor.observers(), Accepted: s.persons.Remember, Current: s.current, Log: c.Log, Now: c.Now, Host: c.Host, CrashPoint: c.CrashPoint,
		Routes: taskRoutes(offered.Routes),
	}
	if s.push != nil {
		config.Push = s.keys.Sealer(keyring.PushSecrets)
	}
	s.engine, err = engine.New(config)
	return err
}

// makeSenders makes the senders of push notifications and of messages to people, and the approvals API, which lists
// both.
func (s *Server) makeSenders() error {
	c := &s.given
	s.push.open(push.Config{
		Store: s.store.handle, Secrets: s.keys.Sealer(keyring.PushSecrets), Unshared: s.Authenticator == nil, View: s.engine.ViewAt,
		Log: s.log, Now: c.Now, CrashPoint: c.CrashPoint,
	}, s.keys.Signer(keyring.PushTokens))
	s.notify = newPumping(notify.Config{Store: s.store.handle, Log: s.log, Now: c.Now, CrashPoint: c.CrashPoint}, s.settings, s.tools.Load().Routes)
	s.tools.keys, s.tools.counted, s.tools.replace = s.keys, s.monitor.metrics.Reloaded, func(o *offer) {
		s.notify.SetRoutes(o.Routes) // first: the rows of a new route find it
		s.engine.Reload(o.Registry, o.Tools.Policy, taskRoutes(o.Routes))
	}
	s.approvals = api.New(api.Config{
		Approvals: s.engine.Approvals(), Tasks: s.engine.Tasks(), Events: s.engine, Audit: s.engine, ReserveRead: s.engine.ReserveRead, Webhooks: s.webhooks, Notifications: s.notify.list, Revoked: s.revoked, Incarnation: s.store.incarnation,
		Agent: s.settings.Agent.Name, Version: version(), Log: s.log,
	})
	return nil
}

// openPorts opens the ports.
func (s *Server) openPorts() error {
	switch {
	case s.given.Inside.Alone != nil:
		s.port = httpd.NewPort(s.given.Inside.Alone)
		return nil
	case s.given.NoListen:
		return nil
	}
	web, grpc, metrics := ports(s.settings, s.parts)
	l, err := s.listen(web)
	if err != nil {
		return err
	}
	limited := httpd.NewListener(l, s.limits.Connections, s.log, time.Now)
	s.port = httpd.NewPort(limited)
	if s.parts.Certificates != nil {
		s.port = httpd.NewPort(tls.NewListener(limited, s.parts.Certificates))
	}
	if err := s.listenGRPC(grpc, limited); err != nil {
		return err
	}
	return s.listenMetrics(metrics)
}

// serveProtocol makes the HTTP server with all its routes.
func (s *Server) serveProtocol() error {
	s.url = s.baseURL(s.Addr())
	guard := guardOf(s.settings, s.Addr())
	bounds := &s.limits
	card, err := s.given.card(s.tools.direct)
	if err != nil {
		return err
	}
	card.GRPC, card.Security = s.cardGRPC(), s.Schemes
	protocol, err := a2a.New(a2a.Config{
		Engine: s.engine, Incarnation: s.store.incarnation, Authenticator: s.Authenticator,
		Card: card, CardKeys: s.cardKeys(),
		Skills:         s.tools.catalog.List,
		SkillsOf:       s.tools.catalog.ListOf,
		Push:           s.push.offered(),
		Health:         "/readyz",
		Pages:          s.pagesPath(),
		StrictVersions: s.settings.Versions.Strict, OnlyV1: !s.settings.Versions.V03,
		Rates: httpd.Rates{PerCaller: s.settings.Limits.Rate, Failures: s.settings.Limits.AuthFailures},
		Guard: guard, MaxBody: s.settings.Limits.Body, Bodies: int(bounds.Bodies), Streams: bounds.Streams, StreamsPerCaller: bounds.StreamsPerCaller,
		Waiting: bounds.Waiting, WaitingPerCaller: bounds.WaitingPerCaller, Beat: bounds.Beat, Heartbeat: bounds.Heartbeat, WriteTimeout: bounds.WriteTimeout, ReadRate: bounds.ReadRate, Log: s.log, Now: s.given.Now,
		Requested: s.monitor.metrics.Requested, Failed: s.monitor.metrics.Failed,
	})
	if err != nil {
		return err
	}
	s.health.Store, s.health.Trouble = s.store.err, s.store.trouble
	s.health.Progress = s.progress
	s.health.Proxied = s.settings.Proxied() != ""
	s.health.Details = s.details
	requests, streams := protocol.Requests()
	s.streams = streams
	approvals := api.Handler(s.approvals, s.door(requests, guard, streams))
	routes := s.routes(protocol, approvals, s.pages(requests, streams, guard), probeGuard(guard, s.Addr()))
	s.mounted = httpd.NewMounted(routes, func(w http.ResponseWriter, r *http.Request) {
		protocol.Refuse(w, r, http.StatusServiceUnavailable, "the server is not running: try again later")
	})
	s.web = s.newServer(routes)
	s.grpc.rpc = protocol.GRPC(s.grpcConfig())
	return nil
}

// progress returns how many tasks of a restored store are up to date; "": it has none.
func (s *Server) progress() string {
	current, total := s.engine.Settling()
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d tasks of the backup are up to date", current, total)
}

// Handler returns a handler that serves everything the Server serves, for the caller's own
// HTTP server. It answers 503 unless Run is running, and until the tasks of a restored store are
// up to date, except to probes. When Run ends, streams end with a comment, and clients reconnect.
// To mount it at a path, use [http.StripPrefix], register the path with and without a trailing
// slash, and set public_url to the URL that clients use.
func (s *Server) Handler() http.Handler { return s.mounted }

// Addr returns the address that the Server listens on, or nil if it has no port.
func (s *Server) Addr() net.Addr { return s.port.Addr() }

// MetricsAddr returns the address of the metrics, or nil if there is no port for them.
func (s *Server) MetricsAddr() net.Addr { return s.monitor.port.Addr() }

// Reload reads the file of API keys and then the operator's configuration again. The keys take effect as
// soon as they are read, even if the configuration has errors, so that a revoked key ends.
// Tools, secrets, gates and routes, and the files of TLS, take effect at once; other keys of the
// configuration that have changed need a restart, and the log names them. Calls that run keep
// their tools; tasks that wait for a decision about a tool with another definition are asked
// again. If the file of keys or the configuration has an error, the tools stay as they are,
// and the error describes it.
func (s *Server) Reload() error {
	_, err := s.tools.reload()
	return err
}

// Approvals returns the API that lists and decides approvals, for people and programs other
// than the A2A client.
func (s *Server) Approvals() *engine.Approvals { return s.engine.Approvals() }

// Close stops Run, if it was called, and waits for it; otherwise it closes everything that New
// opened, and returns the error of that. It may be called more than once. Errors of a shutdown
// are returned by Run.
func (s *Server) Close() error {
	s.mu.Lock()
	end, first := s.end, !s.closed
	s.closed = true
	s.mu.Unlock()
	switch {
	case end != nil:
		end()
	case first:
		defer close(s.ended)
		return s.release()
	}
	<-s.ended
	return nil
}

// release closes everything that New has opened, for a Server that was never run.
func (s *Server) release() error {
	var errs []error
	if s.tools.catalog != nil {
		s.tools.catalog.Close()
	}
	errs = append(errs, s.port.Close(), s.grpc.port.Close(), s.monitor.port.close(context.Background()), s.admin.close(context.Background()), s.tools.close())
	if s.store != nil {
		errs = append(errs, s.store.close())
	}
	return errors.Join(errs...)
}

// cardKeys returns the keys that sign the agent card; nil: it is not signed.
func (s *Server) cardKeys() *keyring.Signer {
	if !s.settings.Card.Sign {
		return nil
	}
	return s.keys.Signer(keyring.AgentCard)
}
