package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"a2a-server/auth"
	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/suggest"
)

const (
	defaultKeyHeader = "X-API-Key"

	fileInFolder = " A relative path is relative to the folder of the configuration file or, in a variable or a flag, to the working directory."
	rolesMeaning = " What they may do is in docs/security.md: requester, viewer, approver, operator and admin; others are for the rules of tools."
)

// keys returns the keys below tls.
func (t *TLS) keys() []key {
	return []key{
		one("tls.cert", "", setting.Text(&t.Cert, "a file", setting.OneLine),
			"The certificate of the server, with its chain, in PEM. With it and tls.key the server speaks only TLS. Both files are read again when they change."+fileInFolder),
		one("tls.key", "", setting.Text(&t.Key, "a file", setting.OneLine),
			"The private key of tls.cert, in PEM. It must not be readable for everybody (mode 0640 or less)."+fileInFolder),
		one("tls.client_ca", "", setting.Text(&t.ClientCA, "a file", setting.OneLine),
			"The authorities whose client certificates are accepted, in PEM."+fileInFolder),
		one("tls.client_auth", "optional", setting.Choice(&t.ClientAuth, "a setting of client certificates", ClientOptional, ClientRequired),
			"With required, a connection without a valid client certificate fails; probes of /livez and /readyz need one, too. With optional, a client may send one. It needs tls.client_ca."),
	}
}

// keys returns the keys below auth.
func (a *Auth) keys() []key {
	return []key{
		one("auth.keys.header", defaultKeyHeader, setting.Text(&a.Keys.Header, "the name of a header", aHeader),
			"The header that has an API key. Authorization means Authorization: Bearer and the key."),
		one("auth.keys.file", "", setting.Text(&a.Keys.File, "a file", setting.OneLine),
			"The file of API keys, which 'a2a-server keys add' writes. It has no key, only their digests."+fileInFolder),
		mappings("auth.oidc", "issuer", "- name: corp", &a.OIDC, oidcKeys, checkOIDC),
		one("auth.mtls.subject", string(NoName), setting.Choice(&a.MTLS.Subject, "a name in a certificate", NoName, URISAN, DNSSAN, EmailSAN, CommonName),
			"Takes the client certificate as a credential, and this name in it as the caller's; none: it is no credential. It needs tls.client_ca. Such a caller is a service."),
		one("auth.mtls.tenant", "", setting.Text(&a.MTLS.Tenant, "a name", setting.OneLine),
			"The tenant of these callers. Without it, auth.tenant."),
		many("auth.mtls.roles", "", &a.MTLS.Roles, aRole,
			"The roles of these callers. Without it, auth.default_roles."),
		one("auth.proxy.header", "", setting.Text(&a.Proxy.Header, "the name of a header", aProxyHeader),
			"Takes the name of the caller from this header of a request, such as X-Forwarded-User, if the connection comes from one of auth.proxy.from. From anybody else it is ignored. The proxy has to authenticate every request, and to remove the header from what its clients send."),
		many("auth.proxy.from", "", &a.Proxy.From, setting.Network,
			"Addresses of the proxies whose header is believed. Nobody else may be able to connect from them.", notEverybody("write any name into the header")),
		shaped("auth.proxy.tenant", "a name, or {header: NAME}", &a.Proxy.Tenant, fromOf("header"),
			"The tenant of these callers, or the header that has it. Without it, auth.tenant."),
		shaped("auth.proxy.roles", "a list of roles, or {header: NAME, map: {GROUP: [ROLE]}}", &a.Proxy.Roles, rolesOf("header"),
			"The roles of these callers, or the header that has their groups, separated by commas, and the roles of each group; other groups have none. Without it, auth.default_roles."),
		mappings("auth.socket", "local user", "- uid: 1000", &a.Socket, socketKeys, checkSocketUser),
		one("auth.delegated_decisions", "false", setting.Bool(&a.DelegatedDecisions),
			"Lets services, and agents with the token of a person, decide approvals. With false only a person may, who acts directly."),
		many("auth.default_roles", "", &a.DefaultRoles, aRole,
			"The roles of callers whose credential gives none. Without a role a caller may do nothing."+rolesMeaning),
		one("auth.tenant", "", setting.Text(&a.Tenant, "a name", setting.OneLine),
			"The tenant of callers whose credential gives none. Rights on what others own, such as those of an approver, need a tenant."),
	}
}

// oidcKeys returns the keys of an entry of auth.oidc.
func oidcKeys(o *OIDC) []key {
	return append([]key{
		one("name", "", setting.Text(&o.Name, "a name of lower-case letters, digits, _ and -", anIssuerName),
			"Required. The name of the issuer here. Subjects begin with it, as in corp:alice, so do not change it later."),
		one("issuer", "", setting.Text(&o.Issuer, "a URL such as https://idp.example.com", anIssuer),
			"Required. The issuer, exactly as in the claim iss of its tokens."),
		many("audiences", "", &o.Audiences, aText,
			"Required. A token has to be for one of these (claim aud)."),
		many("algorithms", "RS256,ES256", &o.Algorithms, anAlgorithm,
			"The algorithms of signatures that are accepted."),
		one("jwks", "", setting.Text(&o.JWKS, "a URL such as https://idp.example.com/keys", aURL),
			"Where the keys of the issuer are. Without it, where its discovery document says."),
		one("token_type", "at+jwt", setting.Text(&o.TokenType, "a type such as at+jwt or JWT", setting.NotEmpty("a type"), setting.OneLine),
			"The type that the header of a token has to name (typ). at+jwt is an access token (RFC 9068). JWT is what issuers write that do not mark access tokens; a token without a type is then accepted, too, and ID tokens are told apart by their claims."),
		one("subject", "sub", setting.Text(&o.Subject, "a claim", setting.NotEmpty("a claim"), setting.OneLine),
			"The claim with the caller's name, which must be unique and never be given to somebody else."),
		one("person", "", setting.Text(&o.Person, "a claim", setting.OneLine),
			"The claim that says which person a caller is, if one has several names, such as a login and an API key: under four eyes they count as one. A token without the claim is refused. If the key is not set, the person is the subject."),
		shaped("tenant", "a name, or {claim: NAME}", &o.Tenant, fromOf("claim"),
			"The tenant of these callers, or the claim that has it. Without it, auth.tenant."),
		shaped("roles", "a list of roles, or {claim: NAME, map: {GROUP: [ROLE]}}", &o.Roles, rolesOf("claim"),
			"The roles of these callers, or the claim that has their groups, and the roles of each group; other groups have none. Without it, auth.default_roles."),
		many("networks", "", &o.Networks, setting.Network,
			"Addresses that are not public, and that the server may connect to for discovery and keys. Without it, only public ones."),
		one("ca", "", setting.Text(&o.CA, "a file", setting.OneLine),
			"Authorities that the certificate of the issuer may have, in PEM, in addition to those of the system. The file is read at the start. A relative path is relative to the folder of the configuration file."),
	}, o.signInKeys()...)
}

// socketKeys returns the keys of an entry of auth.socket.
func socketKeys(u *SocketUser) []key {
	return []key{
		one("uid", "", setting.Count(&u.UID, 0, 1<<31-1),
			"Required. The numeric id of a user of this machine, as 'id -u' prints it."),
		one("subject", "", setting.Text(&u.Subject, "a name", setting.OneLine),
			"Required. The name of the user here; the subject is socket: and this name."),
		one("person", "", setting.Text(&u.Person, "a name", setting.OneLine),
			"Which person the user is, if one has several names: under four eyes they count as one. Without it, the subject."),
		one("tenant", "", setting.Text(&u.Tenant, "a name", setting.OneLine),
			"The tenant of the user. Without it, auth.tenant."),
		many("roles", "", &u.Roles, aRole,
			"The roles of the user. Without it, auth.default_roles."),
	}
}

func aText(to *string) setting.Value {
	return setting.Text(to, "a text", setting.NotEmpty("a text"), setting.OneLine)
}

// aRole returns a value that is a role. One that is almost a role that may do something is
// most likely misspelled.
func aRole(to *string) setting.Value {
	return setting.Text(to, "a role", checkRole)
}

func checkRole(text string) error {
	if err := setting.NotEmpty("a role")(text); err != nil {
		return err
	}
	if err := setting.OneLine(text); err != nil {
		return err
	}
	if hint := suggest.DidYouMean(text, "", auth.Roles()); hint != "" && !slices.Contains(auth.Roles(), text) {
		return fmt.Errorf("%s is not a role that may do something%s", quote(text), hint)
	}
	return nil
}

func anAlgorithm(to *string) setting.Value {
	return setting.Choice(to, "an algorithm of signatures", "RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "EdDSA")
}

func anIssuerName(name string) error {
	if name == "" || len(name) > 50 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		return fmt.Errorf("%s is not a name; write 1 to 50 lower-case letters, digits, - and _", quote(name))
	}
	return nil
}

// anIssuer refuses what no issuer can be: a token from it could not be trusted.
func anIssuer(text string) error {
	if err := setting.NotEmpty("a URL")(text); err != nil {
		return err
	}
	return aURL(text)
}

func aURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil
	case err != nil || u.Host == "" || u.User != nil || strings.ContainsAny(text, " \t\n#"):
		return fmt.Errorf("%s is not a URL; write it as https://idp.example.com", quote(text))
	case u.Scheme == "https", u.Scheme == "http" && setting.Loopback(u.Hostname()+":0"):
		return nil
	}
	return fmt.Errorf("%s is not safe: whoever is on the way could replace the keys; use https", quote(text))
}

func aHeader(name string) error {
	for _, c := range name {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' {
			return fmt.Errorf("%s is not the name of a header; write letters, digits and -", quote(name))
		}
	}
	switch strings.ToLower(name) {
	case "":
		return errors.New("is empty; write the name of a header")
	case "host", "cookie", "connection", "content-length", "content-type", "transfer-encoding", "origin", "accept":
		return fmt.Errorf("%s has another meaning in HTTP; write another header", quote(name))
	}
	return nil
}

// aProxyHeader is "" or the name of a header that says who a caller is.
func aProxyHeader(name string) error {
	switch {
	case name == "":
		return nil
	case strings.EqualFold(name, "Authorization"):
		return errors.New("the header Authorization has a credential, not the name of a caller; use auth.keys or auth.oidc, or have the proxy write another header")
	}
	return aHeader(name)
}

// fromOf returns a function that reads a text, or where a credential has it.
func fromOf(where string) func(*loader, strictyaml.Node) (From, bool) {
	return func(_ *loader, n strictyaml.Node) (From, bool) {
		if n.Null() {
			n.Add("has no value; write a name, or remove the line")
			return From{}, false
		}
		if !n.Says() { // {}
			return From{}, true
		}
		if !n.IsMapping() {
			text, ok := nonEmpty(n)
			return From{Text: text}, ok
		}
		f, ok := n.Fields(where)
		if !ok {
			return From{}, false
		}
		name, ok := source(f, n, where)
		return From{Name: name, Key: where}, ok
	}
}

// rolesOf returns a function that reads a list of roles, or where a credential has groups.
func rolesOf(where string) func(*loader, strictyaml.Node) (RolesFrom, bool) {
	return func(_ *loader, n strictyaml.Node) (RolesFrom, bool) {
		if !n.Null() && !n.Says() { // {}
			return RolesFrom{}, true
		}
		if !n.IsMapping() {
			roles, ok := roleList(n)
			return RolesFrom{Fixed: roles}, ok
		}
		f, ok := n.Fields(where, "map")
		if !ok {
			return RolesFrom{}, false
		}
		name, ok := source(f, n, where)
		r := RolesFrom{Name: name, Key: where}
		if f.Get("map").Missing() {
			n.Add("has no map, without which a group gives no role; write {%s: NAME, map: {GROUP: [ROLE]}}", where)
			return r, false
		}
		groups, is := f.Get("map").Members("roles by group", "; write it as {sre: [approver, operator]}")
		ok = ok && is
		r.Map = map[string][]string{}
		for _, group := range groups {
			roles, is := roleList(group.Value)
			if is && len(roles) == 0 {
				group.Value.Add("has no role; write at least one, or remove the group")
				is = false
			}
			r.Map[group.Name], ok = roles, ok && is
		}
		return r, ok
	}
}

// source reads the name of the claim or header that has something.
func source(f strictyaml.Fields, n strictyaml.Node, where string) (string, bool) {
	at := f.Get(where)
	if at.Missing() {
		n.Add("names no %s; write {%s: NAME}", where, where)
		return "", false
	}
	name, ok := nonEmpty(at)
	if ok && where == "header" {
		if err := aHeader(name); err != nil {
			at.Add("%v", err)
			return "", false
		}
	}
	return name, ok
}

func nonEmpty(n strictyaml.Node) (string, bool) {
	text, ok := n.One()
	if !ok {
		return "", false
	}
	for _, check := range []func(string) error{setting.NotEmpty("a name, or remove the line"), setting.OneLine} {
		if err := check(text); err != nil {
			n.Add("%v", err)
			return "", false
		}
	}
	return text, true
}

func roleList(n strictyaml.Node) (all []string, ok bool) {
	items, ok := n.Items("a list of roles", "; write it as [requester, approver]")
	for _, item := range items {
		text, is := item.One()
		if is {
			if err := checkRole(text); err != nil {
				item.Add("%v", err)
				is = false
			} else if slices.Contains(all, text) {
				item.Add("%s is in the list twice; remove one", quote(text))
				is = false
			}
		}
		all, ok = append(all, text), ok && is
	}
	return all, ok
}
