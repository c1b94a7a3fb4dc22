package mcptoolset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/internal/visible"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// ErrDown means that the server cannot be reached now. Nothing was sent to it.
var ErrDown = errors.New("the MCP server is down")

// errShut means that Close was called.
const errShut = publicError("the toolset was closed")

// Fixed values of the connection.
const (
	maxAge   = time.Minute      // age at which a listing is refreshed
	patience = 2 * time.Second  // of a call, for the next try to connect
	stable   = 30 * time.Second // how long a connection lasts that did not fail
	maxCause = 500              // characters of why the server is down
)

// Toolset has the tools of an MCP server. It implements tool.Toolset. It is safe for
// concurrent use.
//
// Its tools are streaming tools. A tool returns the structured content, or else the content: a
// string if it is a single text, else the parts. Content beside structured content is
// published as an artifact named "content".
type Toolset struct {
	cfg      Config
	identity string          // of the server
	alive    context.Context //nolint:containedctx // ends with Close
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	loaded    bool // the cache file was read
	known     *listing
	checked   time.Time // when the server was asked for known; zero: it is from the cache file
	session   *session  // for new calls; nil: not connected
	live      map[*session]struct{}
	attempt   *attempt // nil: none is running
	failures  int      // in turn
	retryAt   time.Time
	down      error // why there is no session
	legacy    bool  // the next handshake is that of the older protocol
	turns     map[caller]*turn
	waiting   int      // calls that wait for their turn
	owned     int      // sessions for a single call each
	trouble   string   // with the cache file
	saved     []byte   // content of the cache file
	lastWords []string // on stderr, of the process that ended last
}

// attempt is a try to connect, to list, or both.
type attempt struct {
	done    chan struct{} // closed when the rest is set
	session *session
	err     error
	busy    bool // the server, which has other calls, did not list in time
}

// New returns the toolset of a server. It does not connect: that happens at the first use.
// Close must be called in the end. The error has all problems with c.
func New(c Config) (*Toolset, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("MCP server %s: %w", visible.Quote(c.Name, 80), err)
	}
	t := &Toolset{cfg: c.withDefaults(), identity: c.identity(), live: map[*session]struct{}{}, turns: map[caller]*turn{}}
	t.alive, t.stop = context.WithCancel(context.Background())
	return t, nil
}

// Name implements tool.Toolset.
func (t *Toolset) Name() string { return t.cfg.Name }

// begin takes the lock, and reads the cache file. With an error, which means that Close was called,
// it does not have the lock.
func (t *Toolset) begin() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return t.shut()
	}
	t.load()
	return nil
}

func (t *Toolset) shut() error { return fmt.Errorf("MCP server %s: %w", t.cfg.Name, errShut) }

// Tools implements tool.Toolset. If the server has ever listed its tools, Tools returns them
// immediately, also while the server is down, and looks for changes in the background.
// Otherwise the first call connects, for at most 10 s; while that fails, Tools
// returns an error that wraps [ErrDown]. ctx may be nil.
func (t *Toolset) Tools(ctx agent.ReadonlyContext) ([]tool.Tool, error) {
	if err := t.begin(); err != nil {
		return nil, err
	}
	if t.due() && (t.known == nil || t.stale(t.current(), t.cfg.Now())) {
		t.try()
	}
	known, a := t.known, t.attempt
	var err error
	if known == nil && t.failures > 0 { // lookups of other tools no longer wait for this server
		err = t.downError(t.down)
	}
	t.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case known != nil:
		return known.tools, nil
	}
	var done <-chan struct{}
	if ctx != nil {
		done = ctx.Done()
	}
	select {
	case <-a.done:
	case <-done:
		return nil, fmt.Errorf("MCP server %s: list the tools: %w", t.cfg.Name, ctx.Err())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.err != nil {
		return nil, t.downError(a.err)
	}
	return t.known.tools, nil
}

// Refresh connects if necessary and lists the tools now, without waiting for a backoff. Its
// error is for the operator: it says all that is known about why the server is down.
func (t *Toolset) Refresh(ctx context.Context) error {
	if err := t.begin(); err != nil {
		return err
	}
	a := t.attempt
	if a == nil {
		a = t.try() //nolint:contextcheck // it is for all calls
	}
	t.mu.Unlock()
	select {
	case <-a.done:
	case <-ctx.Done():
		return fmt.Errorf("MCP server %s: list the tools: %w", t.cfg.Name, ctx.Err())
	}
	if a.err != nil {
		if a.session != nil && a.session.over() { // the last output of its program arrives soon
			select {
			case <-a.session.ended:
			case <-ctx.Done():
			}
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.downFor(a.err, t.text(a.err))
	}
	return nil
}

// Status is the state of a server, for people. Texts of the server in it are escaped and
// shortened.
type Status struct {
	Connected bool
	Err       error    // why there is no connection; nil if none was needed yet
	LastWords []string // the last lines that the process which ended last wrote to stderr
	Calls     int      // that run, or wait for another of their caller
	Problems  []string // with the tools, and with the cache file
}

// Status returns the known state without asking the server.
func (t *Toolset) Status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Status{Connected: t.session != nil, LastWords: t.lastWords, Calls: t.waiting}
	if t.down != nil {
		s.Err = errors.New(t.text(t.down))
	}
	if t.trouble != "" {
		s.Problems = append(s.Problems, t.trouble)
	}
	for one := range t.live {
		s.Calls += one.calls
	}
	if t.known != nil {
		s.Problems = append(s.Problems, t.known.problems...)
	}
	return s
}

// Busy reports whether a call runs, or waits for another of its caller.
func (t *Toolset) Busy() bool { return t.Status().Calls > 0 }

// Close ends the connection and waits, a few seconds at most, until everything is freed.
// Calls that run end with an unknown outcome.
func (t *Toolset) Close() error {
	t.mu.Lock()
	t.closed = true
	t.stop()
	live := slices.Collect(maps.Keys(t.live))
	t.mu.Unlock()
	for _, s := range live {
		t.running.Go(s.end)
	}
	t.running.Wait()
	return nil
}

// due reports whether it is time for another attempt, and none is running. The caller has the lock.
func (t *Toolset) due() bool { return t.attempt == nil && !t.cfg.Now().Before(t.retryAt) }

// try starts an attempt in the background. The caller has the lock and knows that none is
// running.
func (t *Toolset) try() *attempt {
	a := &attempt{done: make(chan struct{})}
	t.attempt = a
	s := t.current()
	t.running.Go(func() { t.run(a, s) })
	return a
}

// run is an attempt: it connects, unless s is a session, and lists.
func (t *Toolset) run(a *attempt, s *session) {
	ctx, cancel := t.briefly(context.Background())
	defer cancel()
	opened, began := s == nil, t.cfg.Now()
	s, known, err := t.connect(ctx, s, false /* own */)

	t.mu.Lock()
	before := t.known
	if t.checked.IsZero() {
		before = nil // it is from the cache file
	}
	t.attempt = nil
	if err == nil && t.closed {
		err = errShut
	}
	if err == nil && s.over() {
		if err = s.link.cause(); err == nil {
			err = publicError("the connection ended")
		}
	}
	busy := false
	if err == nil {
		t.session, t.down = s, nil
		t.known, t.checked = known, began
	} else {
		// A server that is at work may not have the time to list.
		if busy = !opened && t.session == s && s.calls > 0; !busy {
			t.failed(err)
			if t.session == s {
				t.session = nil
			}
		}
		// A server that does not answer may not know the newer handshake.
		t.legacy = opened && ctx.Err() != nil && !t.legacy
	}
	a.session, a.err, a.busy = s, err, busy
	t.mu.Unlock()
	close(a.done)
	switch {
	case err == nil:
		t.note(known, before)
		if opened {
			t.cfg.Logger.Info().Str("mcp_server", t.cfg.Name).Int("tools", len(known.tools)).Msg("mcp server connected")
		}
		t.save(known)
	case s != nil && !busy:
		s.end()
	}
}

// briefly returns the context of an attempt, which ends with ctx, when the attempt has
// taken too long, and when the toolset is closed.
func (t *Toolset) briefly(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.cfg.listTimeout,
		publicErrorf("it has not connected and listed its tools for %v", t.cfg.listTimeout))
	stop := context.AfterFunc(t.alive, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// connect opens a session, unless s is given, and lists. With an error it returns the session,
// if any, only to be closed.
func (t *Toolset) connect(ctx context.Context, s *session, own bool) (*session, *listing, error) {
	if s == nil {
		var err error
		if s, err = t.open(ctx, own); err != nil {
			return nil, nil, err
		}
		t.mu.Lock()
		t.live[s] = struct{}{}
		t.mu.Unlock()
		t.running.Go(s.watch)
	}
	s.dirty.Store(false)
	tools, more, err := s.list(ctx)
	if err != nil {
		if why := context.Cause(ctx); why != nil {
			err = why
		} else if why := s.link.cause(); why != nil {
			err = s.link.explain(why)
		}
		return s, nil, err
	}
	return s, t.understand(tools, more), nil
}

// current returns the session for new calls, nil if there is none. The caller has the
// lock.
func (t *Toolset) current() *session {
	if s := t.session; s != nil && s.over() {
		t.drop(s, s.link.cause())
	}
	return t.session
}

// stale reports whether the listing has to be refreshed. A busy server is not asked: it may
// not answer before it is done. The caller has the lock.
func (t *Toolset) stale(s *session, now time.Time) bool {
	return s == nil || s.dirty.Load() || s.calls == 0 && now.Sub(t.checked) > maxAge
}

// understand makes a listing of a server's announcement.
func (t *Toolset) understand(tools []*mcp.Tool, more bool) *listing {
	var definitions []definition
	var refused []string
	for _, one := range tools {
		if one == nil || !t.cfg.offers(one.Name) {
			continue
		}
		d, err := definitionOf(one)
		if err != nil {
			refused = append(refused, fmt.Sprintf("tool %s: %s; it is not offered", visible.Quote(one.Name, 80), visible.Clip(err.Error(), 300)))
			continue
		}
		definitions = append(definitions, d)
	}
	t.mu.Lock()
	before := t.known
	t.mu.Unlock()
	return t.offer(definitions, refused, more, before)
}

// note logs the problems of a listing that the listing before, which may be nil, did not have.
func (t *Toolset) note(l, before *listing) {
	if len(l.problems) > 0 && (before == nil || !slices.Equal(l.problems, before.problems)) {
		t.cfg.Logger.Warn().Str("mcp_server", t.cfg.Name).Strs("problems", l.problems).Msg("some tools of an mcp server are not offered as configured")
	}
}

// failed counts a failure and sets when the server is tried again. The caller has the
// lock.
func (t *Toolset) failed(err error) {
	t.failures++
	wait := maxRetry
	if t.failures < 16 {
		wait = min(maxRetry, t.cfg.Retry<<(t.failures-1))
	}
	t.retryAt = t.cfg.Now().Add(wait)
	t.down = err
	if !t.closed {
		t.cfg.Logger.Warn().Str("mcp_server", t.cfg.Name).Str("error", t.text(err)).Dur("retry_after", wait).Msg("mcp server is down")
	}
}

// lost is called when a session is over.
func (t *Toolset) lost(s *session, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session == s {
		t.drop(s, err)
	}
}

// drop ends the use of the current session, because it is over. The caller has the lock.
func (t *Toolset) drop(s *session, err error) {
	t.session = nil
	if err == nil {
		err = publicError("the connection ended")
	}
	if t.cfg.Now().Sub(s.born) >= stable {
		t.failures = 0
	}
	t.failed(err)
}

// explained is called when more is known about why a session is over.
func (t *Toolset) explained(s *session, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.live, s)
	if !s.own && t.session == nil && t.attempt == nil && err != nil && t.down != nil && !t.closed {
		t.down = err
	}
}

// downError says to callers that the server is down, why, as far as that is their business,
// and when it is tried again. The caller has the lock.
func (t *Toolset) downError(why error) error { return t.downFor(why, brief(why)) }

// downFor is downError with the text of the cause.
func (t *Toolset) downFor(why error, text string) error {
	if errors.Is(why, errShut) {
		return t.shut()
	}
	next := ""
	if wait := t.retryAt.Sub(t.cfg.Now()); wait > 0 {
		next = fmt.Sprintf("; it is tried again in %v", max(wait, time.Millisecond).Round(time.Millisecond))
	}
	return &DownError{text, fmt.Sprintf("MCP server %s is down: %s%s", t.cfg.Name, text, next)}
}

// A DownError is an [ErrDown] with its cause.
type DownError struct {
	Cause string // as far as that is the caller's business
	text  string
}

func (e *DownError) Error() string { return e.text }

// Unwrap returns ErrDown.
func (e *DownError) Unwrap() error { return ErrDown }

// protocol returns the version of MCP to begin with.
func (t *Toolset) protocol() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.legacy || t.cfg.Handshake {
		return legacyProtocol
	}
	return modernProtocol
}

// text returns the text of a transport's error: on one line, without the URL, which may have a
// secret.
func (t *Toolset) text(err error) string {
	text := err.Error()
	if t.cfg.HTTP != nil {
		text = strings.ReplaceAll(text, t.cfg.HTTP.URL, host(t.cfg.HTTP.URL))
		text = anyURL.ReplaceAllStringFunc(text, host) // the HTTP client writes it in its own way
	}
	return visible.Clip(sessionID.ReplaceAllString(text, ""), maxCause)
}

// anyURL is a URL in the text of an error.
var anyURL = regexp.MustCompile(`https?://[^\s"]+`)

// sessionID matches the session id that the SDK adds to errors. The id gives access to the
// session.
var sessionID = regexp.MustCompile(` \(session ID: [^)]*\)`)
