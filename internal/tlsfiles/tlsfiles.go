// Package tlsfiles is the TLS of a listener whose certificates are in files. It owns the
// reload of the files. It does not know the service, or the identity of a client.
//
// The files are read again when a client connects, at most once a second, and compared as a
// whole: their times would not show a change within a tick of the clock. If they do not fit
// together, as while they are being replaced, the previous certificates stay in use and the
// log has the reason. Open connections keep their certificates; [Files.Trusts] reports whether
// an authority is still valid, and [Files.Changed] when to ask again. [Files.Run] notices a
// change of the authorities even if no client connects.
package tlsfiles

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

const (
	maxFile = 4 << 20     // bytes of a file
	pause   = time.Second // between two looks at the files
)

// Config names the files, all in PEM.
type Config struct {
	Cert string // the certificate of the server, followed by the intermediate certificates
	Key  string // the private key of the server's certificate; not readable for all users
	// ClientCA has the certificates of the authorities of clients. Clients are asked for a
	// certificate only if it is set.
	ClientCA string
	// RequireClient refuses connections without a certificate of a client, where ClientCA is set. A
	// certificate of another authority is refused in any case.
	RequireClient bool
	Now           func() time.Time // defaults to time.Now
	Log           zerolog.Logger
}

// Files are certificates that are read again when their files change. They are safe for
// concurrent use.
type Files struct {
	config Config

	looking sync.Mutex // held while the files are read; guards:
	looked  time.Time
	seen    string // digest of their contents

	mu      sync.RWMutex // guards:
	current *tls.Config
	trusted map[string]bool // the authorities, by their DER
	changed chan struct{}   // closed when they change
}

// New reads the files. The error says which file cannot be used.
func New(c Config) (*Files, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	f := &Files{config: c, looked: c.Now(), changed: make(chan struct{})}
	if _, err := f.load(); err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return f, nil
}

// TLS returns the configuration for listeners: TLS 1.2 and newer, HTTP/2 and HTTP/1.1, with
// the certificates as they are in the files. Several listeners may use it.
func (f *Files) TLS() *tls.Config {
	c := base()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		f.look()
		f.mu.RLock()
		defer f.mu.RUnlock()
		return f.current, nil
	}
	return c
}

func base() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}

// Trusts reports whether an authority is an authority of clients, as the files are now.
func (f *Files) Trusts(authority *x509.Certificate) bool {
	f.look()
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.trusted[string(authority.Raw)]
}

// Changed returns a channel that is closed when other authorities of clients count. Get it
// before asking [Files.Trusts], so that no change is missed.
func (f *Files) Changed() <-chan struct{} {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.changed
}

// Run looks at the files every second until ctx ends: a client that has connected may stay
// for days, and its authority be removed meanwhile. Without authorities it returns at once.
func (f *Files) Run(ctx context.Context) {
	if f.config.ClientCA == "" {
		return
	}
	every := time.NewTicker(pause)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			f.look()
		}
	}
}

// look reads the files if they have changed. While a caller does so, concurrent callers use
// the previous files.
func (f *Files) look() {
	if !f.looking.TryLock() {
		return
	}
	defer f.looking.Unlock()
	now := f.config.Now()
	if since := now.Sub(f.looked); since >= 0 && since < pause {
		return
	}
	f.looked = now
	switch changed, err := f.load(); {
	case err != nil:
		f.config.Log.Error().Err(err).Msg("cannot use the changed TLS files; the certificates read before stay in use")
	case changed:
		f.config.Log.Info().Time("expires", f.expires()).Msg("read the changed TLS files")
	}
}

// Reload reads the files now. An error says which file cannot be used; the certificates that
// were read before then stay in use.
func (f *Files) Reload() error {
	f.looking.Lock()
	defer f.looking.Unlock()
	f.looked, f.seen = f.config.Now(), ""
	if _, err := f.load(); err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	return nil
}

func (f *Files) expires() time.Time {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.current.Certificates[0].Leaf.NotAfter
}
