package egress

import (
	"net/netip"
	"time"
)

// The defaults of [Config].
const (
	DefaultTimeout  = 30 * time.Second
	DefaultMaxBytes = 10 << 20
)

// maxDial bounds the wait for one connection, whatever the timeout of the request.
const maxDial = 10 * time.Second

// Config says where connections may go, and limits their time and size. The zero value
// allows only the public internet.
type Config struct {
	// AllowPrivate also allows private addresses: loopback, RFC 1918, RFC 4193 and
	// RFC 6598. Link-local addresses and the metadata services of clouds stay refused;
	// Allow can name them.
	AllowPrivate bool
	// Allow lists addresses that are always allowed. It overrides all other rules.
	Allow []netip.Prefix
	// Timeout bounds a whole request, including reading the response. Defaults to
	// DefaultTimeout; negative: none, as for streams, which their context bounds.
	Timeout time.Duration
	// MaxBytes limits how many bytes of a response body may be read, after
	// decompression. Defaults to DefaultMaxBytes; negative: no limit.
	MaxBytes int64
}
