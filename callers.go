package a2aserver

import (
	"context"
	"fmt"
	"slices"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/auth/mtls"
	"a2a-server/auth/oidc"
	"a2a-server/auth/peer"
	"a2a-server/auth/proxy"
	"a2a-server/store"
)

// current returns a stored principal as they are now: see [engine.Config].Current. Principals whom the operator names
// are as named now, all others as they were seen last in their tenant. Without any request of theirs, such as a key
// that the program checks itself, they are as they were. Where callers authenticate, no principal is anonymous.
func (s *Server) current(ctx context.Context, was auth.Principal) (by auth.Principal, err error) {
	ours := slices.Contains([]string{apikey.Method, peer.Method, oidc.Method, proxy.Method, mtls.Method}, was.Method)
	switch {
	case was.IsAnonymous() && s.Authenticator != nil:
		return by, &auth.WithdrawnError{Why: "they were anonymous, and callers have to authenticate now"}
	case was.IsPersona() && !s.given.Inside.Demo:
		return by, &auth.WithdrawnError{Why: "they were the persona of a demo, and this server is none"}
	case was.IsAnonymous(), was.IsPersona():
		return was, nil
	case !ours || s.given.Authenticator != nil && was.Mark != peer.Setting: // beside it, only local users are the operator's
		return s.lastSeen(ctx, was, true /* ofProgram */)
	}
	switch by, named, err := s.Current(was); {
	case err != nil:
		return auth.Principal{}, err
	case named:
		return s.persons.Complete(ctx, by)
	}
	return s.lastSeen(ctx, was, false /* ofProgram */)
}

// lastSeen is current for principals of another server, or of the program, which need not show them.
func (s *Server) lastSeen(ctx context.Context, was auth.Principal, ofProgram bool) (auth.Principal, error) {
	last, ok, err := s.persons.Last(ctx, was.Tenant, was.Subject)
	if err != nil {
		return auth.Principal{}, err
	}
	if ofProgram && !ok {
		return was, nil
	}
	if within := s.settings.Grants.SeenWithin; !ok || s.given.Now().Sub(last.Time) > within {
		return auth.Principal{}, &auth.WithdrawnError{Why: fmt.Sprintf("they have not been seen for %s (grants.seen_within)", approval.Span(within)), Unseen: true}
	}
	was.Roles = last.Roles
	if ofProgram {
		return was, nil
	}
	was.Method, was.Person, was.PersonSeen = last.Method, last.Person, last.Person != ""
	return s.People.Known(was)
}

// warnUnreached logs how many tasks of the store no caller may see. It reads the headers of all tasks.
func (s *Server) warnUnreached(ctx context.Context) {
	reach := s.parts.Reach
	if reach == nil {
		return
	}
	for h, err := range store.AllTasks(ctx, s.store.handle, store.System(), store.Query{Limit: 1000}) {
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.log.Warn().Err(err).Msg("it is not known whether tasks are out of reach of all callers")
			return
		}
		reach.Add(h)
	}
	warn(s.log, reach.Warnings())
}
