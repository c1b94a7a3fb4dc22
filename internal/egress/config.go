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

// Config says where connections may go, and how much they may take. The zero value
// allows the public internet alone.
type Config struct {
	// AllowPrivate allows addresses of private use too: loopback, RFC 1918, RFC 4193
	// and RFC 6598. Link-local addresses and the metadata services of clouds stay
	// refused; Allow can name them.
	AllowPrivate bool
	// Allow lists addresses that are allowed whatever else is said about them.
	Allow []netip.Prefix
	// Timeout is for a whole request, the reading of the answer included. Defaults
	// to DefaultTimeout; negative: none, as for streams, whose context bounds them.
	Timeout time.Duration
	// MaxBytes is how much of an answer's body may be read, after decompression.
	// Defaults to DefaultMaxBytes; negative: no bound.
	MaxBytes int64
}
