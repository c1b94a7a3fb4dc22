package egress

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

// The limits of a client that cannot be configured.
const (
	maxHeader     = 64 << 10
	maxIdle       = 100
	idleTimeout   = 90 * time.Second
	continueAfter = time.Second
)

// TooLargeError says that a response body is longer than Config.MaxBytes.
type TooLargeError struct {
	Host  string
	Limit int64 // bytes
}

// Error names the host and the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the response of %q is longer than the limit of %d bytes", e.Host, e.Limit)
}

// NewClient returns a client that connects through a [Dialer] for c. It uses no proxy
// and follows no redirects: the caller gets the redirect response. A body longer than
// c.MaxBytes fails with a *[TooLargeError]: the request itself if the length is
// announced and c.Announced is not set, else the read of the first byte too many. The
// error is that of [Config.Validate].
func NewClient(c Config) (*http.Client, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	tlsConfig, err := c.TLS()
	if err != nil {
		return nil, err
	}
	timeout := max(cmp.Or(c.Timeout, DefaultTimeout), 0)
	return &http.Client{
		Transport: &bounded{
			limit:     cmp.Or(c.MaxBytes, DefaultMaxBytes),
			announced: c.Announced,
			streams:   c.Streams,
			header:    c.Header,
			next: &http.Transport{
				Proxy:                  nil, // not even that of the environment
				DialContext:            newDialer(&c).DialContext,
				TLSClientConfig:        tlsConfig,
				ForceAttemptHTTP2:      true,
				DisableKeepAlives:      c.NoReuse,
				MaxConnsPerHost:        c.MaxConnsPerHost,
				TLSHandshakeTimeout:    maxDial,
				ExpectContinueTimeout:  continueAfter,
				MaxResponseHeaderBytes: maxHeader,
				ReadBufferSize:         c.ReadBuffer,
				MaxIdleConns:           maxIdle,
				IdleConnTimeout:        idleTimeout,
			},
		},
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// TLS returns how a client of c verifies servers. A protocol without URLs sets ServerName.
func (c *Config) TLS() (*tls.Config, error) {
	roots, err := c.roots()
	if err != nil {
		return nil, err
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}

// bounded is a transport that adds headers, and limits the size of responses.
type bounded struct {
	next      *http.Transport
	limit     int64
	announced bool // a length that is announced fails no request
	streams   bool // event streams have no limit
	header    map[string]func() (string, error)
}

// RoundTrip calls the transport and limits the body.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(b.header) > 0 {
		r = r.Clone(r.Context())
	}
	for name, value := range b.header {
		text, err := value()
		if err != nil {
			return nil, &HeaderError{name, err}
		}
		r.Header.Set(name, text)
	}
	resp, err := traced(b.next, r)
	if err != nil || b.streams && isEventStream(resp) {
		return resp, err
	}
	tooLarge := &TooLargeError{Host: r.URL.Host, Limit: b.limit}
	if resp.ContentLength > b.limit && !b.announced && r.Method != http.MethodHead {
		// The error of the close is of no use: the connection is given up.
		_ = resp.Body.Close()
		return nil, tooLarge
	}
	resp.Body = &body{ReadCloser: resp.Body, left: b.limit, err: tooLarge}
	return resp, nil
}

// isEventStream reports whether a client that knows event streams reads resp as an event
// stream.
func isEventStream(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && kind == "text/event-stream"
}

// CloseIdleConnections is the method that [http.Client.CloseIdleConnections] looks for.
func (b *bounded) CloseIdleConnections() { b.next.CloseIdleConnections() }

// body is read up to its limit.
type body struct {
	io.ReadCloser

	left int64
	err  *TooLargeError
}

// Read reads at most a single byte past the limit, to know whether there is more.
func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, b.err
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return n - 1, b.err
	}
	return n, err
}
