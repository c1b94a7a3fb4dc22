package httptool

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"a2a-server/internal/deadline"
	"a2a-server/internal/egress"
	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// errTimeout is the cause of a context that ends with the tool's timeout.
var errTimeout = errors.New("the timeout of the tool has passed")

// maxCause bounds the text of an error of the network in the log, in characters.
const maxCause = 300

// call sends the request and returns its outcome.
func (t *request) call(ctx tool.Context, args map[string]any) (*tool.Result, error) {
	if err := t.schema.CheckCall(ctx, args); err != nil {
		return nil, err
	}
	timed, cancel := deadline.WithTimeoutCause(ctx, t.config.Timeout, errTimeout)
	defer cancel()
	s := &secrets{resolve: t.config.Secrets, ctx: timed}
	r, err := t.build(timed, args, s)
	if err != nil {
		return nil, err
	}
	trace := &egress.Trace{}
	// The transport alone sends it: [http.Client] reads where a redirect leads, and drops an answer
	// for which it cannot.
	resp, err := t.config.Client.client.Transport.RoundTrip(r.WithContext(egress.ContextWithTrace(timed, trace)))
	if err != nil {
		return nil, t.unanswered(timed, "", err, trace.Sent.Load(), s)
	}
	a := &answer{
		tool: t, status: resp.StatusCode, header: resp.Header, secrets: s,
		failed: func(what string, err error) error { return t.unanswered(timed, what, err, true /* sent */, s) },
	}
	defer resp.Body.Close() //nolint:errcheck // the answer was read; how the connection ends does not matter
	return a.read(resp.Body)
}

// build returns the request for arguments.
func (t *request) build(ctx context.Context, args map[string]any, s *secrets) (*http.Request, error) {
	u, err := t.url.expand(args)
	if err != nil {
		return nil, err
	}
	var content io.Reader
	var data []byte
	var mediaType string
	if t.body != nil {
		if data, mediaType, err = t.body(args); err != nil {
			return nil, err
		}
	}
	if data != nil {
		content = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(ctx, t.config.Method, u.String(), content)
	if err != nil {
		return nil, errors.New("build the request: the arguments make no valid URL")
	}
	if r.URL.Scheme != t.url.scheme || r.URL.Host != t.url.host || r.URL.User != nil || r.URL.EscapedPath() != u.EscapedPath() {
		return nil, errors.New("build the request: the arguments would change its server or path")
	}
	// Without it, the standard library does not send a body a second time.
	r.GetBody = nil
	r.Header.Set("User-Agent", "a2a-server")
	r.Header.Set("Accept", "application/json, text/plain;q=0.9, */*;q=0.5")
	if data != nil {
		r.Header.Set("Content-Type", mediaType)
	}
	return r, expandHeaders(t.headers, args, s, r.Header)
}

// unanswered returns the error of a request without a complete response. If there was a
// connection, the request may have had its effect. The details are for the log, because the
// requester may not know the server's network; callers get what, or else the kind of err.
func (t *request) unanswered(ctx context.Context, what string, err error, sent bool, s *secrets) error {
	cause := context.Cause(ctx)
	if cause == nil || errors.Is(cause, errTimeout) {
		event := t.config.Client.log.Warn().Str("tool", t.config.Name).Str("url", t.url.scheme+"://"+t.url.host).Str("class", egress.Class(err))
		if !sent { // else it may quote the server
			event = event.Str("error", visible.Clip(s.redact(err.Error()), maxCause))
		}
		event.Msg("the request of a tool has no complete answer")
	}
	switch {
	case errors.Is(cause, errTimeout):
		err = fmt.Errorf("no complete answer within %s", t.config.Timeout)
	case cause != nil && !sent:
		err = fmt.Errorf("%w: %w", tool.ErrNoEffect, cause)
	case cause != nil:
		err = cause
	default:
		err = errors.New(cmp.Or(what, egress.Class(err)))
	}
	if !sent {
		return fmt.Errorf("%s: nothing was sent: %w", t.config.Method, err)
	}
	return fmt.Errorf("%w: %s: the request was sent: %w", tool.ErrOutcomeUnknown, t.config.Method, err)
}
