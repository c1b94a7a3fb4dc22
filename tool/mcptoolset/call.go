package mcptoolset

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/internal/egress"
	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// callKey is the name under which a server gets the id of a call, the same each time that
// the call is sent, so that it can tell repetitions apart.
const callKey = "a2a-server/call"

// maxErrorText is the length of an error that a tool of a server reports, in characters.
const maxErrorText = 4 << 10

// call runs a call of r: it sends it, and sends it again with the answers to questions.
func (t *Toolset) call(ctx tool.Context, r *remote, args map[string]any) ([]*tool.Result, error) {
	if args == nil {
		args = map[string]any{}
	}
	if err := r.compiled.CheckCall(ctx, args); err != nil {
		return nil, err
	}
	in, responses, err := resumed(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.where(r), err)
	}
	for {
		p := &mcp.CallToolParams{
			Meta: mcp.Meta{callKey: ctx.TaskID() + "/" + ctx.FunctionCallID()},
			Name: r.definition.Name, Arguments: args, InputResponses: responses, RequestState: in.Server,
		}
		res, note, err := t.send(ctx, r, p)
		switch {
		case err != nil:
			return nil, err
		case !res.NeedsInput() && len(res.InputRequests) == 0:
			return results(res, note), nil
		}
		if responses, err = in.answer(t, r, res); err != nil {
			return nil, err
		}
	}
}

// send sends a call once; a second time if it is certain that nothing came of the first.
// note is that of callAsking.
func (t *Toolset) send(ctx tool.Context, r *remote, p *mcp.CallToolParams) (res *mcp.CallToolResult, note string, err error) {
	end, err := t.turn(ctx)
	if err != nil {
		return nil, "", err
	}
	defer end()
	for again := false; ; {
		s, err := t.use(ctx, r)
		if err != nil {
			return nil, "", err
		}
		f := &egress.Trace{}
		res, note, err := s.callAsking(ctx, f, r, p)
		t.release(s, t.cfg.Ask && err != nil && answered(err) == nil && f.Sent.Load() && !s.over())
		if err == nil {
			return res, note, nil
		}
		if why := s.link.cause(); why != nil && ctx.Err() == nil && answered(err) == nil {
			err = s.link.explain(why)
		}
		missing := errors.Is(err, mcp.ErrSessionMissing) && f.Status.Load() == http.StatusNotFound
		if f.Sent.Load() && !missing || ctx.Err() != nil || answered(err) != nil {
			return nil, "", t.failure(ctx, r, f, err)
		}
		t.retire(s, reason(err)) // the server did not get it
		if again {
			return nil, "", t.failure(ctx, r, f, err)
		}
		again = true
	}
}

// callAsking is call with a person to answer the server's questions meanwhile. note is not
// empty if a question was declined without asking anyone.
func (s *session) callAsking(ctx context.Context, f *egress.Trace, r *remote, p *mcp.CallToolParams) (res *mcp.CallToolResult, note string, err error) {
	if !s.set.cfg.Ask {
		before := s.declined.Load()
		if res, err = s.call(ctx, f, p); s.declined.Load() != before {
			note = declinedNote + ": such questions cannot be asked here"
		}
		return res, note, err
	}
	asking, end := context.WithCancel(ctx)
	defer end() // later questions hold nothing
	a := &asker{ctx: asking, where: s.set.where(r), slot: make(chan struct{}, 1)}
	s.asker.Store(a)
	defer s.asker.Store(nil)
	res, err = s.call(ctx, f, p)
	return res, a.noted(), err
}

// where names a tool of the server in messages.
func (t *Toolset) where(r *remote) string {
	return fmt.Sprintf("MCP server %s, tool %s", t.cfg.Name, r.definition.Name)
}

// failure classifies the error of a call: failed, or outcome unknown.
func (t *Toolset) failure(ctx context.Context, r *remote, f *egress.Trace, err error) error {
	where := t.where(r)
	status := f.Status.Load()
	switch answer := answered(err); {
	case answer != nil:
		return fmt.Errorf("%s: %s (code %d)", where, visible.Clip(answer.Message, maxErrorText), answer.Code)
	case !f.Sent.Load() && ctx.Err() != nil:
		return fmt.Errorf("%s: nothing was called: %w: %w", where, tool.ErrNoEffect, context.Cause(ctx))
	case !f.Sent.Load():
		t.noteCall(ctx, r, err)
		return fmt.Errorf("%s: nothing was called: %w: %s", where, ErrDown, brief(err))
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w: the call was ended before the server answered: %w", where, tool.ErrOutcomeUnknown, context.Cause(ctx))
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != 499:
		return fmt.Errorf("%s: the server refused the request with HTTP status %d", where, status)
	case status >= 300:
		return fmt.Errorf("%s: %w: the answer has HTTP status %d", where, tool.ErrOutcomeUnknown, status)
	default:
		t.noteCall(ctx, r, err)
		return fmt.Errorf("%s: %w: %s", where, tool.ErrOutcomeUnknown, brief(err))
	}
}

// noteCall logs why a call has no answer.
func (t *Toolset) noteCall(ctx context.Context, r *remote, err error) {
	if tool.Private(ctx) {
		err = tool.ErrMasked
	}
	t.cfg.Logger.Warn().Str("mcp_server", t.cfg.Name).Str("tool", r.definition.Name).Str("error", t.text(reason(err))).Msg("a call of an mcp server has no answer")
}

// answered returns the server's own error in err, or nil. The library uses the same type for
// failures on this side, with codes of its own.
func answered(err error) *jsonrpc.Error {
	answer, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		return nil
	}
	switch answer.Code {
	case -32003, -32004, -32005: // closing, closing, not sent
		return nil
	}
	return answer
}

// reason returns an error without the HTTP client's prefix, which contains the URL.
func reason(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	if errors.Is(err, mcp.ErrConnectionClosed) {
		if _, why, ok := strings.Cut(err.Error(), `: calling "tools/call": `); ok {
			return errors.New(why)
		}
	}
	return err
}
