package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"a2a-server/internal/egress"
	"a2a-server/internal/visible"
	"a2a-server/task/notify"
)

const (
	defaultTimeout = 15 * time.Second
	// maxWait bounds the time to wait that a receiver may name.
	maxWait = 24 * time.Hour
	// maxAnswer is how much of an answer is read, in bytes: only its status and Retry-After
	// count.
	maxAnswer = 16 << 10
)

// endpoint is a URL that gets requests. The URL is a secret, its host is not.
type endpoint struct {
	url    string
	host   string
	client *http.Client
}

// newEndpoint returns an endpoint for a URL with https. http is accepted for the local host,
// where nobody can read along. Errors do not quote the URL.
func newEndpoint(raw string, e egress.Config) (*endpoint, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "":
		return nil, errors.New("url: not a URL with a host; write one such as https://example.com/path")
	case u.Scheme != "https" && (u.Scheme != "http" || !egress.Loopback(u.Hostname())):
		return nil, fmt.Errorf("url: its scheme is %s; write a URL with https", visible.Quote(u.Scheme, maxName))
	case u.User != nil || u.Fragment != "":
		return nil, errors.New("url: has a user, a password or a fragment; remove it")
	}
	if e.Timeout <= 0 {
		e.Timeout = defaultTimeout
	}
	// A connection is not used again: a message in one that the server is closing may be lost.
	e.MaxBytes, e.Announced, e.NoReuse = maxAnswer, true, true
	client, err := egress.NewClient(e)
	if err != nil {
		return nil, err
	}
	return &endpoint{url: raw, host: u.Host, client: client}, nil
}

// post sends JSON with a header.
func (p *endpoint) post(ctx context.Context, body []byte, header map[string]string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("post to %q: invalid request, %w", p.host, notify.ErrPermanent)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "a2a-server")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return fmt.Errorf("post to %q: %w", p.host, cause(ctx, err))
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer))
	_ = answer.Body.Close()
	return p.judge(answer)
}

// judge returns the outcome of an answer.
func (p *endpoint) judge(answer *http.Response) error {
	code := answer.StatusCode
	if code >= 200 && code < 300 {
		return nil
	}
	wait := min(egress.RetryAfter(answer.Header.Get("Retry-After"), time.Now()), maxWait)
	switch {
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests:
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusNotFound: // of the configuration, which can be mended
	case code >= 400 && code < 500:
		return fmt.Errorf("%q answered HTTP %d: %w", p.host, code, notify.ErrPermanent)
	case code >= 300 && code < 400:
		return fmt.Errorf("%q answered HTTP %d, a redirect, which is not followed: set url to where it leads", p.host, code)
	}
	return &notify.DelayError{Err: fmt.Errorf("%q answered HTTP %d", p.host, code), After: wait}
}

// cause returns a failure without what must not be logged: the URL, and text of the other
// side. A refused address is named with the way to allow it.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	if refused, ok := errors.AsType[*egress.RefusedError](err); ok {
		return refused
	}
	if class := egress.Class(err); class != "request failed" || !errors.Is(err, io.EOF) {
		return errors.New(class)
	}
	return errors.New("connection closed without an answer")
}
