package oidc

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/auth"
	"a2a-server/internal/egress"
)

// The token types that mean something here.
const (
	defaultTokenType = "at+jwt" // of access tokens (RFC 9068, section 2.1)
	anyTokenType     = "any"
	plainTokenType   = "jwt"
)

// algorithms are the signatures that can be verified with a public key (RFC 7518,
// RFC 8037). None of them can be made with it.
func algorithms() []string {
	return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
}

// Config describes an issuer and the use of its tokens.
type Config struct {
	// Name of the issuer in this server: letters, digits, "-" and "_". The subject of a caller
	// is "<Name>:<subject of the token>", so a new Name makes every caller a new principal.
	Name string
	// Issuer is the URL that the tokens name as `iss`, compared byte by byte. Its scheme is
	// https; http only on a loopback address.
	Issuer string
	// Audiences lists the names of this server at the issuer. A token's `aud` must contain at
	// least one of them.
	Audiences []string
	// Algorithms that tokens may be signed with, of RSA, PSS, ECDSA and EdDSA. Defaults to
	// RS256 and ES256.
	Algorithms []string
	// JWKS is the URL of the issuer's keys. Defaults to `jwks_uri` of the issuer's
	// .well-known/openid-configuration.
	JWKS string
	// TokenType is the `typ` in the header of the tokens, compared without regard to case and
	// to a prefix "application/". Defaults to "at+jwt". With "JWT", a token without
	// a `typ` is accepted too; with "any", every `typ` is. In both cases ID tokens
	// are recognized by their claims, if the issuer writes claims that other tokens lack.
	TokenType string
	// Subject is the claim with the caller's name. Defaults to "sub". The issuer must never
	// reassign its values.
	//
	// The name of each claim of the configuration is looked up as it is and, if there is none,
	// as a path of names separated by dots.
	Subject string
	// Person is the claim with the name of the caller's person, for persons who have other
	// credentials too; see [auth.Principal.Person]. A token without it is refused, because its
	// bearer could pass for another person under four eyes. Users must not be able to change
	// it. Defaults to none.
	Person string
	Tenant Tenant
	Roles  Roles
	// DefaultRoles are the roles of a caller to whom Roles gives none.
	DefaultRoles []string
	// Client fetches the keys. It should be guarded, like the clients of internal/egress.
	// Redirects are never followed. Required.
	Client *http.Client
	Now    func() time.Time // defaults to time.Now
	Log    zerolog.Logger
}

// Tenant maps the callers of an issuer to a tenant. At most one field is set; without any,
// callers have no tenant.
type Tenant struct {
	Claim string // the claim with the tenant; a token without it is refused
	Value string // the tenant of all tokens
}

// Roles says how roles follow from a claim.
type Roles struct {
	// Claim has a value or a list of values; `scope` and `scp` may separate them by spaces.
	Claim string
	// Map has the roles for each value. Values that are not in it give no role. Nil: each
	// value is a role, so whoever can name groups at the issuer can give rights here.
	Map map[string][]string
}

func (c Config) withDefaults() Config {
	c.Audiences, c.DefaultRoles = slices.Clone(c.Audiences), slices.Clone(c.DefaultRoles)
	if len(c.Algorithms) == 0 {
		c.Algorithms = []string{"RS256", "ES256"}
	}
	if c.TokenType == "" {
		c.TokenType = defaultTokenType
	}
	c.TokenType = tokenType(c.TokenType)
	if c.Subject == "" {
		c.Subject = "sub"
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// validate returns all problems of the configuration, joined. Each names the entry and
// the key as they are in the configuration file.
func (c *Config) validate() error {
	var errs []error
	add := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf("oidc %s: %s: %s", c.Name, key, fmt.Sprintf(format, args...)))
	}
	if !isName(c.Name) {
		errs = append(errs, fmt.Errorf("oidc: name: %.70q is not a name; write 1 to 64 letters, digits, - and _", c.Name))
	}
	if err := checkURL(c.Issuer); err != nil {
		add("issuer", "%v", err)
	}
	if c.JWKS != "" {
		if err := checkURL(c.JWKS); err != nil {
			add("jwks", "%v", err)
		}
	}
	if len(c.Audiences) == 0 || slices.Contains(c.Audiences, "") {
		add("audiences", "a token must be for this server; write the name that the issuer has for it")
	}
	for _, name := range c.Algorithms {
		if !slices.Contains(algorithms(), name) {
			add("algorithms", "%.20q cannot be used; write some of %s", name, strings.Join(algorithms(), ", "))
		}
	}
	if c.Tenant.Claim != "" && c.Tenant.Value != "" {
		add("tenant", "both a claim and a value are set; write one of them")
	}
	switch {
	case c.Roles.Claim == "" && len(c.Roles.Map) > 0:
		add("roles", "map has no claim to read; write claim")
	case c.Roles.Map != nil && len(c.Roles.Map) == 0:
		add("roles", "map is empty, so no value gives a role; write roles such as %s, or no map", auth.RoleRequester)
	}
	for value, roles := range c.Roles.Map {
		if len(roles) == 0 || slices.Contains(roles, "") {
			add("roles", "map: %.100q has no roles, or an empty one; write at least one", value)
		}
	}
	if slices.Contains(c.DefaultRoles, "") {
		add("default_roles", "a role is empty; remove it")
	}
	if c.Client == nil {
		add("client", "there is no HTTP client to fetch keys with; set one")
	}
	return errors.Join(errs...)
}

// isName reports whether s can be the first part of a subject. It has no colon, so that
// different names and subjects never make the same text.
func isName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// checkURL returns an error if keys must not be fetched from a URL: without encryption, an
// attacker on the network could replace them and pass for any caller.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("%.200q is not a URL; write one that begins with https://", text)
	case u.Scheme == "http" && !egress.Loopback(u.Hostname()):
		return fmt.Errorf("%.200q is not encrypted, so an attacker on the network could replace the keys; write an https URL", text)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fmt.Errorf("%.200q has a user, a query or a fragment; remove it", u.Redacted())
	}
	return nil
}
