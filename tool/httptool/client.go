package httptool

import (
	"net/http"
	"net/netip"

	"github.com/rs/zerolog"

	"a2a-server/internal/egress"
)

// maxBytes limits an answer, after decompression.
const maxBytes = 1 << 20

// ClientConfig says which servers a [Client] may reach. The zero value allows only the
// public internet.
type ClientConfig struct {
	// Allow lists reachable addresses outside the public internet, such as an internal
	// service: loopback, private and link-local addresses, and metadata services.
	Allow []netip.Prefix
	// Own returns the addresses on which this process listens. They are never reached. It
	// must be safe for concurrent use. Defaults to none.
	Own func() []netip.AddrPort
	// Log gets network errors with addresses and server texts. Callers get the kind of
	// failure.
	Log zerolog.Logger
}

// A Client sends the requests of tools. The tools of a server share it. It is safe for
// concurrent use.
type Client struct {
	client *http.Client
	log    zerolog.Logger
}

// NewClient returns a client. The error lists all problems of c.
func NewClient(c ClientConfig) (*Client, error) {
	client, err := egress.NewClient(egress.Config{
		Allow:    c.Allow,
		Own:      c.Own,
		MaxBytes: maxBytes,
		Timeout:  -1, // each tool has its own
		// The standard library repeats a request when a reused connection breaks, and a tool
		// does not know whether the call was approved for a single attempt only.
		NoReuse: true,
	})
	if err != nil {
		return nil, err
	}
	return &Client{client, c.Log}, nil
}

// isSafe reports whether a request with the method asks for no effect (RFC 9110 §9.2.1).
func isSafe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead
}
