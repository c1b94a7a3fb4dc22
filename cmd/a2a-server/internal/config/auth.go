package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"a2a-server/auth"
	"a2a-server/internal/strictyaml"
)

// TLS says with which certificate the server serves.
type TLS struct {
	Cert       string `yaml:"cert" flag:"yes" text:"file" unset:"the server does not speak TLS" needs:"tls.key: a certificate needs its private key" doc:"Certificate with its chain, in PEM; the server then speaks only TLS."`
	Key        string `yaml:"key" flag:"yes" text:"file" unset:"the server does not speak TLS" needs:"tls.cert: a private key needs its certificate" doc:"Private key of tls.cert, in PEM, mode 0640 or less."`
	ClientCA   string `yaml:"client_ca" text:"file" unset:"clients have no certificates" needs:"tls.cert: client certificates need TLS" doc:"Authorities of client certificates, in PEM."`
	ClientAuth string `yaml:"client_auth" default:"optional" oneof:"a setting of client certificates: optional, required" needs:"tls.client_ca: no client certificate could be valid" doc:"With required every connection needs a certificate, probes too."`
}

// ClientRequired is the ClientAuth of a server that takes no connection without a certificate.
const ClientRequired = "required"

// Auth configures the authentication of callers. Its zero value is a server without
// authentication.
type Auth struct {
	Keys               APIKeys      `yaml:"keys"`
	OIDC               []OIDC       `yaml:"oidc" noun:"issuer" example:"- name: corp"`
	MTLS               MTLS         `yaml:"mtls"`
	Proxy              Proxy        `yaml:"proxy"`
	Socket             []SocketUser `yaml:"socket" noun:"local user" example:"- uid: 1000"`
	DelegatedDecisions bool         `yaml:"delegated_decisions" doc:"Lets services, and agents with the token of a person, decide approvals."`
	People             auth.People  `yaml:"people" as:"people" form:"{alice: [\"key:alice\", \"corp:alice\"]}" doc:"Subjects of one person, by name, for four eyes and votes; acme/corp:alice names the tenant."`
	DefaultRoles       []string     `yaml:"default_roles" text:"role" doc:"Roles of callers without any in their credential or its section."`
	Tenant             string       `yaml:"tenant" text:"name" doc:"Tenant of callers without any in their credential or its section."`
}

// method is a way to authenticate that is configured, or a local user.
type method struct {
	name   string // with which subjects begin
	key    string // path of the key that configures it
	in     string // path of the section with its roles
	tenant From
	roles  RolesFrom
}

// methods returns the ways to authenticate, local users last.
func (a *Auth) methods() (all []method) {
	if a.Keys.File != "" {
		all = append(all, method{name: "key", key: "auth.keys.file"})
	}
	for i, o := range a.OIDC {
		in := fmt.Sprintf("auth.oidc[%d].", i)
		all = append(all, method{name: o.Name, key: in + "name", in: in, tenant: o.Tenant, roles: o.Roles})
	}
	if a.MTLS.Given() {
		all = append(all, method{name: "mtls", key: "auth.mtls.subject", in: "auth.mtls.", tenant: From{Text: a.MTLS.Tenant}, roles: RolesFrom{Fixed: a.MTLS.Roles}})
	}
	if a.Proxy.Header != "" {
		all = append(all, method{name: "proxy", key: "auth.proxy.header", in: "auth.proxy.", tenant: a.Proxy.Tenant, roles: a.Proxy.Roles})
	}
	for i, u := range a.Socket {
		in := fmt.Sprintf("auth.socket[%d].", i)
		all = append(all, method{name: "socket", key: in + "uid", in: in, tenant: From{Text: u.Tenant}, roles: RolesFrom{Fixed: u.Roles}})
	}
	return all
}

// Given reports whether callers of A2A are authenticated by something configured. Mapped
// local users alone do not count: they come through a socket.
func (a *Auth) Given() bool { return len(a.methods()) > len(a.Socket) }

// RolesOr returns the roles of a caller: their own or, without any, the default roles.
func (a *Auth) RolesOr(own []string) []string {
	if len(own) == 0 {
		return a.DefaultRoles
	}
	return own
}

// APIKeys are keys in a file of ours.
type APIKeys struct {
	Header string `yaml:"header" default:"X-API-Key" text:"header" needs:"auth.keys.file" doc:"Header of API keys; Authorization has Bearer and the key."`
	File   string `yaml:"file" flag:"yes" text:"file" unset:"there are no API keys" doc:"File of API keys, which 'a2a-server keys add' writes."`
}

// OIDC is an issuer of tokens.
type OIDC struct {
	Name         string         `yaml:"name" required:"yes" text:"issuer name" doc:"Name with which subjects begin (corp:alice); never change it."`
	Issuer       string         `yaml:"issuer" required:"yes" text:"issuer" doc:"The issuer, exactly as in the claim iss."`
	Audiences    []string       `yaml:"audiences" required:"yes" fill:"a text" doc:"Accepted values of the claim aud."`
	Algorithms   []string       `yaml:"algorithms" default:"RS256,ES256" oneof:"an algorithm of signatures: RS256, RS384, RS512, ES256, ES384, ES512, PS256, PS384, PS512, EdDSA" doc:"Accepted signatures."`
	JWKS         string         `yaml:"jwks" text:"URL" doc:"Keys of the issuer. Default: its discovery document."`
	TokenType    string         `yaml:"token_type" default:"at+jwt" fill:"a type" doc:"Required typ of tokens."`
	Subject      string         `yaml:"subject" default:"sub" fill:"a claim" doc:"Claim with the caller's name, never given to another person."`
	Person       string         `yaml:"person" form:"a claim" text:"line" doc:"Claim of the person behind several names, for four eyes."`
	Tenant       From           `yaml:"tenant" as:"claim" form:"a name, or {claim: NAME}" doc:"Tenant of these callers."`
	Roles        RolesFrom      `yaml:"roles" as:"roles claim" form:"a list, or {claim: NAME, map: {GROUP: [ROLE]}}" doc:"Roles of these callers."`
	Networks     []netip.Prefix `yaml:"networks" doc:"Allowed addresses that are not public."`
	CA           string         `yaml:"ca" text:"path" doc:"Authorities of the issuer beside the system's, in PEM."`
	ClientID     string         `yaml:"client_id" text:"line" doc:"Client with which people sign in at /ui."`
	ClientSecret Value          `yaml:"client_secret" needs:"client_id" as:"secret" form:"{secret: NAME}" doc:"Secret of the client. Default: the client is public."`
	Scopes       []string       `yaml:"scopes" needs:"client_id" fill:"a text" doc:"Scopes to ask for, beside openid."`
	SignInToken  string         `yaml:"sign_in_token" needs:"client_id" default:"id" oneof:"a token: id, access" doc:"Token with the claims of the person who signs in."`
}

// ByAccess is the SignInToken of an issuer whose access token, and not its ID token, names the person who signs in.
const ByAccess = "access"

// MTLS takes the certificate of a client as its credential.
type MTLS struct {
	Subject string   `yaml:"subject" default:"none" oneof:"a name in a certificate: none, uri_san, dns_san, email_san, common_name" needs:"tls.client_ca: no client certificate could be valid" doc:"Name in a client certificate that is the caller, a service."`
	Tenant  string   `yaml:"tenant" text:"name" needs:"auth.mtls.subject" doc:"Tenant of these callers."`
	Roles   []string `yaml:"roles" text:"role" needs:"auth.mtls.subject" doc:"Roles of these callers."`
}

// Given reports whether certificates are credentials.
func (m MTLS) Given() bool { return m.Subject != "" && m.Subject != NoName }

// NoName is the Subject of a server for which a certificate is no credential.
const NoName = "none"

// Proxy takes the name of a caller from a header of a proxy that has authenticated them.
type Proxy struct {
	Header string         `yaml:"header" text:"proxy header" needs:"auth.proxy.from: the header would be ignored from every address" doc:"Header with the caller's name, which the proxy must replace."`
	From   []netip.Prefix `yaml:"from" everybody:"write any name into the header" needs:"auth.proxy.header" doc:"Addresses of these proxies, used by nothing else."`
	Tenant From           `yaml:"tenant" as:"header" form:"a name, or {header: NAME}" needs:"auth.proxy.header" doc:"Tenant of these callers."`
	Roles  RolesFrom      `yaml:"roles" as:"roles header" form:"a list, or {header: NAME, map: {GROUP: [ROLE]}}" needs:"auth.proxy.header" doc:"Roles of these callers."`
}

// SocketUser maps a local user to a caller.
type SocketUser struct {
	UID     int      `yaml:"uid" required:"yes" max:"2147483647" doc:"Numeric id of a user of this machine."`
	Subject string   `yaml:"subject" required:"yes" fill:"a name" doc:"Name of the user, after socket: in the subject."`
	Person  string   `yaml:"person" text:"name" doc:"Person behind several names, for four eyes."`
	Tenant  string   `yaml:"tenant" text:"name" doc:"Tenant of the user."`
	Roles   []string `yaml:"roles" text:"role" doc:"Roles of the user."`
}

// From is a fixed text, or where a credential has it. The zero From is nothing.
type From struct {
	Text string
	Name string // of a claim or a header; "": the value is Text
}

// RolesFrom is a fixed list of roles, or where a credential has its groups, and which roles
// each group means.
type RolesFrom struct {
	Fixed []string
	Name  string // of a claim or a header; "": the roles are Fixed
	Map   map[string][]string
}

// taken are the names of the other ways to authenticate, with which subjects begin.
var taken = []string{"keys", "key", "mtls", "proxy", "socket", "none", "anonymous"}

// checkOIDC checks the keys of an issuer that depend on each other.
func checkOIDC(l *loader, o *OIDC, n strictyaml.Node) {
	audiences, name := n.Path()+".audiences", n.Path()+".name"
	l.refuse(l.has(audiences) && len(o.Audiences) == 0, audiences, "is empty; a token for another server would be accepted; write at least one")
	switch {
	case !l.has(name):
	case slices.Contains(taken, o.Name):
		l.at(name, "%s is reserved by the server; choose another name", quote(o.Name))
	case slices.ContainsFunc(l.config.Auth.OIDC, func(other OIDC) bool { return other.Name == o.Name }):
		l.at(name, "another issuer is called %s, too; give each its own name", quote(o.Name))
	}
}

// checkSocketUser checks the keys of a local user that depend on each other.
func checkSocketUser(l *loader, u *SocketUser, n strictyaml.Node) {
	uid := n.Path() + ".uid"
	l.refuse(l.has(uid) && slices.ContainsFunc(l.config.Auth.Socket, func(other SocketUser) bool { return other.UID == u.UID }), uid, "another entry has %d, too; one user is one caller, so remove one of them", u.UID)
}

// authenticated reports whether callers are authenticated, by the configuration or by the
// program.
func (l *loader) authenticated() bool {
	return l.source.Callers || l.source.Later || l.config.Auth.Given()
}

// needsCallers refuses a key unless callers are authenticated.
func (l *loader) needsCallers(path, problem string) {
	l.references = append(l.references, func() { l.refuse(l.sound(path) && !l.authenticated(), path, "%s", problem) })
}

// checkAuth checks the keys of tls and auth that depend on each other.
func (l *loader) checkAuth() {
	c := l.config
	m, p := &c.Auth.MTLS, &c.Auth.Proxy
	l.checkRoles()
	l.refuse(strings.EqualFold(c.Auth.Keys.Header, "Authorization") && len(c.Auth.OIDC) > 0, "auth.keys.header", "tokens of auth.oidc are in the header Authorization, where a key and a token look alike; use another header")
	l.refuse(p.Header != "" && c.Auth.Keys.File != "" && strings.EqualFold(c.Auth.Keys.Header, p.Header) && l.sound("auth.keys.header", "auth.proxy.header"), "auth.proxy.header", "API keys are in the same header, and a name is no key, so that every request of the proxy would be refused; use another header for one of them")
	if m.Given() && c.TLS.ClientAuth == ClientRequired {
		for name, given := range map[string]bool{"auth.keys.file": c.Auth.Keys.File != "", "auth.oidc": len(c.Auth.OIDC) > 0, "auth.proxy.header": p.Header != ""} {
			l.refuse(given, name, "it could never be used: with tls.client_auth required and auth.mtls, every caller has a certificate, and a request may have only one credential; use client_auth: optional, or set auth.mtls.subject to none")
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
	for _, m := range a.methods() {
		l.refuse(m.name != "key" && m.roles.Name == "" && len(m.roles.Fixed) == 0 && l.sound(m.key, m.in+"roles"), m.key, "its callers have no role, so they could do nothing; set roles for them, or auth.default_roles")
	}
}
