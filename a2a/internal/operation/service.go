package operation

import (
	"cmp"
	"context"
	"errors"

	"a2a-server/a2a/internal/wire"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// Service is the operations of a server, with everything that their bindings share. It is
// safe for concurrent use.
type Service struct {
	Config
	Table    []Operation
	Versions Versions
	Tenants  Tenants

	extensions extensions
}

// New returns a service.
func New(c Config) *Service {
	table := Table()
	return &Service{c, table, Versions{onlyV1: c.OnlyV1, strict: c.StrictVersions}, newTenants(table, c.Health), extensionsOf(c.Extensions)}
}

// WireError converts err to its form on the wire, and logs it if it is internal.
func (s *Service) WireError(ctx context.Context, err error, method string) *wire.Error {
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), httpd.ErrStopping) && !errors.As(err, new(*engine.RecordedError)) {
		err = httpd.ErrStopping // whatever the store returned
	}
	w, known := wire.Of(err)
	s.Failed(cmp.Or(w.Own, w.Reason))
	if !known && ctx.Err() == nil {
		s.Log.Error().Err(err).Str("method", wire.Clip(method)).Msg("internal error")
	}
	return w
}

// Admit returns the error to answer with if by has no role for an operation, or a required
// extension is not active. Every binding calls it before it reads anything for the operation,
// so that the error depends on nothing else.
func (s *Service) Admit(by auth.Principal, op *Operation, active []string) error {
	if err := by.May(op.Action); err != nil {
		return err
	}
	s.Requested(op.Name)
	return s.extensions.check(active)
}

// Supports returns the error of an operation that this server does not support. Bindings
// call it before they read the request.
func (s *Service) Supports(op *Operation) error {
	if op.pushes && s.Push == nil {
		return noPush()
	}
	return nil
}
