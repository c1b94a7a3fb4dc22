package a2aserver

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"a2a-server/a2a/agentcard"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/auth/mtls"
	"a2a-server/auth/oidc"
	"a2a-server/auth/peer"
	"a2a-server/auth/proxy"
	"a2a-server/internal/app/config"
	"a2a-server/internal/egress"
	"a2a-server/internal/tlsfiles"
)

// authentication is how callers are authenticated. With its zero value all callers are
// anonymous.
type authentication struct {
	authenticator auth.Authenticator         // nil: none
	schemes       []agentcard.SecurityScheme // of the card; nil also if the program authenticates
	apiKeys       *apikey.Authenticator      // nil: there are no API keys
	issuers       *oidc.Authenticator        // nil: there are no issuers
}

// authentication makes the authenticators of a configuration. It fails rather than leave out a
// configured part. files are those of the listener; nil: no TLS. own returns the addresses on
// which the server listens: no keys are fetched from there.
func (c *Config) authentication(conf *config.Config, files *tlsfiles.Files, own func() []netip.AddrPort) (authentication, error) {
	if c.Inside.Alone != nil {
		return authentication{}, nil
	}
	if c.Authenticator != nil { // the configuration was refused if it has authentication, too
		return authentication{authenticator: c.connected(conf, files, c.Authenticator)}, nil
	}
	var all []auth.Authenticator
	var a authentication
	if file := conf.Auth.Keys.File; file != "" {
		var err error
		if a.apiKeys, err = apikey.New(apikey.Config{Header: conf.Auth.Keys.Header, File: file, Tenant: conf.Auth.Tenant, Now: c.Now}); err != nil {
			return a, fmt.Errorf("%w: %s%w", ErrConfig, conf.Problem("auth.keys.file"), err) // a problem without a text ends with a colon
		}
		all, a.schemes = append(all, a.apiKeys), append(a.schemes, keyScheme(conf.Auth.Keys.Header))
	}
	if p := conf.Auth.Proxy; p.Header != "" {
		made, err := proxy.New(proxy.Config{
			Header: p.Header, From: p.From, Tenant: p.Tenant.Text, TenantHeader: p.Tenant.Name,
			Roles: p.Roles.Fixed, GroupsHeader: p.Roles.Name, Map: p.Roles.Map,
		})
		if err != nil {
			return a, fmt.Errorf("%w: auth.proxy: %w", ErrConfig, err)
		}
		all, a.schemes = append(all, made), append(a.schemes, agentcard.SecurityScheme{
			Name: "proxy", Kind: agentcard.SchemeHTTP, Scheme: made.Challenges()[0], Header: p.Header,
			Description: "A proxy in front of this server authenticates callers: use its URL, and what it asks for.",
		})
	}
	if len(conf.Auth.OIDC) > 0 {
		made, err := c.issuers(conf, own)
		if err != nil {
			return a, err
		}
		a.issuers = made
		all, a.schemes = append(all, made), append(a.schemes, issuerSchemes(conf)...)
	}
	if m := conf.Auth.MTLS; m.Given() {
		made, err := mtls.New(mtls.Config{Subject: m.Subject, Tenant: m.Tenant, Roles: m.Roles, Trusted: files.Trusts, Changed: files.Changed, Now: c.Now})
		if err != nil {
			return a, fmt.Errorf("%w: auth.mtls: %w", ErrConfig, err)
		}
		all, a.schemes = append(all, made), append(a.schemes, agentcard.SecurityScheme{
			Name: "mtls", Kind: agentcard.SchemeMTLS, Description: "A client certificate of an authority that the operator of this server names.",
		})
	} else if conf.TLS.ClientAuth == config.ClientRequired && len(a.schemes) > 0 {
		a.schemes = append(a.schemes, agentcard.SecurityScheme{
			Name: "mtls", Kind: agentcard.SchemeMTLS, Description: "A client certificate, without which there is no connection.", Also: true,
		})
	}
	if len(all) == 0 {
		return a, nil
	}
	warn(c.Log, config.UnknownSubjects(conf, func(subject string) (string, bool) {
		by, _, valid := a.apiKeys.Holder(subject)
		return by.Tenant, valid
	}))
	for i, one := range all {
		all[i] = auth.Completing(one, func(_ context.Context, p auth.Principal) (auth.Principal, error) { return completed(p, &conf.Auth) })
	}
	a.authenticator = c.connected(conf, files, auth.First(all...))
	return a, nil
}

// connected returns a with the certificates that the configuration requires of every
// connection. The listener looks at them when a connection begins, which may be days ago.
func (c *Config) connected(conf *config.Config, files *tlsfiles.Files, a auth.Authenticator) auth.Authenticator {
	if conf.TLS.ClientAuth != config.ClientRequired || conf.Auth.MTLS.Given() {
		return a // mtls looks itself
	}
	return auth.Requiring(mtls.Require(mtls.Config{Trusted: files.Trusts, Now: c.Now}), files, a)
}

// issuers returns the authenticator of tokens of the configured issuers.
func (c *Config) issuers(conf *config.Config, own func() []netip.AddrPort) (*oidc.Authenticator, error) {
	var all []oidc.Config
	for n, o := range conf.Auth.OIDC {
		var authorities []byte
		if o.CA != "" {
			var err error
			if authorities, err = tlsfiles.ReadAuthorities(o.CA); err != nil {
				return nil, fmt.Errorf("%w: auth.oidc[%d].ca: %w", ErrConfig, n, err)
			}
		}
		client, err := egress.NewClient(egress.Config{Allow: o.Networks, Own: own, RootCAs: authorities, Timeout: 10 * time.Second, MaxBytes: 1 << 20})
		if err != nil {
			return nil, fmt.Errorf("%w: auth.oidc: %w", ErrConfig, err)
		}
		all = append(all, oidc.Config{
			Name: o.Name, Issuer: o.Issuer, Audiences: o.Audiences, Algorithms: o.Algorithms, JWKS: o.JWKS, TokenType: o.TokenType,
			Subject: o.Subject, Person: o.Person, Tenant: oidc.Tenant{Claim: o.Tenant.Name, Value: o.Tenant.Text},
			Roles: oidc.Roles{Claim: o.Roles.Name, Map: o.Roles.Map}, DefaultRoles: o.Roles.Fixed, Client: client, Log: c.Log, Now: c.Now,
		})
	}
	made, err := oidc.New(all...)
	if err != nil {
		return nil, fmt.Errorf("%w: auth: %w", ErrConfig, err)
	}
	return made, nil
}

// keyScheme returns how the card says that API keys are accepted. In Authorization they are
// bearer tokens: a client sends the key of an API key scheme without a word before it.
func keyScheme(header string) agentcard.SecurityScheme {
	s := agentcard.SecurityScheme{Name: "apiKey", Kind: agentcard.SchemeAPIKey, Header: header, Description: "An API key from the operator of this server."}
	if strings.EqualFold(header, "Authorization") {
		s.Kind, s.Header, s.Scheme = agentcard.SchemeHTTP, "", "Bearer"
	}
	return s
}

// issuerSchemes returns how the card says that tokens are accepted: with the discovery
// document of their issuer, unless the keys come from elsewhere.
func issuerSchemes(conf *config.Config) []agentcard.SecurityScheme {
	var all []agentcard.SecurityScheme
	for _, o := range conf.Auth.OIDC {
		s := agentcard.SecurityScheme{
			Name: o.Name, Description: "An access token of " + o.Issuer + " for " + strings.Join(o.Audiences, " or ") + ", as Authorization: Bearer.",
			Kind: agentcard.SchemeOpenID, URL: strings.TrimSuffix(o.Issuer, "/") + "/.well-known/openid-configuration",
		}
		if o.JWKS != "" { // the issuer need not have a discovery document
			s.Kind, s.URL, s.Scheme, s.Format = agentcard.SchemeHTTP, "", "Bearer", "JWT"
		}
		all = append(all, s)
	}
	return all
}

// revoked reports whether somebody's API key was removed or revoked, or has expired. Of other
// credentials the server does not learn.
func (a *authentication) revoked(p auth.Principal) bool {
	if a.apiKeys == nil {
		return false
	}
	_, ours, valid := a.apiKeys.Holder(p.Subject)
	return ours && !valid
}

// current returns who a principal that was stored is now: see [engine.Config].Current. Keys and local
// users are as the operator names them now, everybody else as they were seen last in their tenant. Whom no
// request has shown, such as a key that the program checks itself, is as they were. Nobody is anonymous where callers
// authenticate.
func (s *Server) current(ctx context.Context, was auth.Principal) (by auth.Principal, err error) {
	conf := &s.config.Auth
	ours := slices.Contains([]string{apikey.Method, peer.Method, oidc.Method, proxy.Method, mtls.Method}, was.Method)
	switch {
	case was.IsAnonymous() && s.authenticator != nil:
		return by, &auth.WithdrawnError{Why: "they were anonymous, and callers have to authenticate now"}
	case was.IsPersona() && !s.given.Inside.Demo:
		return by, &auth.WithdrawnError{Why: "they were the persona of a demo, and this server is none"}
	case was.IsAnonymous(), was.IsPersona():
		return was, nil
	case !ours || s.given.Authenticator != nil && was.Mark != peer.Setting: // beside it, only auth.socket is the operator's
		return s.lastSeen(ctx, was, true /* ofProgram */)
	}
	var why string
	named := false // by the operator of this server
	switch was.Method {
	case apikey.Method:
		why = "their API key was revoked, replaced or removed, or has expired"
		if s.apiKeys != nil {
			by, _, named = s.apiKeys.Holder(was.Subject)
			named = named && by.Mark == was.Mark // the same key
		}
	case peer.Method:
		why = "auth.socket does not have them any more"
		for _, u := range conf.Socket {
			if peer.Method+":"+u.Subject == was.Subject {
				by, named = auth.Principal{Tenant: u.Tenant, Subject: was.Subject, Person: u.Person, Roles: u.Roles, Method: peer.Method, Mark: peer.Setting}, true
			}
		}
	case oidc.Method, proxy.Method, mtls.Method:
		return s.lastSeen(ctx, was, false /* ofProgram */)
	}
	if named {
		by, err = s.complete(ctx, by)
	}
	if err == nil && (!named || by.Tenant != was.Tenant) {
		err = &auth.WithdrawnError{Why: why}
	}
	return by, err
}

// lastSeen is current for those whom another server authenticates, or the program, which need not show them.
func (s *Server) lastSeen(ctx context.Context, was auth.Principal, ofProgram bool) (auth.Principal, error) {
	source, _, _ := strings.Cut(was.Subject, ":")
	if !ofProgram && !slices.Contains(config.SubjectMethods(&s.config.Auth), source) {
		return auth.Principal{}, &auth.WithdrawnError{Why: "they cannot be authenticated here any more"}
	}
	last, ok, err := s.persons.Last(ctx, was.Tenant, was.Subject)
	if err != nil {
		return auth.Principal{}, err
	}
	if ofProgram && !ok {
		return was, nil
	}
	if within := s.config.Grants.SeenWithin; !ok || s.given.Now().Sub(last.Time) > within {
		return auth.Principal{}, &auth.WithdrawnError{Why: fmt.Sprintf("they have not been seen for %s (grants.seen_within)", approval.Span(within)), Unseen: true}
	}
	was.Roles = last.Roles
	if ofProgram {
		return was, nil
	}
	was.Method, was.Person, was.PersonSeen = last.Method, last.Person, last.Person != ""
	return s.config.Auth.People.Known(was)
}

// reload reads again the files that may change while the server runs.
func (a *authentication) reload() error {
	if a.apiKeys == nil {
		return nil
	}
	return a.apiKeys.Reload()
}

// completed returns p with the tenant and the roles of the configuration, if it has none, and with
// its person.
func completed(p auth.Principal, conf *config.Auth) (auth.Principal, error) {
	p.Tenant, p.Roles = cmp.Or(p.Tenant, conf.Tenant), conf.RolesOr(p.Roles)
	return conf.People.Known(p)
}

// tlsFiles reads the certificates of the configuration; nil: it has none.
func (c *Config) tlsFiles(conf *config.Config) (*tlsfiles.Files, error) {
	t := conf.TLS
	if t.Cert == "" {
		return nil, nil //nolint:nilnil // there are none
	}
	files, err := tlsfiles.New(tlsfiles.Config{Cert: t.Cert, Key: t.Key, ClientCA: t.ClientCA, RequireClient: t.ClientAuth == config.ClientRequired, Log: c.Log})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return files, nil
}
