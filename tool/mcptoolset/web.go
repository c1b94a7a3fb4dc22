package mcptoolset

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/internal/egress"
)

// The limits of requests that cannot be configured.
const (
	headerTimeout = 10 * time.Second // until a response begins, except for calls of tools
	maxErrorBody  = 64 << 10         // bytes of a response that refuses a request
	maxExchanges  = 64               // requests at the same time, beside calls of tools
)

// web is the SDK's HTTP transport. It adds the headers, notes how far a call got, and ends
// everything at once when it is killed.
type web struct {
	client *http.Client // of package egress
	calls  *http.Client // the same, with a new connection for each request
	header map[string]func() (string, error)
	ears   ears
	max    int // bytes of a message

	mu     sync.Mutex
	killed bool
	live   map[*exchange]struct{}
	others int // of live, that are no calls
}

// exchange is a request and the body of its response, until that is closed.
type exchange struct {
	io.ReadCloser

	web    *web
	cancel context.CancelCauseFunc
	call   bool // of a tool
}

// newWeb returns the way to a server.
func newWeb(h *HTTP, maxMessage int, e ears) (*web, error) {
	c := h.egress(maxMessage)
	client, err := egress.NewClient(c)
	if err != nil {
		return nil, err
	}
	// An idle connection may be dead, and then it is unknown whether the request was sent.
	c.NoReuse = true
	calls, err := egress.NewClient(c)
	if err != nil {
		return nil, err
	}
	return &web{client: client, calls: calls, header: h.Header, ears: e, max: maxMessage, live: map[*exchange]struct{}{}}, nil
}

// RoundTrip implements http.RoundTripper.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	x := &exchange{web: w, cancel: cancel, call: flightOf(ctx) != nil}
	if err := w.begin(x); err != nil {
		cancel(nil)
		return nil, err
	}
	resp, err := w.send(ctx, r, cancel)
	if err != nil {
		if why := context.Cause(ctx); why != nil && r.Context().Err() == nil {
			err = why
		}
		x.end()
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		// The SDK reads it whole, whatever its type.
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxErrorBody), resp.Body}
	}
	if x.ReadCloser = resp.Body; !x.call {
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		x.ReadCloser = &overheard{ReadCloser: resp.Body, ears: w.ears, stream: kind == "text/event-stream", limit: w.max}
	}
	resp.Body = x
	return resp, nil
}

func (w *web) send(ctx context.Context, r *http.Request, cancel context.CancelCauseFunc) (*http.Response, error) {
	f := flightOf(ctx)
	if f != nil {
		// Once there is a connection, it is unknown how much of the request was written.
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { f.sent.Store(true) }})
	} else {
		late := time.AfterFunc(headerTimeout, func() { cancel(saidf("the server has not begun to answer for %v", headerTimeout)) })
		defer late.Stop()
	}
	r = r.Clone(ctx)
	for name, value := range w.header {
		v, err := value()
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", name, err)
		}
		r.Header.Set(name, v)
	}
	through := w.client
	if f != nil {
		through = w.calls
	}
	resp, err := through.Transport.RoundTrip(r)
	if err == nil && f != nil {
		f.status.CompareAndSwap(0, int32(resp.StatusCode)) //nolint:gosec // three digits
	}
	return resp, err
}

// begin counts x as live. Answers to a server that sends requests without end are refused:
// each takes a goroutine.
func (w *web) begin(x *exchange) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.killed:
		return errClosed
	case !x.call && w.others == maxExchanges:
		return saidf("%d requests to the server have no answer yet", maxExchanges)
	case !x.call:
		w.others++
	}
	w.live[x] = struct{}{}
	return nil
}

// kill ends all requests and refuses new requests.
func (w *web) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.killed = true
	for x := range w.live {
		x.cancel(errClosed)
	}
}

// end frees the resources of the exchange.
func (x *exchange) end() {
	x.cancel(nil)
	x.web.mu.Lock()
	defer x.web.mu.Unlock()
	if _, ok := x.web.live[x]; ok && !x.call {
		x.web.others--
	}
	delete(x.web.live, x)
}

// Close closes the body.
func (x *exchange) Close() error {
	err := x.ReadCloser.Close()
	x.end()
	return err
}

// openWeb returns a link to a server over HTTP.
func openWeb(h *HTTP, maxMessage int, e ears) (*link, error) {
	w, err := newWeb(h, maxMessage, e)
	if err != nil {
		return nil, err
	}
	t := &captured{Transport: &mcp.StreamableClientTransport{
		Endpoint: h.URL,
		// The client is the SDK's to use; redirects stay refused.
		HTTPClient:   &http.Client{Transport: w, CheckRedirect: w.client.CheckRedirect},
		MaxEventSize: maxMessage,
	}}
	return &link{
		transport: t,
		kill: func() {
			w.kill()
			t.close()
		},
		release: func() {
			w.client.CloseIdleConnections()
			w.calls.CloseIdleConnections()
		},
		cause:   func() error { return nil },
		explain: func(err error) error { return err },
	}, nil
}

// captured is a transport that keeps its connection, because the SDK does not close it
// in every case when connecting fails.
type captured struct {
	mcp.Transport

	mu   sync.Mutex
	conn mcp.Connection
}

// Connect implements mcp.Transport.
func (c *captured) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := c.Transport.Connect(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = conn
	return conn, err
}

func (c *captured) close() {
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn != nil {
		// It would say goodbye to the server, which is refused by now.
		_ = conn.Close()
	}
}
