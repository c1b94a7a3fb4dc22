package httpd

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"a2a-server/auth"
)

// checkTime is how long a credential may take to be authenticated again.
const checkTime = 10 * time.Second

// expired reports whether the credential of a principal has ended.
func expired(by auth.Principal, now time.Time) bool {
	return !by.Expires.IsZero() && !now.Before(by.Expires)
}

// lease ends a stream, or a send that waits, with its credential: when that expires, and when
// authenticating it again shows that it is no longer valid, or no longer allows the stream. It is
// authenticated again at each heartbeat's interval, and at once when the Authenticator says
// that something has changed. While that fails for another reason, the stream stays open
// until the credential expires.
type lease struct {
	server  *Frontend
	ctx     context.Context //nolint:containedctx // of the stream
	end     context.CancelCauseFunc
	by      auth.Principal // the principal that opened the stream
	actions []auth.Action
	renew   Renewal

	checking sync.Mutex // held while the credential is authenticated

	mu     sync.Mutex
	over   bool
	expiry *time.Timer // nil: the credential does not expire
	next   *time.Timer // for the next check
}

// ErrEnded is the cause with which a lease ends a stream. A client that connects again gets
// the exact error of its credential.
var ErrEnded = refused(http.StatusUnauthorized, "the credential has ended, or was changed, during the request: repeat it with a valid one")

// Ended returns the error to answer with if a lease has ended before anything was sent.
func (f *Frontend) Ended() *Error {
	return f.unauthenticated(&auth.Error{Code: "invalid_token", Description: ErrEnded.Message})
}

// Lease begins to watch the credential of a stream that does actions for by. It calls end
// at most once. Call stop when the stream has ended.
func (f *Frontend) Lease(ctx context.Context, by auth.Principal, renew Renewal, end context.CancelCauseFunc, actions ...auth.Action) (stop func()) {
	if renew == nil {
		return func() {}
	}
	l := &lease{server: f, ctx: ctx, end: end, by: by, actions: actions, renew: renew}
	l.mu.Lock()
	l.expires(by)
	l.next = time.AfterFunc(f.cfg.Recheck, func() { //nolint:contextcheck // it has the stream's
		l.check()
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.over {
			l.next.Reset(f.cfg.Recheck)
		}
	})
	l.mu.Unlock()
	leave := func() {}
	if f.leases.join(l, auth.ChangingOf(f.cfg.Authenticator)) { //nolint:contextcheck // likewise
		leave = func() { f.leases.leave(l) }
		l.check() //nolint:contextcheck // likewise; of what has changed since the request was authenticated
	}
	return func() {
		leave()
		l.finish(nil)
	}
}

// expires sets the timer for the end of by's credential. l.mu must be held.
func (l *lease) expires(by auth.Principal) {
	if l.expiry != nil {
		l.expiry.Stop()
		l.expiry = nil
	}
	if !by.Expires.IsZero() && !l.over {
		l.expiry = time.AfterFunc(by.Expires.Sub(l.server.cfg.Now()), func() { l.finish(ErrEnded) })
	}
}

// check authenticates the credential again.
func (l *lease) check() {
	l.checking.Lock()
	defer l.checking.Unlock()
	if l.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(l.ctx, checkTime)
	defer cancel()
	by, err := l.renew(ctx)
	switch wrong, _ := errors.AsType[*Error](err); {
	case wrong != nil && wrong.Status != http.StatusUnauthorized:
		return // it cannot be checked now
	case err != nil || !l.same(by):
		l.finish(ErrEnded)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expires(by)
}

// same reports whether by may do the actions of the stream with the same objects.
func (l *lease) same(by auth.Principal) bool {
	return !slices.ContainsFunc(l.actions, func(a auth.Action) bool { return !l.server.cfg.Same(by, l.by, a) })
}

// finish ends the lease; with a cause, the stream too.
func (l *lease) finish(why *Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	l.next.Stop()
	if l.expiry != nil {
		l.expiry.Stop()
	}
	if why != nil {
		l.end(why)
	}
}

// leases are the leases of the open streams. While there are any, a goroutine for each
// Changing waits for changes. It is safe for concurrent use.
type leases struct {
	mu   sync.Mutex
	open map[*lease]struct{}
	none chan struct{} // closed when there are no more
}

// join adds a lease, which is checked at each change from now on. It returns false if
// nothing says when it changes.
func (s *leases) join(l *lease, all []auth.Changing) bool {
	if len(all) == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == 0 {
		s.open, s.none = map[*lease]struct{}{}, make(chan struct{})
		for _, c := range all {
			go s.watch(c, c.Changed(), s.none)
		}
	}
	s.open[l] = struct{}{}
	return true
}

func (s *leases) leave(l *lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, l)
	if len(s.open) == 0 {
		close(s.none)
	}
}

// watch checks all leases after each change.
func (s *leases) watch(c auth.Changing, changed, none <-chan struct{}) {
	for {
		select {
		case <-none:
			return
		case <-changed:
		}
		changed = c.Changed()
		s.mu.Lock()
		for l := range s.open {
			go l.check() // a slow check delays no other
		}
		s.mu.Unlock()
	}
}
