// Package proxy authenticates callers by a header in which a proxy in front of the server
// names them. The header is believed from configured addresses only: no other program may be
// able to connect from them, and the proxy must remove the header from its clients' requests.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"a2a-server/auth"
)

// Method is the method of the principals, and the prefix of their subjects.
const Method = "proxy"

// The bounds of a proxy's headers, in bytes.
const (
	maxName   = 256     // of a caller, a tenant or a group
	maxGroups = 8 << 10 // of all groups of a caller
)

// Config configures an [Authenticator].
type Config struct {
	Header string         // required: has the name of the caller, such as X-Forwarded-User
	From   []netip.Prefix // required: the proxies; no prefix may contain every address

	Tenant       string // of all callers
	TenantHeader string // has the tenant instead; "": Tenant

	Roles        []string            // of all callers
	GroupsHeader string              // has the groups of the caller instead, separated by commas; "": Roles
	Map          map[string][]string // the roles of each group; other groups have no roles
}

// An Authenticator believes the header of a proxy. Its zero value authenticates no caller. It
// is safe for concurrent use.
type Authenticator struct{ c Config }

// New returns an Authenticator. It is an error if the header or the proxies are missing, or a
// prefix contains every address.
func New(c Config) (*Authenticator, error) {
	switch {
	case c.Header == "":
		return nil, errors.New("proxy: no header configured: name the header with the caller's name")
	case len(c.From) == 0:
		return nil, errors.New("proxy: no proxies configured: list their addresses")
	}
	if c.GroupsHeader != "" && len(c.Map) == 0 {
		return nil, errors.New("proxy: no group gives a role: write the roles of each group")
	}
	for _, p := range c.From {
		if !p.IsValid() || p.Bits() == 0 {
			return nil, fmt.Errorf("proxy: %v is invalid or contains every address, so any client could write any name into the header; list only the addresses of the proxies", p)
		}
	}
	c.Header, c.TenantHeader, c.GroupsHeader = http.CanonicalHeaderKey(c.Header), http.CanonicalHeaderKey(c.TenantHeader), http.CanonicalHeaderKey(c.GroupsHeader)
	return &Authenticator{c}, nil
}

// Authenticate implements [auth.Authenticator]. It returns [auth.ErrNone] for a request that
// is not from a proxy, whatever its headers are, and for a request without a name.
func (a *Authenticator) Authenticate(_ context.Context, c *auth.Credentials) (auth.Principal, error) {
	if !a.trusts(c.Remote) {
		return auth.Principal{}, auth.ErrNone
	}
	name, err := one(c, a.c.Header)
	if err != nil {
		return auth.Principal{}, err
	}
	p := auth.Principal{Subject: Method + ":" + name, Tenant: a.c.Tenant, Roles: slices.Clone(a.c.Roles), Method: Method}
	if a.c.TenantHeader != "" {
		if p.Tenant, err = one(c, a.c.TenantHeader); err != nil && !errors.Is(err, auth.ErrNone) {
			return auth.Principal{}, err
		}
	}
	if a.c.GroupsHeader != "" {
		if p.Roles, err = a.roles(c); err != nil {
			return auth.Principal{}, err
		}
	}
	return p, nil
}

// Challenges implements [auth.Challenger]. There is no registered scheme for this: the
// client has to come through the proxy.
func (a *Authenticator) Challenges() []string { return []string{scheme} }

const scheme = "TrustedProxy"

// trusts reports whether a peer is a configured proxy. The unknown peer of a Unix socket is
// not: package peer authenticates it by uid.
func (a *Authenticator) trusts(peer netip.AddrPort) bool {
	addr := peer.Addr().Unmap().WithZone("")
	return addr.IsValid() && slices.ContainsFunc(a.c.From, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// one returns the single value of a header, [auth.ErrNone] if the header is missing. Two
// values, or two names in a value, mean that the client sent the header too and the proxy
// added its own.
func one(c *auth.Credentials, header string) (string, error) {
	values := c.Header(header)
	switch {
	case len(values) == 0:
		return "", auth.ErrNone
	case len(values) > 1 || strings.Contains(values[0], ","):
		return "", wrong(header, "has several values: the proxy has to replace the header of its clients")
	}
	return values[0], check(header, values[0])
}

// check rejects a text that cannot be a name, or that looks like another name.
func check(header, text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return wrong(header, "is empty: the proxy has to authenticate the caller, or leave the header out")
	case len(text) > maxName:
		return wrong(header, fmt.Sprintf("has a name of more than %d bytes", maxName))
	case !utf8.ValidString(text):
		return wrong(header, "is not UTF-8")
	case text != strings.TrimSpace(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return wrong(header, "has invisible characters")
	}
	return nil
}

// roles returns the roles of the groups that the proxy names, each once.
func (a *Authenticator) roles(c *auth.Credentials) ([]string, error) {
	values := c.Header(a.c.GroupsHeader)
	switch {
	case len(values) == 0:
		return nil, nil
	case len(values) > 1:
		return nil, wrong(a.c.GroupsHeader, "is duplicated: the proxy has to replace the header of its clients")
	case len(values[0]) > maxGroups:
		return nil, wrong(a.c.GroupsHeader, fmt.Sprintf("has more than %d bytes", maxGroups))
	}
	var roles []string
	for group := range strings.SplitSeq(values[0], ",") {
		if group = strings.TrimSpace(group); group == "" {
			continue
		}
		if err := check(a.c.GroupsHeader, group); err != nil {
			return nil, err
		}
		for _, role := range a.c.Map[group] {
			if !slices.Contains(roles, role) {
				roles = append(roles, role)
			}
		}
	}
	return roles, nil
}

// wrong returns the error of a header. It does not repeat its value.
func wrong(header, what string) error {
	return &auth.Error{Scheme: scheme, Code: "invalid_request", Description: "the header " + header + " " + what}
}
