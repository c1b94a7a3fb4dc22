package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	maxAnswer  = 256 << 20        // bytes
	timeout    = 90 * time.Second // of a request that is no stream
	firstPause = 200 * time.Millisecond
	maxPause   = 30 * time.Second
)

// ErrForeign means that the responding server is not an a2a-server with an approvals API of
// this version.
var ErrForeign = errors.New("no a2a-server with the approvals API of this version responds: check the URL, and the version of the server")

// call sends a request until it is answered, and returns the answer.
func call[T any](ctx context.Context, c *Client, method, path string, query values, body any) (out T, err error) {
	var content []byte
	if body != nil {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false) // the arguments stay as they are
		if err := e.Encode(body); err != nil {
			return out, fmt.Errorf("encode the request: %w", err)
		}
		content = b.Bytes()
	}
	changes := method != http.MethodGet
	for n := 0; ; n++ {
		var answer []byte
		answer, err = c.once(ctx, method, path, query, content)
		if err == nil {
			var got T // an answer that cannot be read leaves nothing behind
			if json.Unmarshal(answer, &got) == nil {
				return got, nil
			}
			if changes {
				return out, &OutcomeError{ErrForeign}
			}
			return out, ErrForeign
		}
		if changes {
			err = outcome(err)
		}
		pause, again := retry(err, n, changes)
		if !again || n >= c.cfg.Retries || c.pause(ctx, err, pause) != nil {
			return out, plain(err)
		}
	}
}

// sendError is a request that was not answered.
type sendError struct {
	unsent bool // the server cannot have seen it
	cause  error
}

func (e *sendError) Error() string { return e.cause.Error() }
func (e *sendError) Unwrap() error { return e.cause }

// plain returns the cause of a sendError, and any other error as it is.
func plain(err error) error {
	if lost, is := err.(*sendError); is { //nolint:errorlint // the outermost only
		return lost.cause
	}
	return err
}

// outcome returns the error of a change: an OutcomeError if it may have been made.
func outcome(err error) error {
	if lost, is := errors.AsType[*sendError](err); is && !lost.unsent {
		return &OutcomeError{lost.cause}
	}
	if refused, is := errors.AsType[*Error](err); is && refused.Reason == ReasonUnclear {
		return &OutcomeError{refused}
	}
	return err
}

// retry reports whether a request may be sent again after err, and how long to wait before.
func retry(err error, n int, changes bool) (pause time.Duration, again bool) {
	pause = backoff(n)
	var unknown *OutcomeError
	if errors.As(err, &unknown) {
		return 0, false
	}
	if refused, is := errors.AsType[*Error](err); is {
		if refused.Status != http.StatusTooManyRequests && refused.Status != http.StatusServiceUnavailable || refused.Reason == ReasonDataLoss {
			return 0, false
		}
		if changes && refused.Reason != ReasonTooMany && refused.Reason != ReasonBusy {
			return 0, false // not the server's own words
		}
		told := time.Duration(refused.RetryAfter) * time.Second
		return max(pause, told), told <= maxPause
	}
	_, is := errors.AsType[*sendError](err)
	permanent := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if name, of := errors.AsType[*net.DNSError](err); of && name.IsNotFound {
		permanent = true
	}
	return pause, is && !permanent
}

// backoff returns how long to wait after n failures: twice as long each time, with jitter.
func backoff(n int) time.Duration {
	d := min(firstPause<<min(n, 10), maxPause)
	return d/2 + rand.N(d) //nolint:gosec // only so that clients do not come back together
}

// pause waits, and returns an error if ctx ends first.
func (c *Client) pause(ctx context.Context, cause error, d time.Duration) error {
	if c.cfg.OnRetry != nil {
		c.cfg.OnRetry(plain(cause), d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// once sends a request, and reads the whole answer.
func (c *Client) once(ctx context.Context, method, path string, query values, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errSilent)
	defer cancel()
	response, err := c.send(ctx, method, path, query, body, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, &sendError{cause: fmt.Errorf("the connection ended within the answer: %w", reason(ctx, err))}
	case len(answer) > maxAnswer:
		return nil, &sendError{cause: fmt.Errorf("the answer has more than %d MiB", maxAnswer>>20)}
	}
	return answer, nil
}

var errSilent = errors.New("the server has not answered in time")

// reason returns why a request with ctx has failed: the cause of ctx, if that has ended.
func reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // the rest is the URL
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("the connection ended before the answer: %w", err)
	}
	return err
}

// send sends a request, and returns a successful response.
func (c *Client) send(ctx context.Context, method, path string, query values, body []byte, header http.Header) (*http.Response, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err // nothing was sent
	}
	tried, sent := false, false
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { tried = true },
		GotConn: func(httptrace.GotConnInfo) { sent = true },
	})
	parameters := url.Values{}
	for name, value := range query {
		if value != "" {
			parameters.Set(name, value)
		}
	}
	if c.cfg.Anonymous {
		parameters.Set("anonymous", "true")
	}
	target := c.base + path
	if len(parameters) > 0 {
		target += "?" + parameters.Encode()
	}
	r, err := http.NewRequestWithContext(traced, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	for name := range header {
		r.Header.Set(name, header.Get(name))
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.cfg.Credential != nil {
		field, value, err := c.cfg.Credential(ctx)
		if err != nil {
			return nil, fmt.Errorf("get the credential: %w", err)
		}
		r.Header.Set(field, value)
	}
	response, err := c.web.Do(r)
	if err != nil {
		return nil, &sendError{unsent: tried && !sent, cause: reason(ctx, err)}
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	return nil, refusal(response)
}

// refusal returns the error of an answer that is no success.
func refusal(r *http.Response) error {
	const most = 4 << 20
	body, err := io.ReadAll(io.LimitReader(r.Body, most))
	var e Error
	if kind := r.Header.Get("Content-Type"); err == nil && strings.HasPrefix(kind, "application/problem+json") && json.Unmarshal(body, &e) == nil && e.Reason != "" {
		e.Status = r.StatusCode
	} else {
		// The answer is from another program, which may have passed the request on.
		e = Error{Status: r.StatusCode, Title: http.StatusText(r.StatusCode), Detail: fmt.Sprintf("status %s: %s", r.Status, ErrForeign), Reason: ReasonUnclear}
		if r.StatusCode < http.StatusInternalServerError {
			e.Reason = ReasonInvalid
		}
		if r.StatusCode == http.StatusUnauthorized {
			e.Reason = ReasonUnauthenticated
		}
		e.readStatus(body)
	}
	if after, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil && after > 0 {
		e.RetryAfter = after
	}
	return &e
}

// readStatus takes the message and the reason of a google.rpc.Status, which is the body of A2A
// errors over HTTP+JSON (A2A 1.0 §11.6).
func (e *Error) readStatus(body []byte) {
	var of struct {
		Error struct {
			Message string
			Details []struct{ Reason string }
		}
	}
	if json.Unmarshal(body, &of) != nil || of.Error.Message == "" {
		return
	}
	e.Detail = of.Error.Message
	for _, d := range of.Error.Details {
		if d.Reason != "" {
			e.Reason = d.Reason
		}
	}
}
