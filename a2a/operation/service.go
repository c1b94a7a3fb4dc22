package operation

import (
	"cmp"
	"context"
	"errors"
	"net/url"

	"a2a-server/a2a/agentcard"
	"a2a-server/a2a/internal/wire"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// Service is the operations of a server, with everything that their bindings share. It is
// safe for concurrent use.
type Service struct {
	Config     Config          // with its defaults
	Requests   *httpd.Frontend // authentication, rate limits, bodies and responses
	Streams    *httpd.Shares   // open streams
	waiting    *httpd.Shares   // sends that wait for their task
	Table      []Operation
	Versions   Versions
	extensions extensions // of the card
	Tenants    Tenants
	BaseURL    BaseURL
	Cards      *agentcard.Cards
}

// New returns a service. It is an error if Engine is nil, or the card cannot be made.
func New(cfg Config) (*Service, error) {
	if cfg.Engine == nil {
		return nil, errors.New("a2a: a server needs an engine")
	}
	if _, err := url.Parse(cfg.Card.URL); err != nil {
		return nil, errors.New("a2a: the URL of the card cannot be read: write it as https://example.com/agent")
	}
	cfg = cfg.withDefaults()
	of := agentcard.Config{Card: cfg.Card, Pushes: cfg.Push != nil, Skills: cfg.Skills, Keys: cfg.CardKeys}
	if cfg.Authenticator != nil {
		of.SkillsOf = cfg.SkillsOf
	}
	cards, err := agentcard.New(of)
	if err != nil {
		return nil, err
	}
	s := &Service{
		Config: cfg, Table: Table(),
		Streams:  httpd.NewShares("streams are open", cfg.Streams, cfg.StreamsPerCaller),
		waiting:  httpd.NewShares("messages wait for their tasks", cfg.Waiting, cfg.WaitingPerCaller),
		Versions: Versions{onlyV1: cfg.OnlyV1, strict: cfg.StrictVersions},
		Cards:    cards,
		BaseURL:  BaseURL{cfg.Card.URL, cfg.Guard},
	}
	s.Requests = httpd.New(httpd.Config{
		Authenticator: cfg.Authenticator, Guard: cfg.Guard, Rates: cfg.Rates, MaxBody: cfg.MaxBody, Bodies: cfg.Bodies,
		Media: []string{wire.TypeJSON, wire.TypeA2A}, ReadRate: cfg.ReadRate, Recheck: cfg.Heartbeat, Same: sameScope, Log: cfg.Log, Now: cfg.Now,
	})
	s.extensions.known, s.extensions.required = cfg.Card.ExtensionURIs()
	s.Tenants = newTenants(s.Table, cfg.Health)
	return s, nil
}

// WireError converts err to its form on the wire, and logs it if it is internal.
func (s *Service) WireError(ctx context.Context, err error, method string) *wire.Error {
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), httpd.ErrStopping) && !errors.As(err, new(*engine.RecordedError)) {
		err = httpd.ErrStopping // whatever the store returned
	}
	w, known := wire.Of(err)
	s.Config.Failed(cmp.Or(w.Own, w.Reason))
	if !known && ctx.Err() == nil {
		s.Config.Log.Error().Err(err).Str("method", wire.Clip(method)).Msg("internal error")
	}
	return w
}

// sameScope reports whether two principals see the same tasks when they do an action.
func sameScope(a, b auth.Principal, action auth.Action) bool {
	return engine.ScopeFor(a, action) == engine.ScopeFor(b, action)
}

// Admit returns the error to answer with if by has no role for an operation, or a required
// extension is not active. Every binding calls it before it reads anything for the operation,
// so that the error depends on nothing else.
func (s *Service) Admit(by auth.Principal, op *Operation, active []string) error {
	if err := by.May(op.Action); err != nil {
		return err
	}
	s.Config.Requested(op.Name)
	return s.extensions.check(active)
}

// Supports returns the error of an operation that this server does not support. Bindings
// call it before they read the request.
func (s *Service) Supports(op *Operation) error {
	if op.pushes && s.Config.Push == nil {
		return noPush()
	}
	return nil
}
