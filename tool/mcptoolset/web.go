package mcptoolset

import (
	"context"
	"io"
	"net/http"
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

// web is the link of the SDK's HTTP transport, and sends its requests. It ends everything at once when
// it is killed. It keeps the connection, because the SDK does not close it in every case when
// connecting fails.
type web struct {
	mcp.Transport
	client *http.Client    // of package egress
	calls  *http.Client    // the same, with a new connection for each request
	alive  context.Context //nolint:containedctx // ends all requests
	end    context.CancelCauseFunc
	others chan struct{} // has room for the requests that are no calls

	mu   sync.Mutex
	conn mcp.Connection
}

// exchange is the body of a response, which ends the request when it is closed.
type exchange struct {
	io.Reader

	body io.Closer
	end  func()
}

// RoundTrip implements http.RoundTripper.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.alive.Err() != nil {
		return nil, context.Cause(w.alive) //nolint:contextcheck // the connection has ended
	}
	leave := func() {}
	if egress.TraceOf(r.Context()) == nil {
		// A server that sends requests without end is not answered: each takes a goroutine.
		select {
		case w.others <- struct{}{}:
			leave = func() { <-w.others }
		default:
			return nil, publicErrorf("%d requests to the server have no answer yet", maxExchanges)
		}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(w.alive, func() { cancel(context.Cause(w.alive)) }) //nolint:contextcheck // it ends with the connection, too
	end := sync.OnceFunc(func() {
		stop()
		cancel(nil)
		leave()
	})
	through := w.calls
	if egress.TraceOf(ctx) == nil {
		through = w.client
		late := time.AfterFunc(headerTimeout, func() { cancel(publicErrorf("the server has not begun to answer for %v", headerTimeout)) })
		defer late.Stop()
	}
	resp, err := through.Transport.RoundTrip(r.Clone(ctx))
	if err != nil {
		if why := context.Cause(ctx); why != nil && r.Context().Err() == nil {
			err = why
		}
		end()
		return nil, err
	}
	x := &exchange{Reader: resp.Body, body: resp.Body, end: end}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		// The SDK reads it whole, whatever its type.
		x.Reader = io.LimitReader(resp.Body, maxErrorBody)
	}
	resp.Body = x
	return resp, nil
}

// Close closes the body.
func (x *exchange) Close() error {
	err := x.body.Close()
	x.end()
	return err
}

// openWeb returns a link to a server over HTTP.
func openWeb(h *HTTP, maxMessage int) (link, error) {
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
	w := &web{client: client, calls: calls, others: make(chan struct{}, maxExchanges)}
	w.alive, w.end = context.WithCancelCause(context.Background())
	w.Transport = &mcp.StreamableClientTransport{
		Endpoint: h.URL,
		// The client is the SDK's to use; redirects stay refused.
		HTTPClient:   &http.Client{Transport: w, CheckRedirect: w.client.CheckRedirect},
		MaxEventSize: maxMessage,
	}
	return w, nil
}

// Connect implements mcp.Transport.
func (w *web) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := w.Transport.Connect(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn = conn
	return conn, err
}

func (w *web) kill() {
	w.end(errClosed)
	w.mu.Lock()
	conn := w.conn
	w.mu.Unlock()
	if conn != nil {
		// It would say goodbye to the server, which is refused by now.
		_ = conn.Close()
	}
}

func (w *web) release() {
	w.client.CloseIdleConnections()
	w.calls.CloseIdleConnections()
}

func (w *web) cause() error            { return nil }
func (w *web) explain(err error) error { return err }
