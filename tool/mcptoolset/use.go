package mcptoolset

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// use returns a session for a call of r. It connects if necessary, and makes sure that the
// server lists r as it is, now or within the last minute. The session must be released.
// An error means that nothing was sent.
func (t *Toolset) use(ctx context.Context, r *remote) (*session, error) {
	for {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("MCP server %s: nothing was called: %w", t.cfg.Name, context.Cause(ctx))
		}
		t.mu.Lock()
		if t.closed {
			t.mu.Unlock()
			return nil, fmt.Errorf("MCP server %s: %w", t.cfg.Name, errShut)
		}
		t.load()
		now := t.cfg.Now()
		if s := t.current(); !t.stale(s, now) {
			err := t.take(s, r)
			t.mu.Unlock()
			return s, err
		}
		a := t.attempt
		if a == nil {
			if wait := t.retryAt.Sub(now); t.session == nil && wait > 0 {
				err := t.downError(t.down)
				t.mu.Unlock()
				if wait > patience {
					return nil, fmt.Errorf("%w; nothing was called", err)
				}
				if err := pause(ctx, t.stopping, wait); err != nil {
					return nil, err
				}
				continue
			}
			a = t.try() //nolint:contextcheck // it is for all calls
		}
		t.mu.Unlock()
		select {
		case <-a.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("MCP server %s: nothing was called: %w", t.cfg.Name, context.Cause(ctx))
		}
		if a.err != nil {
			return nil, fmt.Errorf("%w; nothing was called", t.locked(a.err))
		}
		t.mu.Lock()
		if t.session != a.session || a.session.over() { // it ended at once
			err := t.downError(t.down)
			t.mu.Unlock()
			return nil, fmt.Errorf("%w; nothing was called", err)
		}
		err := t.take(a.session, r)
		t.mu.Unlock()
		return a.session, err
	}
}

// reachable returns nil if there is a connection, or else why not; it then begins to
// connect, if it is time for that.
func (t *Toolset) reachable() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return fmt.Errorf("MCP server %s: %w", t.cfg.Name, errShut)
	}
	if t.current() != nil {
		return nil
	}
	if t.attempt == nil && !t.cfg.Now().Before(t.retryAt) {
		t.try()
	}
	return t.downError(t.down)
}

// take counts a call of r on s, if the server still lists r as it is. The caller has the
// lock.
func (t *Toolset) take(s *session, r *remote) error {
	switch now := t.known.byName[r.definition.Name]; {
	case now == nil:
		return fmt.Errorf("MCP server %s no longer offers the tool %s; nothing was called", t.cfg.Name, r.name)
	case now.digest != r.digest:
		return fmt.Errorf("MCP server %s has changed the definition of the tool %s; nothing was called; look at the new definition and call it again", t.cfg.Name, r.name)
	}
	s.calls++
	return nil
}

// release ends the use of a session by a call.
func (t *Toolset) release(s *session) {
	t.mu.Lock()
	s.calls--
	last := s.retired && s.calls == 0
	t.mu.Unlock()
	if last {
		t.running.Go(s.end)
	}
}

// errDoubtful is why a connection is replaced that has not failed.
const errDoubtful = said("a call was ended before the server answered it; the next one gets a new connection")

// retire makes the next use connect again, because a request on s has failed, or because s
// is doubtful. Other calls on s may finish.
func (t *Toolset) retire(s *session, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.retired || t.closed {
		return
	}
	s.retired = true
	switch {
	case t.session != s:
	case errors.Is(why, errDoubtful):
		t.session, t.down = nil, why // no backoff
	default:
		t.drop(s, why)
	}
	if s.calls == 0 {
		t.running.Go(s.end)
	}
}

// over reports whether the session has ended, as far as is known.
func (s *session) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return s.link.cause() != nil
	}
}

func pause(ctx context.Context, stopping <-chan struct{}, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-stopping:
		return errShut
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// host returns a URL without what may be secret in it.
func host(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "its URL"
	}
	return u.Scheme + "://" + u.Host
}
