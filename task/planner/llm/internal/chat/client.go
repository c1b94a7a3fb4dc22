package chat

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"a2a-server/internal/deadline"
	"a2a-server/internal/egress"
)

// Config configures a Client.
type Config struct {
	URL    string                            // base URL, such as http://127.0.0.1:11434/v1
	Key    func() (string, error)            // bearer token, read for each request; nil: none
	Header map[string]func() (string, error) // headers of each request
	// Egress says where connections may go. Its Timeout, MaxBytes, Announced and Streams are
	// set here.
	Egress egress.Config
	// Transport, if set, carries requests in place of the network, without Egress.
	Transport http.RoundTripper
	// Stall is how long the server may send nothing. Defaults to 1 min.
	Stall time.Duration
}

// maxWhole bounds an answer that is no stream of events, in bytes.
const maxWhole = 1 << 20

// A Client sends requests. It is safe for concurrent use.
type Client struct {
	config Config
	client *http.Client
}

// New returns a Client. The error is that of the egress configuration.
func New(c Config) (*Client, error) {
	c.Stall = cmp.Or(c.Stall, time.Minute)
	c.Egress.Timeout, c.Egress.MaxBytes, c.Egress.Announced, c.Egress.Streams = -1, maxWhole, true, true
	client, err := egress.NewClient(c.Egress)
	if err != nil {
		return nil, err
	}
	if c.Transport != nil {
		client.Transport = c.Transport
	}
	return &Client{c, client}, nil
}

// Close closes the connections that are not in use.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// errStalled is the cause of the end of a request whose server sends nothing.
var errStalled = errors.New("the model's server sends nothing")

// Complete sends a body of [Request.Encode] and returns the answer. say gets the text as it comes;
// its error ends the request. The error is that of ctx or of say, or an *[Error].
func (c *Client) Complete(ctx context.Context, body []byte, say func(text string) error) (*Answer, error) {
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := deadline.AfterFunc(c.config.Stall, func() { cancel(errStalled) })
	defer stall.Stop()
	answer, err := c.complete(ctx, body, say, func() { stall.Reset(c.config.Stall) })
	switch {
	case err == nil:
		return answer, nil
	case outer.Err() != nil:
		return nil, context.Cause(outer)
	case errors.Is(context.Cause(ctx), errStalled):
		return nil, &Error{Reason: fmt.Sprintf("the model's server sent nothing for %v", c.config.Stall), Temporary: true}
	}
	return nil, err
}

func (c *Client) complete(ctx context.Context, body []byte, say func(string) error, alive func()) (*Answer, error) {
	r, err := c.request(ctx, body)
	if err != nil {
		return nil, err
	}
	secrets := secretsOf(r.Header)
	answer, err := c.send(r, int64(secrets.limit()), say, alive)
	if e, is := errors.AsType[*Error](err); is {
		e.Detail = secrets.clip(e.Detail)
	}
	return answer, err
}

// send sends a request. Of a body that is no answer, it reads limit bytes. Details of errors may have
// secrets.
func (c *Client) send(r *http.Request, limit int64, say func(string) error, alive func()) (*Answer, error) {
	resp, err := c.client.Do(r)
	if err != nil {
		if _, refused := errors.AsType[*egress.RefusedError](err); refused {
			return nil, unusable(err.Error(), "the address of the model's server is refused: the operator has to list it in planner.llm.networks, or to write https if it is public")
		}
		return nil, &Error{Reason: "the model's server cannot be reached (" + egress.Class(err) + ")", Detail: err.Error(), Temporary: true}
	}
	defer func() { _ = resp.Body.Close() }() // it was read, or is given up
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	from := &watched{resp.Body, alive}
	switch {
	case resp.StatusCode != http.StatusOK:
		text, _ := io.ReadAll(io.LimitReader(from, limit)) // as much as comes
		return nil, ofStatus(resp.StatusCode, string(text), egress.RetryAfter(resp.Header.Get("Retry-After"), time.Now()))
	case kind == "text/event-stream":
		return readEvents(from, say)
	case kind == "application/json":
		return readWhole(from, say)
	}
	text, _ := io.ReadAll(io.LimitReader(from, limit))
	return nil, unusable(string(text), "the model's server answered with %q in place of events or JSON: the operator has to check planner.llm.url", kind)
}

func (c *Client) request(ctx context.Context, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(c.config.URL, "/")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, unusable(err.Error(), "the URL of the model is invalid: the operator has to check planner.llm.url")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream, application/json")
	if c.config.Key != nil {
		key, err := c.config.Key()
		if err != nil {
			return nil, &Error{Reason: err.Error(), Temporary: true}
		}
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for name, value := range c.config.Header {
		text, err := value()
		if err != nil {
			return nil, &Error{Reason: err.Error(), Temporary: true}
		}
		r.Header.Set(name, text)
	}
	return r, nil
}

// watched is a body that reports each piece that comes.
type watched struct {
	from  io.Reader
	alive func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	if n > 0 {
		w.alive()
	}
	return n, err
}
