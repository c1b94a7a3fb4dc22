package a2a

import (
	"context"
	"errors"
	"net/url"

	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// service is the operations of a server, with everything that their bindings share. It is
// safe for concurrent use.
type service struct {
	cfg        Config          // with its defaults
	requests   *httpd.Frontend // authentication, rate limits, bodies and responses
	streams    *httpd.Shares   // open streams
	waiting    *httpd.Shares   // sends that wait for their task
	table      []operation
	versions   versions
	extensions extensions // of the card
	tenants    tenants
	base       baseURL
	cards      *cards
}

// newService returns a service. It is an error if Engine is nil, or the card cannot be made.
func newService(cfg Config) (*service, error) {
	if cfg.Engine == nil {
		return nil, errors.New("a2a: a server needs an engine")
	}
	if _, err := url.Parse(cfg.Card.URL); err != nil {
		return nil, errors.New("a2a: the URL of the card cannot be read: write it as https://example.com/agent")
	}
	if err := errors.Join(cfg.Card.checkSecurity(), cfg.Card.CheckExtensions()); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	s := &service{
		cfg: cfg, table: table(),
		streams:    httpd.NewShares("streams are open", cfg.Streams, cfg.StreamsPerCaller),
		waiting:    httpd.NewShares("messages wait for their tasks", cfg.Waiting, cfg.WaitingPerCaller),
		versions:   versions{onlyV1: cfg.OnlyV1, strict: cfg.StrictVersions},
		extensions: cfg.Card.extensionURIs(),
		base:       baseURL{cfg.Card.URL, cfg.Guard},
	}
	s.requests = httpd.New(httpd.Config{
		Authenticator: cfg.Authenticator, Guard: cfg.Guard, Rates: cfg.Rates, MaxBody: cfg.MaxBody, Bodies: cfg.Bodies,
		Media: []string{typeJSON, typeA2A}, ReadRate: cfg.ReadRate, Recheck: cfg.Heartbeat, Same: sameScope, Log: cfg.Log, Now: cfg.Now,
	})
	s.tenants = newTenants(s.table, cfg.Health)
	var err error
	s.cards, err = newCards(cfg, s.base, s.tenants, s.versions)
	return s, err
}

// wire converts err to its form on the wire, and logs it if it is internal.
func (s *service) wire(ctx context.Context, err error, method string) *wireError {
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), httpd.ErrStopping) && !errors.As(err, new(*engine.RecordedError)) {
		err = httpd.ErrStopping // whatever the store returned
	}
	w, known := toWire(err)
	if !known && ctx.Err() == nil {
		s.cfg.Log.Error().Err(err).Str("method", clip(method)).Msg("internal error")
	}
	return w
}

// sameScope reports whether two principals see the same tasks when they do an action.
func sameScope(a, b auth.Principal, action auth.Action) bool {
	return engine.ScopeFor(a, action) == engine.ScopeFor(b, action)
}

// admit returns the error to answer with if by has no role for an operation, or a required
// extension is not active. Every binding calls it before it reads anything for the operation,
// so that the error depends on nothing else.
func (s *service) admit(by auth.Principal, op *operation, active []string) error {
	if err := by.May(op.action); err != nil {
		return err
	}
	return s.extensions.check(active)
}

// supports returns the error of an operation that this server does not support. Bindings
// call it before they read the request.
func (s *service) supports(op *operation) error {
	if op.pushes && s.cfg.Push == nil {
		return noPush()
	}
	return nil
}
