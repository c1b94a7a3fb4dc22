package config

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"a2a-server/auth"
	"a2a-server/internal/strictyaml"
)

// TLS says with which certificate the server serves.
type TLS struct {
	Cert, Key  string // absolute paths of PEM files; "": no TLS
	ClientCA   string // absolute path of the CAs of client certificates; "": none are asked for
	ClientAuth ClientAuth
}

// ClientAuth says whether a client needs a certificate.
type ClientAuth string

// The values of ClientAuth.
const (
	ClientOptional ClientAuth = "optional" // a certificate that is sent has to be valid. The default.
	ClientRequired ClientAuth = "required"
)

// Auth configures the authentication of callers. Its zero value is a server without
// authentication.
type Auth struct {
	Keys   APIKeys
	OIDC   []OIDC
	MTLS   MTLS
	Proxy  Proxy
	Socket []SocketUser // local users on a Unix socket, by uid

	DelegatedDecisions bool        // services, and callers that act for others, may decide
	People             auth.People // who have several subjects
	DefaultRoles       []string    // of callers whose credential gives none
	Tenant             string      // of callers whose credential gives none
}

// Given reports whether callers of A2A are authenticated by something configured. Mapped
// local users alone do not count: they come through a socket.
func (a *Auth) Given() bool {
	return a.Keys.File != "" || len(a.OIDC) > 0 || a.MTLS.Given() || a.Proxy.Header != ""
}

// RolesOr returns the roles of a caller: their own or, without any, the default roles.
func (a *Auth) RolesOr(own []string) []string {
	if len(own) == 0 {
		return a.DefaultRoles
	}
	return own
}

// APIKeys are keys in a file of ours.
type APIKeys struct {
	Header string // that has the key. Defaults to X-API-Key.
	File   string // absolute path; "": no keys
}

// OIDC is an issuer of tokens.
type OIDC struct {
	Name       string // of the method, and the prefix of subjects
	Issuer     string // URL, as in the claim iss
	Audiences  []string
	Algorithms []string // Defaults to RS256 and ES256.
	JWKS       string   // URL of the keys; "": that of the issuer's discovery document
	TokenType  string   // required value of the header typ. Defaults to at+jwt.
	Subject    string   // claim. Defaults to sub.
	Person     string   // claim; "": a person is their subject
	Tenant     From     // claim
	Roles      RolesFrom
	Networks   []netip.Prefix // that are not public, and may be connected to
	CA         string         // absolute path of a file in PEM; "": only the system's authorities

	// For signing in.
	ClientID     string   // "": no sign-in at this issuer
	ClientSecret Value    // a secret
	Scopes       []string // beside openid
	SignInToken  SignInToken
}

// SignInToken selects the token of an issuer that names the person who signs in.
type SignInToken string

// The values of SignInToken.
const (
	ByID     SignInToken = "id" // the ID token. The default.
	ByAccess SignInToken = "access"
)

// MTLS takes the certificate of a client as its credential.
type MTLS struct {
	Subject CertName // Defaults to NoName: certificates are not credentials.
	Tenant  string
	Roles   []string
}

// Given reports whether certificates are credentials.
func (m MTLS) Given() bool { return m.Subject != "" && m.Subject != NoName }

// CertName is the name in a certificate that is the caller's.
type CertName string

// The values of CertName.
const (
	NoName     CertName = "none"
	URISAN     CertName = "uri_san"
	DNSSAN     CertName = "dns_san"
	EmailSAN   CertName = "email_san"
	CommonName CertName = "common_name"
)

// Proxy takes the name of a caller from a header of a proxy that has authenticated them.
type Proxy struct {
	Header string         // "": none
	From   []netip.Prefix // the proxies
	Tenant From           // header
	Roles  RolesFrom      // header
}

// SocketUser maps a local user to a caller.
type SocketUser struct {
	UID     int
	Subject string
	Person  string // "": Subject
	Tenant  string
	Roles   []string
}

// From is a fixed text, or where a credential has it. The zero From is nothing.
type From struct {
	Text string
	Name string // of a claim or a header; "": the value is Text
	Key  string // type of Name: claim or header
}

// MarshalJSON writes f as the file has it.
func (f From) MarshalJSON() ([]byte, error) {
	switch {
	case f.Name != "":
		return json.Marshal(map[string]string{f.Key: f.Name})
	case f.Text == "":
		return []byte("null"), nil
	}
	return json.Marshal(f.Text)
}

// RolesFrom is a fixed list of roles, or where a credential has its groups, and which roles
// each group means.
type RolesFrom struct {
	Fixed []string
	Name  string // of a claim or a header; "": the roles are Fixed
	Key   string // type of Name: claim or header
	Map   map[string][]string
}

// MarshalJSON writes r as the file has it.
func (r RolesFrom) MarshalJSON() ([]byte, error) {
	switch {
	case r.Name != "":
		out := map[string]any{r.Key: r.Name}
		if r.Map != nil {
			out["map"] = r.Map
		}
		return json.Marshal(out)
	case r.Fixed == nil:
		return []byte("null"), nil
	}
	return json.Marshal(r.Fixed)
}

// taken are the names of the other ways to authenticate, with which subjects begin.
var taken = []string{"keys", "key", "mtls", "proxy", "socket", "none", "anonymous"}

// notEverybody returns a check that rejects a prefix of length 0, which contains every
// address. could completes the error message.
func notEverybody(could string) func([]netip.Prefix) error {
	return func(networks []netip.Prefix) error {
		for _, p := range networks {
			if p.Bits() == 0 {
				return fmt.Errorf("%s contains every address, so any client could %s; list only the addresses of the proxies", quote(p.String()), could)
			}
		}
		return nil
	}
}

// checkOIDC checks the keys of an issuer that depend on each other.
func checkOIDC(l *loader, o *OIDC, n strictyaml.Node) {
	audiences, name := n.Path()+".audiences", n.Path()+".name"
	if l.has(audiences) && len(o.Audiences) == 0 {
		l.at(audiences, "is empty; a token for another server would be accepted; write at least one")
	}
	checkSignIn(l, o, n)
	switch {
	case !l.has(name):
	case slices.Contains(taken, o.Name):
		l.at(name, "%s is reserved by the server; choose another name", quote(o.Name))
	case slices.ContainsFunc(l.config.Auth.OIDC, func(other OIDC) bool { return other.Name == o.Name }):
		l.at(name, "another issuer is called %s, too; give each its own name", quote(o.Name))
	}
}

// checkSignIn checks the keys for signing in at an issuer that depend on each other.
func checkSignIn(l *loader, o *OIDC, n strictyaml.Node) {
	for _, name := range []string{"client_secret", "scopes", "sign_in_token"} {
		path := n.Path() + "." + name
		if l.given(path) && o.ClientID == "" && l.sound(n.Path()+".client_id") {
			l.atKey(path, "it would have no effect; set client_id, or remove this")
		}
	}
}

// checkSocketUser checks the keys of a local user that depend on each other.
func checkSocketUser(l *loader, u *SocketUser, n strictyaml.Node) {
	uid := n.Path() + ".uid"
	if l.has(uid) && slices.ContainsFunc(l.config.Auth.Socket, func(other SocketUser) bool { return other.UID == u.UID }) {
		l.at(uid, "another entry has %d, too; one user is one caller, so remove one of them", u.UID)
	}
}

// authenticated reports whether callers are authenticated, by the configuration or by the
// program.
func (l *loader) authenticated() bool { return l.source.Callers || l.config.Auth.Given() }

// checkAuth checks the keys of tls and auth that depend on each other.
func (l *loader) checkAuth() {
	c := l.config
	m, p := &c.Auth.MTLS, &c.Auth.Proxy
	l.checkRoles()
	if strings.EqualFold(c.Auth.Keys.Header, "Authorization") && len(c.Auth.OIDC) > 0 {
		l.at("auth.keys.header", "tokens of auth.oidc are in the header Authorization, where a key and a token look alike; use another header")
	}
	if p.Header != "" && c.Auth.Keys.File != "" && strings.EqualFold(c.Auth.Keys.Header, p.Header) && l.sound("auth.keys.header", "auth.proxy.header") {
		l.at("auth.proxy.header", "API keys are in the same header, and a name is no key, so that every request of the proxy would be refused; use another header for one of them")
	}
	if m.Given() && c.TLS.ClientAuth == ClientRequired {
		for name, given := range map[string]bool{"auth.keys.file": c.Auth.Keys.File != "", "auth.oidc": len(c.Auth.OIDC) > 0, "auth.proxy.header": p.Header != ""} {
			if given {
				l.at(name, "it could never be used: with tls.client_auth required and auth.mtls, every caller has a certificate, and a request may have only one credential; use client_auth: optional, or set auth.mtls.subject to none")
			}
		}
	}
	if l.source.Callers && c.Auth.Given() {
		for _, name := range []string{"auth.keys.file", "auth.oidc", "auth.mtls.subject", "auth.proxy.header"} {
			if at, ok := c.origins[name]; ok {
				l.add(at, name, "this program authenticates its callers itself; remove it, so that only one of the two identifies a caller")
			}
		}
	}
}

// checkRoles refuses callers without any right, whatever their credential says.
func (l *loader) checkRoles() {
	a := &l.config.Auth
	if len(a.DefaultRoles) > 0 || !l.sound("auth.default_roles") {
		return
	}
	nobody := func(name string, without bool) {
		if without && l.sound(name) {
			l.at(name, "its callers have no role, so they could do nothing; set roles for them, or auth.default_roles")
		}
	}
	none := func(r RolesFrom) bool { return r.Name == "" && len(r.Fixed) == 0 }
	for i, o := range a.OIDC {
		if l.sound(fmt.Sprintf("auth.oidc[%d].roles", i)) {
			nobody(fmt.Sprintf("auth.oidc[%d].name", i), none(o.Roles))
		}
	}
	nobody("auth.mtls.subject", a.MTLS.Given() && len(a.MTLS.Roles) == 0 && l.sound("auth.mtls.roles"))
	nobody("auth.proxy.header", a.Proxy.Header != "" && none(a.Proxy.Roles) && l.sound("auth.proxy.roles"))
	for i, u := range a.Socket {
		if l.sound(fmt.Sprintf("auth.socket[%d].roles", i)) {
			nobody(fmt.Sprintf("auth.socket[%d].uid", i), len(u.Roles) == 0)
		}
	}
}

// locate makes the path of a key absolute. In the file it is relative to the file's folder,
// elsewhere to the working directory.
func (l *loader) locate(name string, path *string) {
	if *path == "" || !l.sound(name) {
		return
	}
	written := *path
	from := l.config.origins[name]
	if from.layer == File && !filepath.IsAbs(*path) {
		*path = filepath.Join(filepath.Dir(from.name), *path)
	}
	abs, err := filepath.Abs(*path)
	if err != nil {
		l.at(name, "%s is relative to a folder that cannot be found: %v; write an absolute path", quote(written), err)
		return
	}
	*path = abs
}
