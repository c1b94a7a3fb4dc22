package httptool

import (
	"errors"
	"net/http"
	"net/netip"

	"a2a-server/internal/egress"
)

// DefaultMaxBytes is the default of [ClientConfig].MaxBytes.
const DefaultMaxBytes = 1 << 20

// ClientConfig says which servers a [Client] may reach. The zero value allows only the
// public internet.
type ClientConfig struct {
	// Allow lists the addresses outside the public internet that may be reached, such as
	// those of an internal service: loopback, private and link-local ones, and metadata
	// services.
	Allow []netip.Prefix
	// Own returns the addresses on which this process listens. They are never reached. It
	// must be safe for concurrent use. Defaults to none.
	Own func() []netip.AddrPort
	// RootCAs has certificates in PEM that are trusted in addition to those of the
	// system. Defaults to none.
	RootCAs []byte
	// MaxConnsPerHost limits the connections to one host; a request waits for one to
	// become free. Defaults to no limit.
	MaxConnsPerHost int
	// MaxBytes limits an answer, after decompression. Defaults to DefaultMaxBytes.
	MaxBytes int64
}

// A Client sends the requests of tools. Tools of one server share one. It is safe for
// concurrent use.
type Client struct {
	reuse http.RoundTripper // for requests that may be written twice
	fresh http.RoundTripper // for requests that may have an effect
	close func()
}

// NewClient returns a client. The error lists all problems of c.
func NewClient(c ClientConfig) (*Client, error) {
	limit := c.MaxBytes
	if limit == 0 {
		limit = DefaultMaxBytes
	}
	e := egress.Config{
		Allow:           c.Allow,
		Own:             c.Own,
		RootCAs:         c.RootCAs,
		MaxConnsPerHost: c.MaxConnsPerHost,
		MaxBytes:        limit,
		Timeout:         -1, // each tool has its own
	}
	reuse, err := egress.NewClient(e)
	if err != nil {
		return nil, err
	}
	e.NoReuse = true
	fresh, err := egress.NewClient(e)
	if err != nil {
		return nil, err
	}
	return &Client{reuse: reuse.Transport, fresh: fresh.Transport, close: func() {
		reuse.CloseIdleConnections()
		fresh.CloseIdleConnections()
	}}, nil
}

// Close closes the connections that are not in use. The client can still be used.
func (c *Client) Close() { c.close() }

// do sends a request of the tool. It uses the transport alone, because [http.Client] reads
// where a redirect leads, and drops an answer for which it cannot. once says that the request
// must not be written twice, as the standard library may do when a connection that was used
// before breaks.
func (c *Client) do(r *http.Request, once bool) (*http.Response, error) {
	if once {
		return c.fresh.RoundTrip(r)
	}
	return c.reuse.RoundTrip(r)
}

// isSafe reports whether a request with the method asks for no effect (RFC 9110 §9.2.1).
func isSafe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead
}

func isRefused(err error) bool {
	_, ok := errors.AsType[*egress.RefusedError](err)
	return ok
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*egress.TooLargeError](err)
	return ok
}
