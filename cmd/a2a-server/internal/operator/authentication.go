package operator

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	a2aserver "a2a-server"
	"a2a-server/task/inbox/web/signin"

	"a2a-server/a2a/agentcard"
	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/auth/mtls"
	"a2a-server/auth/oidc"
	"a2a-server/auth/peer"
	"a2a-server/auth/proxy"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/egress"
	"a2a-server/internal/lists"
	"a2a-server/internal/tlsfiles"
)

// authentication makes the authenticators of the configuration. It fails rather than leave out a configured part.
func (o *Operator) authentication() (a a2aserver.Authentication, err error) {
	conf, c, files := o.conf, o.given, o.files
	a.Delegated, a.People = conf.Auth.DelegatedDecisions, conf.Auth.People
	a.Complete, a.Current = o.completed, o.current
	if o.only != "" {
		return a, nil
	}
	if conf.Auth.MTLS.Given() {
		a.Other = append(a.Other, "A client certificate of an authority that the operator names needs no sign-in.")
	}
	if conf.Auth.Proxy.Header != "" {
		a.Other = append(a.Other, "Whoever comes through the proxy that authenticates callers needs no sign-in: use its URL.")
	}
	if c.Authenticator != nil { // the configuration was refused if it has authentication, too
		a.Authenticator = o.connected(c.Authenticator)
		return a, nil
	}
	var all []auth.Authenticator
	if file := conf.Auth.Keys.File; file != "" {
		if a.Keys, err = apikey.New(apikey.Config{Header: conf.Auth.Keys.Header, File: file, Tenant: conf.Auth.Tenant, Now: c.Now}); err != nil {
			return a, fmt.Errorf("%w: %s%w", a2aserver.ErrConfig, conf.Problem("auth.keys.file", ""), err) // a problem without a text ends with a colon
		}
		o.keys = a.Keys
		all, a.Schemes = append(all, a.Keys), append(a.Schemes, keyScheme(conf.Auth.Keys.Header))
	}
	if p := conf.Auth.Proxy; p.Header != "" {
		made, err := proxy.New(proxy.Config{
			Header: p.Header, From: p.From, Tenant: p.Tenant.Text, TenantHeader: p.Tenant.Name,
			Roles: p.Roles.Fixed, GroupsHeader: p.Roles.Name, Map: p.Roles.Map,
		})
		if err != nil {
			return a, fmt.Errorf("%w: auth.proxy: %w", a2aserver.ErrConfig, err)
		}
		all, a.Schemes = append(all, made), append(a.Schemes, agentcard.SecurityScheme{
			Name: "proxy", Kind: agentcard.SchemeHTTP, Scheme: made.Challenges()[0], Header: p.Header,
			Description: "A proxy in front of this server authenticates callers: use its URL, and what it asks for.",
		})
	}
	if len(conf.Auth.OIDC) > 0 {
		made, err := o.issuers()
		if err != nil {
			return a, err
		}
		a.OIDC = made
		all, a.Schemes = append(all, made), append(a.Schemes, lists.Map(conf.Auth.OIDC, issuerScheme)...)
		for i := range conf.Auth.OIDC {
			if issuer := &conf.Auth.OIDC[i]; issuer.ClientID != "" {
				a.Issuers = append(a.Issuers, o.signInIssuer(issuer))
			}
		}
	}
	if m := conf.Auth.MTLS; m.Given() {
		made, err := mtls.New(mtls.Config{Subject: m.Subject, Tenant: m.Tenant, Roles: m.Roles, Trusted: files.Trusts, Changed: files.Changed, Now: c.Now})
		if err != nil {
			return a, fmt.Errorf("%w: auth.mtls: %w", a2aserver.ErrConfig, err)
		}
		all, a.Schemes = append(all, made), append(a.Schemes, agentcard.SecurityScheme{
			Name: "mtls", Kind: agentcard.SchemeMTLS, Description: "A client certificate of an authority that the operator of this server names.",
		})
	} else if conf.TLS.ClientAuth == config.ClientRequired && len(a.Schemes) > 0 {
		a.Schemes = append(a.Schemes, agentcard.SecurityScheme{
			Name: "mtls", Kind: agentcard.SchemeMTLS, Description: "A client certificate, without which there is no connection.", Also: true,
		})
	}
	if len(all) == 0 {
		return a, nil
	}
	for _, text := range config.UnknownSubjects(conf, func(subject string) (string, bool) {
		by, _, valid := a.Keys.Holder(subject)
		return by.Tenant, valid
	}) {
		c.Log.Warn().Msg(text)
	}
	for i, one := range all {
		all[i] = auth.Completing(one, func(_ context.Context, p auth.Principal) (auth.Principal, error) { return o.completed(p) })
	}
	a.Authenticator = o.connected(auth.First(all...))
	return a, nil
}

// connected returns a with the certificates that the configuration requires of every
// connection. The listener looks at them when a connection begins, which may be days ago.
func (o *Operator) connected(a auth.Authenticator) auth.Authenticator {
	if o.conf.TLS.ClientAuth != config.ClientRequired || o.conf.Auth.MTLS.Given() {
		return a // mtls looks itself
	}
	return auth.Requiring(mtls.Require(mtls.Config{Trusted: o.files.Trusts, Now: o.given.Now}), o.files, a)
}

// issuers returns the authenticator of tokens of the configured issuers.
func (o *Operator) issuers() (*oidc.Authenticator, error) {
	var all []oidc.Config
	for n, i := range o.conf.Auth.OIDC {
		var authorities []byte
		if i.CA != "" {
			var err error
			if authorities, err = tlsfiles.ReadAuthorities(i.CA); err != nil {
				return nil, fmt.Errorf("%w: auth.oidc[%d].ca: %w", a2aserver.ErrConfig, n, err)
			}
		}
		client, err := egress.NewClient(egress.Config{Allow: i.Networks, Own: o.own, RootCAs: authorities, Timeout: 10 * time.Second, MaxBytes: 1 << 20})
		if err != nil {
			return nil, fmt.Errorf("%w: auth.oidc: %w", a2aserver.ErrConfig, err)
		}
		all = append(all, oidc.Config{
			Name: i.Name, Issuer: i.Issuer, Audiences: i.Audiences, Algorithms: i.Algorithms, JWKS: i.JWKS, TokenType: i.TokenType,
			Subject: i.Subject, Person: i.Person, Tenant: oidc.Tenant{Claim: i.Tenant.Name, Value: i.Tenant.Text},
			Roles: oidc.Roles{Claim: i.Roles.Name, Map: i.Roles.Map}, DefaultRoles: i.Roles.Fixed, Client: client, Log: o.given.Log, Now: o.given.Now,
		})
	}
	made, err := oidc.New(all...)
	if err != nil {
		return nil, fmt.Errorf("%w: auth: %w", a2aserver.ErrConfig, err)
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

// issuerScheme returns how the card says that tokens of an issuer are accepted: with its discovery
// document, unless the keys come from elsewhere.
func issuerScheme(o config.OIDC) agentcard.SecurityScheme {
	s := agentcard.SecurityScheme{
		Name: o.Name, Description: "An access token of " + o.Issuer + " for " + strings.Join(o.Audiences, " or ") + ", as Authorization: Bearer.",
		Kind: agentcard.SchemeOpenID, URL: strings.TrimSuffix(o.Issuer, "/") + "/.well-known/openid-configuration",
	}
	if o.JWKS != "" { // the issuer need not have a discovery document
		s.Kind, s.URL, s.Scheme, s.Format = agentcard.SchemeHTTP, "", "Bearer", "JWT"
	}
	return s
}

// signInIssuer returns an issuer as the pages know it.
func (o *Operator) signInIssuer(c *config.OIDC) signin.Issuer {
	i := signin.Issuer{Name: c.Name, ClientID: c.ClientID, Scopes: c.Scopes, ByAccess: c.SignInToken == config.ByAccess, Mark: issuerMark(c, &o.conf.Auth)}
	if name := c.ClientSecret.Secret; name != "" {
		i.Secret = func(context.Context) (string, error) { return o.secret(name) }
	}
	return i
}

// issuerMark returns a text that changes with every setting that identifies the callers of an
// issuer, or gives them rights.
func issuerMark(o *config.OIDC, conf *config.Auth) string {
	text, err := json.Marshal([]any{o.Issuer, o.ClientID, o.Audiences, o.SignInToken, o.Subject, o.Person, o.Tenant, o.Roles, conf.Tenant, conf.DefaultRoles, conf.People})
	if err != nil {
		panic("the configuration of an issuer cannot be written: " + err.Error()) // it was read from YAML
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// current returns a stored principal as they are now: holders of keys and local users are as the operator names them.
func (o *Operator) current(was auth.Principal) (by auth.Principal, named bool, err error) {
	var why string
	switch was.Method {
	case apikey.Method:
		why = "their API key was revoked, replaced or removed, or has expired"
		if o.keys != nil {
			by, _, named = o.keys.Holder(was.Subject)
			named = named && by.Mark == was.Mark // the same key
		}
	case peer.Method:
		why = "auth.socket does not have them any more"
		for _, u := range o.conf.Auth.Socket {
			if peer.Method+":"+u.Subject == was.Subject {
				by, named = auth.Principal{Tenant: u.Tenant, Subject: was.Subject, Person: u.Person, Roles: u.Roles, Method: peer.Method, Mark: peer.Setting}, true
			}
		}
	default:
		if source, _, _ := strings.Cut(was.Subject, ":"); !slices.Contains(config.SubjectMethods(&o.conf.Auth), source) {
			err = &auth.WithdrawnError{Why: "they cannot be authenticated here any more"}
		}
		return auth.Principal{}, false, err
	}
	if named {
		by, err = o.completed(by)
	}
	if err == nil && (!named || by.Tenant != was.Tenant) {
		err = &auth.WithdrawnError{Why: why}
	}
	return by, true, err
}

// completed returns p with the tenant and the roles of the configuration, if it has none, and with
// its person.
func (o *Operator) completed(p auth.Principal) (auth.Principal, error) {
	p.Tenant, p.Roles = cmp.Or(p.Tenant, o.conf.Auth.Tenant), o.conf.Auth.RolesOr(p.Roles)
	return o.conf.Auth.People.Known(p)
}

// certificates reads the certificates of the configuration; nil: it has none.
func (o *Operator) certificates() (*tlsfiles.Files, error) {
	t := &o.conf.TLS
	if t.Cert == "" {
		return nil, nil //nolint:nilnil // there are none
	}
	files, err := tlsfiles.New(tlsfiles.Config{Cert: t.Cert, Key: t.Key, ClientCA: t.ClientCA, RequireClient: t.ClientAuth == config.ClientRequired, Log: o.given.Log})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", a2aserver.ErrConfig, err)
	}
	return files, nil
}
