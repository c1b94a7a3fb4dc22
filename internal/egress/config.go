package egress

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// The defaults of [Config].
const (
	DefaultTimeout  = 30 * time.Second
	DefaultMaxBytes = 10 << 20
)

// maxDial bounds the wait for a connection, whatever the timeout of the request.
const maxDial = 10 * time.Second

// Config says where connections may go, and limits their time and size. The zero value
// allows only the public internet.
type Config struct {
	// AllowPrivate also allows private addresses: RFC 1918, RFC 4193 and RFC 6598. It
	// allows neither loopback, link-local addresses nor the metadata services of clouds;
	// Allow can name them.
	AllowPrivate bool
	// AllowLoopback also allows the addresses of the local host: 127.0.0.0/8 and ::1.
	AllowLoopback bool
	// Allow lists addresses that are always allowed. It overrides all other rules about
	// addresses, except Own.
	Allow []netip.Prefix
	// OnlyAllowed refuses all addresses that Allow does not list, public ones too. For connections
	// without TLS, which only a known network may see.
	OnlyAllowed bool
	// Own returns the addresses on which this process listens. They are never dialed, whatever
	// else is allowed: otherwise a caller that chooses an address could reach the server from
	// within. An unspecified address (0.0.0.0, ::) means each address of this host. Own is
	// called for each connection and must be safe for concurrent use, because the port of a
	// listener may be known only later. Defaults to none.
	Own func() []netip.AddrPort
	// Ports lists the only ports that may be dialed. Defaults to all.
	Ports []uint16
	// NAT64 lists the prefixes with which the network embeds IPv4 addresses in IPv6
	// addresses (RFC 6052), in addition to the well-known 64:ff9b::/96. The embedded
	// address must be allowed too. Their lengths are 32, 40, 48, 56, 64 or 96.
	NAT64 []netip.Prefix
	// Header are headers of every request. The functions are called for each request, so that a
	// secret can change; their values appear in no log and no error.
	Header map[string]func() (string, error)
	// RootCAs has PEM certificates that are trusted in addition to the system's. Defaults to
	// none.
	RootCAs []byte
	// MaxConnsPerHost limits the connections to a host and port, dialing ones included. A
	// request waits for a free connection. Defaults to no limit.
	MaxConnsPerHost int
	// NoReuse opens a connection for each request. Then no request is written to a connection
	// that the server is about to close, and the standard library repeats none. For requests
	// with effects.
	NoReuse bool
	// Timeout bounds a whole request, including reading the response. Defaults to
	// DefaultTimeout; negative: none, as for streams, which their context bounds.
	Timeout time.Duration
	// MaxBytes limits how many bytes of a response body may be read, after
	// decompression. Defaults to DefaultMaxBytes.
	MaxBytes int64
	// Announced lets through a response whose announced length exceeds MaxBytes; a read of its
	// body past the limit then fails. For callers that need only the status.
	Announced bool
	// Streams removes that limit from responses of type text/event-stream, whose readers do
	// not keep them. All other responses keep it.
	Streams bool
	// ReadBuffer is the size of a connection's read buffer, in bytes: a stream whose reader is
	// behind is read so much at once. Defaults to 4 KiB.
	ReadBuffer int
}

// Validate returns all problems with c, joined.
func (c *Config) Validate() error {
	var errs []error
	for name, value := range c.Header {
		switch key := http.CanonicalHeaderKey(name); {
		case !httpguts.ValidHeaderFieldName(name):
			errs = append(errs, fmt.Errorf("header: %.80q is not the name of a header", name))
		case slices.Contains([]string{"Accept", "Connection", "Content-Length", "Content-Type", "Host", "Last-Event-Id", "Transfer-Encoding"}, key),
			strings.HasPrefix(key, "Mcp-"), strings.HasPrefix(key, "A2a-"):
			errs = append(errs, fmt.Errorf("header: %s is set by the protocol; remove it", key))
		case value == nil:
			errs = append(errs, fmt.Errorf("header: %s has no value", key))
		}
	}
	if _, err := c.roots(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// CheckURL returns what is wrong with the URL of a server; nil: nothing. It never quotes the URL, which may
// have a secret.
func CheckURL(text, example string) error {
	switch u, err := url.Parse(text); {
	case err != nil:
		return fmt.Errorf("it cannot be parsed; write %s", example)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return errors.New("it needs the scheme http or https, and a host")
	case u.User != nil:
		return errors.New("it has a user or password; send it in a header")
	}
	return nil
}

// roots returns nil for the certificates of the system alone.
func (c *Config) roots() (*x509.CertPool, error) {
	if len(c.RootCAs) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the certificates of the system: %w", err)
	}
	if !pool.AppendCertsFromPEM(c.RootCAs) {
		return nil, errors.New("root certificates: no PEM certificate found; the file must have blocks that begin with -----BEGIN CERTIFICATE-----")
	}
	return pool, nil
}
