package mcptoolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/internal/egress"
	"a2a-server/internal/guard"
	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// The limits of a session that cannot be configured.
const (
	closeGrace     = time.Second // for a session that ends in peace
	maxProgress    = 200         // characters of a progress message
	modernProtocol = "2026-07-28"
	legacyProtocol = "2025-11-25"
)

// link is a connection to a server below the SDK.
type link interface {
	mcp.Transport

	kill()                   // ends it at once; may be called more than once
	release()                // waits, for a bounded time, until all that it holds is freed
	cause() error            // why it ended; nil if it has not, or the SDK knows better
	explain(err error) error // says more about why it ended; may wait for a second
}

// session is a connection to the server, from its handshake to its end.
type session struct {
	set    *Toolset
	link   link
	client *mcp.ClientSession
	born   time.Time
	own    bool                  // for a single call; it is never set.session
	asker  atomic.Pointer[asker] // of the call that runs; nil: none does

	dirty    atomic.Bool  // the server says that its list has changed
	told     atomic.Bool  // the SDK has not heard of that yet
	declined atomic.Int64 // questions, so far
	garbled  atomic.Bool  // a line that is no message has been logged
	tokens   atomic.Int64
	callers  sync.Map // progress token → context of the call

	closing atomic.Bool // this side ends it

	// Guarded by set.mu.
	calls   int
	retired bool

	ended chan struct{} // closed when the connection is over and all is freed
}

// open connects to the server. When ctx ends, so does the attempt.
func (t *Toolset) open(ctx context.Context, own bool) (*session, error) {
	s := &session{set: t, born: t.cfg.Now(), own: own, ended: make(chan struct{})}
	l, err := t.dial(ctx, s)
	if err != nil {
		return nil, err
	}
	s.link = l
	stop := context.AfterFunc(ctx, l.kill)
	client := mcp.NewClient(&mcp.Implementation{Name: "a2a-server", Version: "devel"}, s.options())
	client.AddReceivingMiddleware(s.hearing)
	s.client, err = client.Connect(ctx, l, &mcp.ClientSessionOptions{ProtocolVersion: t.protocol()})
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if why := l.cause(); why != nil && !errors.Is(why, errClosed) {
			err = l.explain(why)
		}
		l.kill()
		if s.client != nil {
			// The SDK's part of a link that is dead.
			_ = s.client.Close()
		}
		l.release()
		t.sayLastWords()
		if why := context.Cause(ctx); why != nil {
			err = fmt.Errorf("%w (%s)", why, t.text(err))
		}
		return nil, err
	}
	return s, nil
}

// dial opens the link that the configuration describes.
func (t *Toolset) dial(ctx context.Context, s *session) (link, error) {
	switch {
	case t.cfg.HTTP != nil:
		return openWeb(t.cfg.HTTP, t.cfg.maxMessage)
	case t.cfg.Command != nil:
		return t.start(t.cfg.Command, s)
	default:
		rwc, err := t.cfg.Dial(ctx)
		if err != nil {
			return nil, err
		}
		return newLines(rwc, t.cfg.maxMessage, s), nil
	}
}

// options are the SDK's. Its log, which quotes the server, is dropped.
func (s *session) options() *mcp.ClientOptions {
	o := &mcp.ClientOptions{
		Logger:         slog.New(slog.DiscardHandler),
		Capabilities:   &mcp.ClientCapabilities{}, // nil would offer roots
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			s.told.Store(false)
			s.dirty.Store(true)
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			if r.Params != nil {
				s.progress(r.Params.ProgressToken, r.Params.Progress, r.Params.Total, r.Params.Message) //nolint:contextcheck // it has that of its call
			}
		},
	}
	if s.set.cfg.Ask {
		o.Capabilities.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}
		o.ElicitationHandler = s.elicit
	}
	return o
}

// hearing counts the questions of the server, which are declined without a handler. A panic of
// the SDK over a message of the server must not end the process.
func (s *session) hearing(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer guard.Recover(&err, "the MCP library failed")
		if method == "elicitation/create" {
			s.declined.Add(1)
		}
		return next(ctx, method, req)
	}
}

// progressed is called with the parameters of a progress notification. It must not wait.
func (s *session) progressed(params json.RawMessage) {
	var p mcp.ProgressNotificationParams
	if err := json.Unmarshal(params, &p); err != nil {
		return // progress that cannot be read is no progress
	}
	s.progress(p.ProgressToken, p.Progress, p.Total, p.Message)
}

func (s *session) progress(token any, done, total float64, message string) {
	key, _ := token.(string)
	if ctx, ok := s.callers.Load(key); ok {
		tool.Report(ctx.(context.Context), tool.Progress{Done: done, Total: total, Message: visible.Clip(message, maxProgress)}) //nolint:errcheck,forcetypeassert // only contexts are stored
	}
}

// changed notes that the server's list of tools has changed, and reports whether the SDK has to be
// told, too: changes are merged until it has handled the first.
func (s *session) changed() bool {
	s.dirty.Store(true)
	return !s.told.Swap(true)
}

// garbage is called with a line that is no message.
func (s *session) garbage(line string) {
	if !s.garbled.Swap(true) {
		s.set.cfg.Logger.Warn().Str("mcp_server", s.set.cfg.Name).Str("line", visible.Clip(line, 200)).
			Msg("mcp server wrote a line to stdout that is not an MCP message; skipping all such lines, logging only the first")
	}
}

// list asks the server for its tools. more: there are more.
func (s *session) list(ctx context.Context) (tools []*mcp.Tool, more bool, err error) {
	cursor := ""
	for page := 1; ; page++ {
		r, err := s.client.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, false, fmt.Errorf("list the tools: %w", err)
		}
		tools = append(tools, r.Tools...)
		switch {
		case len(tools) > maxTools:
			return tools[:maxTools], true, nil
		case r.NextCursor == "":
			return tools, false, nil
		case page == maxPages || r.NextCursor == cursor:
			return tools, true, nil
		}
		cursor = r.NextCursor
	}
}

// call sends a call and waits for its result. f says how far it got.
func (s *session) call(ctx context.Context, f *egress.Trace, p *mcp.CallToolParams) (res *mcp.CallToolResult, err error) {
	defer guard.Recover(&err, "the MCP library failed")
	token := strconv.FormatInt(s.tokens.Add(1), 10)
	s.callers.Store(token, ctx)
	defer s.callers.Delete(token)
	p.SetProgressToken(token)
	// The SDK reads the rest of a stream, after the result, until the context ends.
	sending, cancel := context.WithCancel(egress.ContextWithTrace(ctx, f))
	defer cancel()
	return s.client.CallTool(sending, p)
}

// watch waits for the end of the session and frees its resources.
func (s *session) watch() {
	err := s.client.Wait()
	if why := s.link.cause(); why != nil {
		err = why
	}
	s.set.lost(s, err) // it takes no more calls
	err = s.link.explain(err)
	s.link.kill()
	// The library waits for the end of a subscription until it is closed, too.
	_ = s.client.Close()
	s.link.release()
	if !s.closing.Load() {
		s.set.sayLastWords()
	}
	s.set.explained(s, err)
	close(s.ended)
}

// end closes the session: in peace if it can be, else at once.
func (s *session) end() {
	s.closing.Store(true)
	late := time.AfterFunc(closeGrace, s.link.kill)
	defer late.Stop()
	// Why it ends is known.
	_ = s.client.Close()
	<-s.ended
}
