// Package mtls authenticates callers by the certificate of their TLS connection. It owns which
// name of a certificate is the subject. It does not verify certificates: the listener does,
// with the authorities of its configuration, and only verified chains count here.
//
// A certificate is an ambient credential: every request on the connection has it, so that a
// page in a browser could make requests in the name of its user. Its [auth.Principal.Method]
// is [Method], which tells the guard against requests from other sites to check every request,
// reads included.
package mtls

import (
	"context"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"a2a-server/auth"
	"a2a-server/internal/lists"
	"a2a-server/internal/visible"
)

// Method is the [auth.Principal.Method] of a caller with a certificate.
const Method = "mtls"

// The names of a certificate that can be the subject.
const (
	uriSAN    = "uri_san"     // the URI in the subject alternative name, such as a SPIFFE ID
	dnsSAN    = "dns_san"     // the DNS name there
	emailSAN  = "email_san"   // the address of mail there
	subjectCN = "common_name" // the common name in the subject
)

// Config maps a certificate to a caller.
type Config struct {
	// Subject is the name in the certificate: "uri_san", "dns_san", "email_san" or "common_name". A
	// certificate must have exactly one such name. With "mtls:" before it, it is the caller's.
	Subject string
	Tenant  string   // of all callers; may be empty
	Roles   []string // of all callers
	// Trusted reports whether an authority is still configured. A connection is verified once
	// and may stay open for days, while its authority may be withdrawn. Defaults to always.
	Trusted func(authority *x509.Certificate) bool
	// Changed returns a channel that is closed when Trusted may say something else, as
	// [auth.Changing] does. Nil: it never does.
	Changed func() <-chan struct{}
	Now     func() time.Time // defaults to time.Now
}

// validate returns all problems of the configuration, joined.
func (c *Config) validate() error {
	var errs []error
	if kinds := []string{uriSAN, dnsSAN, emailSAN, subjectCN}; !slices.Contains(kinds, c.Subject) {
		errs = append(errs, fmt.Errorf("mtls: subject: %.50q is not a name in a certificate; write one of %s", c.Subject, strings.Join(kinds, ", ")))
	}
	if slices.Contains(c.Roles, "") {
		errs = append(errs, errors.New("mtls: roles: a role is empty; remove it"))
	}
	return errors.Join(errs...)
}

// An Authenticator authenticates callers by their certificates. It implements
// [auth.Authenticator], [auth.Challenger] and [auth.Changing], and is safe for concurrent use.
type Authenticator struct{ config Config }

// New returns an Authenticator. The error lists all problems of the configuration.
func New(c Config) (*Authenticator, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Authenticator{c.withDefaults()}, nil
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Trusted == nil {
		c.Trusted = func(*x509.Certificate) bool { return true }
	}
	c.Roles = slices.Clip(slices.Clone(c.Roles))
	return c
}

// Authenticate implements [auth.Authenticator]. The caller is always a service
// ([auth.KindService]). A connection without a certificate gets [auth.ErrNone].
func (a *Authenticator) Authenticate(_ context.Context, c *auth.Credentials) (auth.Principal, error) {
	var none auth.Principal
	if c.TLS == nil || len(c.TLS.PeerCertificates) == 0 {
		return none, auth.ErrNone
	}
	cert, expires, err := a.config.verify(c.TLS.VerifiedChains)
	if err != nil {
		return none, err
	}
	name, err := subject(cert, a.config.Subject)
	if err != nil {
		return none, err
	}
	p := auth.Principal{
		Tenant: a.config.Tenant, Subject: Method + ":" + name, Kind: auth.KindService,
		Roles: a.config.Roles, Method: Method, Expires: expires,
	}
	if err := p.Validate(); err != nil {
		return none, refuse("the client certificate does not name a valid caller: %s", visible.Clip(err.Error(), 300))
	}
	return p, nil
}

// Require returns a check for [auth.Requiring]: the connection must have a certificate that is
// still valid, for every caller. Of the configuration it uses Trusted and Now.
func Require(c Config) func(*auth.Credentials) error {
	c = c.withDefaults()
	return func(cr *auth.Credentials) error {
		if cr.TLS == nil {
			return refuse("the connection has no client certificate: connect with one")
		}
		_, _, err := c.verify(cr.TLS.VerifiedChains)
		return err
	}
}

// Changed implements [auth.Changing].
func (a *Authenticator) Changed() <-chan struct{} {
	if a.config.Changed == nil {
		return nil // which is never closed
	}
	return a.config.Changed()
}

// Challenges implements [auth.Challenger]. HTTP has no scheme for certificates.
func (a *Authenticator) Challenges() []string { return []string{scheme} }

const scheme = "TLS-Client-Certificate"

func refuse(format string, args ...any) error {
	return &auth.Error{Scheme: scheme, Description: fmt.Sprintf(format, args...)}
}

// verify returns the certificate of the client and when the last of its trusted chains ends.
// A chain ends with the first certificate in it that does.
func (c *Config) verify(chains [][]*x509.Certificate) (client *x509.Certificate, last time.Time, err error) {
	for _, chain := range chains {
		if len(chain) == 0 || !c.Trusted(chain[len(chain)-1]) {
			continue
		}
		first := chain[0].NotAfter
		for _, cert := range chain {
			if cert.NotAfter.Before(first) {
				first = cert.NotAfter
			}
		}
		if first.After(last) {
			client, last = chain[0], first
		}
	}
	switch {
	case client == nil:
		return nil, last, refuse("the client certificate is not of an authority that this server trusts: connect with another one")
	case c.Now().After(last):
		return nil, last, refuse("the client certificate has expired: connect with a new one")
	}
	return client, last, nil
}

// subject returns the name of a certificate.
func subject(cert *x509.Certificate, kind string) (string, error) {
	var names []string
	switch kind {
	case uriSAN:
		names = lists.Map(cert.URIs, (*url.URL).String)
	case dnsSAN:
		names = lists.Map(cert.DNSNames, strings.ToLower)
	case emailSAN:
		names = cert.EmailAddresses
	default:
		for _, name := range cert.Subject.Names {
			if text, ok := name.Value.(string); ok && name.Type.Equal(commonName()) {
				names = append(names, text)
			}
		}
	}
	if len(names) != 1 || strings.TrimSpace(names[0]) == "" {
		return "", refuse("the client certificate has %d names of kind %s, and needs one: get a certificate with exactly one", len(names), kind)
	}
	return names[0], nil
}

// commonName is the attribute of X.520.
func commonName() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{2, 5, 4, 3} }
