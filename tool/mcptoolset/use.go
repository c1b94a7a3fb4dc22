package mcptoolset

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"a2a-server/tool"
)

// use returns a session for a call of r. It connects if necessary, and makes sure that the
// server lists r as it is: now or within the last minute and, if a person has decided about the call, after
// that, for which it waits while a busy server does not answer. With [Config].Ask no other call
// has the session. It must be released. An error means that nothing was sent.
func (t *Toolset) use(ctx context.Context, r *remote) (*session, error) {
	decided := tool.DecidedAt(ctx)
	for listed := false; ; {
		if ctx.Err() != nil {
			return nil, t.uncalled(ctx)
		}
		if err := t.begin(); err != nil {
			return nil, err
		}
		now := t.cfg.Now()
		s := t.current()
		switch {
		case t.held(s):
			return t.useOwn(ctx, r)
		case s != nil && (listed || !t.stale(s, now) && t.listedAfter(decided)):
			err := t.take(s, t.known, r)
			t.mu.Unlock()
			return s, err
		case listed: // it ended at once
			err := t.downError(t.down)
			t.mu.Unlock()
			return nil, fmt.Errorf("%w; nothing was called", err)
		}
		a := t.attempt
		if wait := t.retryAt.Sub(now); a == nil && s == nil && wait > 0 {
			err := t.downError(t.down)
			t.mu.Unlock()
			if wait > patience {
				return nil, fmt.Errorf("%w; nothing was called", err)
			}
			select {
			case <-time.After(wait):
				continue
			case <-t.alive.Done():
				return nil, errShut
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		own := a == nil // else it may have listed before the decision
		if own {
			a = t.try() //nolint:contextcheck // it is for all calls
		}
		t.mu.Unlock()
		select {
		case <-a.done:
		case <-ctx.Done():
			return nil, t.uncalled(ctx)
		}
		switch {
		case a.busy && !decided.IsZero():
		case a.err != nil:
			t.mu.Lock()
			err := t.downError(a.err)
			t.mu.Unlock()
			return nil, fmt.Errorf("%w; nothing was called", err)
		default:
			listed = own || decided.IsZero()
		}
	}
}

// listedAfter reports whether the server was asked for its tools after a person's decision, which is kept in
// milliseconds. The caller has the lock.
func (t *Toolset) listedAfter(decided time.Time) bool {
	return decided.IsZero() || t.checked.After(decided.Add(time.Millisecond))
}

// held reports whether a call has s for itself. The caller has the lock.
func (t *Toolset) held(s *session) bool {
	return s != nil && t.cfg.Ask && s.calls > 0
}

// useOwn returns a new session for a single call of r, which lists the tools itself. The
// caller has the lock, which useOwn releases.
func (t *Toolset) useOwn(ctx context.Context, r *remote) (*session, error) {
	if t.owned == maxHolders-1 {
		t.mu.Unlock()
		return nil, fmt.Errorf("MCP server %s: %d callers already have a call that waits for it or for an answer to its question, the maximum; nothing was called; answer or cancel such a call, or try again later", t.cfg.Name, maxHolders)
	}
	t.owned++
	t.running.Add(1)
	t.mu.Unlock()
	attempt, cancel := t.briefly(ctx)
	defer cancel()
	began := t.cfg.Now()
	s, known, err := t.connect(attempt, nil, true /* own */)
	t.mu.Lock()
	down, before := err != nil, t.known
	switch {
	case t.closed:
		err = t.shut()
	case ctx.Err() != nil:
		err = t.uncalled(ctx)
	case down:
		t.cfg.Logger.Warn().Str("mcp_server", t.cfg.Name).Str("error", t.text(err)).Msg("another connection to an mcp server failed")
		why := brief(err)
		err = fmt.Errorf("%w; nothing was called", &DownError{why, fmt.Sprintf("MCP server %s does not accept another connection, and another caller's call has the first: %s", t.cfg.Name, why)})
	default:
		t.known, t.checked = known, began
		err = t.take(s, known, r)
	}
	t.mu.Unlock()
	if err != nil {
		t.giveUp(s)
		return nil, err
	}
	t.note(known, before)
	return s, nil
}

// giveUp ends a session for a single call, nil: it was not opened.
func (t *Toolset) giveUp(s *session) {
	go func() {
		defer t.running.Done()
		if s != nil {
			s.end()
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.owned--
	}()
}

// reachable returns nil if there is a connection, or else why not; it then begins to
// connect, if it is time for that.
func (t *Toolset) reachable() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return t.shut()
	}
	if t.current() != nil {
		return nil
	}
	if t.due() {
		t.try()
	}
	return t.downError(t.down)
}

// take counts a call of r on s, if r is as it is in the listing, by which gates would judge the call now. The caller
// has the lock.
func (t *Toolset) take(s *session, known *listing, r *remote) error {
	switch now := known.byName[r.definition.Name]; {
	case now == nil:
		return fmt.Errorf("MCP server %s no longer offers the tool %s; nothing was called", t.cfg.Name, r.name)
	case now.digest != r.digest:
		return fmt.Errorf("MCP server %s has changed the definition or the claims of the tool %s; nothing was called; look at the new definition and call it again", t.cfg.Name, r.name)
	case now.approval && !r.approval:
		return fmt.Errorf("MCP server %s no longer lists a tool that approve names, so the tool %s needs an approval; nothing was called; call it again", t.cfg.Name, r.name)
	}
	s.calls++
	return nil
}

// release ends the use of a session by a call. doubtful: the call ended before the server
// answered it, so a later question could belong to that call or the next; s is then closed.
func (t *Toolset) release(s *session, doubtful bool) {
	t.mu.Lock()
	s.calls--
	if doubtful && !s.retired && !t.closed {
		s.retired = true
		if t.session == s { // it has not failed: no backoff
			t.session, t.down = nil, publicError("a call was ended before the server answered it; the next one gets a new connection")
		}
	}
	last := s.retired && s.calls == 0
	t.mu.Unlock()
	switch {
	case s.own:
		t.giveUp(s)
	case last:
		t.running.Go(s.end)
	}
}

// retire makes the next use connect again, because a request on s has failed. Other calls
// on s may finish.
func (t *Toolset) retire(s *session, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.own || s.retired || t.closed {
		return
	}
	s.retired = true
	if t.session == s {
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

// uncalled returns the error of a call that was told to end before anything was sent.
func (t *Toolset) uncalled(ctx context.Context) error {
	return fmt.Errorf("MCP server %s: nothing was called: %w: %w", t.cfg.Name, tool.ErrNoEffect, context.Cause(ctx))
}

// host returns a URL without parts that may be secret.
func host(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "its URL"
	}
	return u.Scheme + "://" + u.Host
}
