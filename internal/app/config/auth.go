package config

import (
	"encoding/json"
	"net/netip"
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

	DelegatedDecisions bool     // services, and callers that act for others, may decide
	DefaultRoles       []string // of callers whose credential gives none
	Tenant             string   // of callers whose credential gives none
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
