// Package httpd does the work of an HTTP handler before and after its own: the caller, its
// address and its rate, the body within its limits, an answer that a slow client cannot hold,
// and the end of a request whose credential has ended. It also accepts connections, answers
// probes, and ends the requests of a server inside another one. It does not know the protocol
// that is served.
package httpd

import (
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/auth"
)

// Config configures a [Frontend].
type Config struct {
	Authenticator auth.Authenticator // nil: every caller is auth.Anonymous
	Guard         Guard
	Rates         Rates
	MaxBody       int64         // bytes of a body
	Bodies        int           // bytes of all large bodies in progress
	Media         []string      // content types of a body
	ReadRate      int           // bytes a second at which a client must read an answer
	Recheck       time.Duration // interval at which the credential of a long request is authenticated again
	// Same reports whether two principals may do an action with the same objects.
	Same func(a, b auth.Principal, action auth.Action) bool
	Log  zerolog.Logger
	Now  func() time.Time
}

// Frontend is the state that the handlers of a listener share. It is safe for concurrent use.
type Frontend struct {
	cfg       Config
	rates     *limiter
	bodies    *Shares
	leases    leases
	unchecked seldom // that a credential could not be checked
}

// New returns a Frontend. All fields of c but Authenticator and Rates must be set.
func New(c Config) *Frontend {
	return &Frontend{cfg: c, rates: newLimiter(c.Rates, c.Guard, c.Now, c.Log), bodies: NewShares("bytes are held by large requests", max(c.Bodies, 4*int(c.MaxBody)), 0)}
}

// Source returns the address of a request, as rates count it.
func (f *Frontend) Source(r *http.Request) string { return f.rates.source(CredentialsOf(r)).String() }

// Reserve takes memory for n bytes of a large request.
func (f *Frontend) Reserve(by auth.Principal, n int) (give func(), err error) {
	return f.bodies.Take(by, n)
}
