package oidc

import (
	"net/mail"
	"slices"
	"strings"
	"time"

	"a2a-server/auth"
	"a2a-server/internal/visible"
)

// leeway is how far the clock of an issuer may be ahead of ours.
const leeway = 30 * time.Second

// maxChain bounds the length of the chain of actors.
const maxChain = 8

// maxEmail bounds an address, in bytes (RFC 5321, section 4.5.3.1.3).
const maxEmail = 254

// maxTime is the end of the year 9999, in seconds: no later time can be written.
const maxTime = 253402300799

// checkType returns an error unless a token is of the configured type. It keeps an ID token,
// which tells a client the identity of its user, from passing as an access token.
func (i *issuer) checkType(t *token) error {
	if t.kind != i.TokenType && i.TokenType != anyTokenType && (t.kind != "" || i.TokenType != plainTokenType) {
		is := "names no type (typ)"
		if t.kind != "" {
			is = "is of type " + visible.Quote(t.kind, 40)
		}
		return refuse("the token %s and this server accepts %s: send an access token, or the operator sets token_type of the issuer", is, visible.Quote(i.TokenType, 40))
	}
	if i.TokenType != plainTokenType && i.TokenType != anyTokenType {
		return nil
	}
	// Other tokens have this type too. at_hash, c_hash: OpenID Connect Core, section
	// 3.3.2.11; events: RFC 8417; `typ` in the claims: Keycloak.
	kind, _ := t.claims["typ"].(string)
	wrong := slices.ContainsFunc([]string{"ID", "Refresh", "Offline", "Logout"}, func(s string) bool { return strings.EqualFold(s, kind) })
	for _, name := range []string{"at_hash", "c_hash", "s_hash", "events"} {
		_, ok := t.claims[name]
		wrong = wrong || ok
	}
	if _, ok := t.claims["nonce"]; ok && !strings.EqualFold(kind, "Bearer") {
		wrong = true
	}
	if wrong {
		return refuse("the token is not an access token: send the access token of the same answer")
	}
	return nil
}

// checkUse returns an error unless a token is a bearer token, for this server, and valid now.
func (i *issuer) checkUse(t *token, now time.Time) error {
	if !slices.ContainsFunc(texts(t.claims["aud"]), func(s string) bool { return slices.Contains(i.Audiences, s) }) {
		return refuse("the token is for another audience: request one for %s", visible.Quote(i.Audiences[0], 100))
	}
	if err := t.checkTimes(now); err != nil {
		return err
	}
	// A server that ignored cnf would accept a stolen token (RFC 7800, section 3).
	if _, ok := t.claims["cnf"]; ok {
		return refuse("the token is bound to a key (cnf), which this server does not check: get a bearer token")
	}
	return nil
}

// checkTimes returns an error unless a token counts now.
func (t *token) checkTimes(now time.Time) error {
	expires, err := t.time("exp")
	switch {
	case err != nil:
		return err
	case expires.IsZero():
		return refuse("the token does not expire: the issuer has to write exp")
	case !now.Before(expires):
		return refuse("the token has expired: get a new one")
	}
	from, err := t.time("nbf")
	switch {
	case err != nil:
		return err
	case now.Add(leeway).Before(from):
		return refuse("the token is not valid yet: compare the clocks of issuer and server")
	}
	return nil
}

// time returns a claim of RFC 7519's NumericDate, or the zero time if there is none.
func (t *token) time(name string) (time.Time, error) {
	value, ok := t.claims[name]
	if !ok {
		return time.Time{}, nil
	}
	seconds, ok := value.(float64)
	if !ok || seconds <= 0 || seconds > maxTime {
		return time.Time{}, refuse("%s of the token is not a time in seconds", name)
	}
	return time.Unix(int64(seconds), 0), nil
}

// principal returns the principal of a token. signedIn: a person got it in a browser just now, by
// the code flow, which shows the person also where the token does not.
func (i *issuer) principal(t *token, signedIn bool) (auth.Principal, error) {
	var none auth.Principal
	subject, err := i.text(t, i.Subject)
	if err == nil && i.Subject != "sub" {
		_, err = i.text(t, "sub")
	}
	if err != nil {
		return none, err
	}
	p := auth.Principal{Tenant: i.Tenant.Value, Subject: i.called(subject), Method: Method}
	if i.Tenant.Claim != "" {
		if p.Tenant, err = i.text(t, i.Tenant.Claim); err != nil {
			return none, err
		}
	}
	if i.Person != "" {
		if p.Person, err = i.text(t, i.Person); err != nil {
			return none, err
		}
		p.PersonSeen = true // the issuer names them
	}
	if p.Email = email(t.claims); isClient(t.claims) || !signedIn && !i.showsPerson(t.claims) {
		p.Kind, p.Email = auth.KindService, ""
	}
	if p.Chain, err = i.chain(t.claims); err != nil {
		return none, err
	}
	p.Roles = i.roles(t.claims)
	if p.Expires, err = t.time("exp"); err != nil {
		return none, err
	}
	if err := p.Validate(); err != nil {
		return none, refuse("the token does not name a valid caller: %s", visible.Clip(err.Error(), 300))
	}
	return p, nil
}

// email returns the address of a person that the issuer has verified (OpenID Connect Core, section
// 5.1); "": there is none. An address with a name, a comment, invisible characters or characters
// beyond ASCII is none: mail servers may read it as another.
func email(claims map[string]any) string {
	text, _ := claims["email"].(string)
	at, err := mail.ParseAddress(text)
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if claims["email_verified"] != true || err != nil || at.Address != text || len(text) > maxEmail || strings.ContainsFunc(text, odd) {
		return ""
	}
	return text
}

// called returns the name here of a subject of the issuer.
func (i *issuer) called(subject string) string { return i.Name + ":" + subject }

// text returns a claim that has to be there.
func (i *issuer) text(t *token, name string) (string, error) {
	value := claim(t.claims, name)
	text, ok := value.(string)
	switch {
	case value == nil:
		return "", refuse("the token has no claim %s: the issuer has to add it", name)
	case !ok || strings.TrimSpace(text) == "":
		return "", refuse("claim %s of the token is not a text with something in it", name)
	case visible.Line(text) != text:
		return "", refuse("claim %s of the token has invisible characters, such as control characters or direction marks", name)
	}
	return text, nil
}

// claim returns a claim by its name or, if there is none of that name, by its path: some
// names are URLs with dots, and some claims are in objects. It returns nil if there is none.
func claim(claims map[string]any, name string) any {
	if value, ok := claims[name]; ok {
		return value
	}
	first, rest, ok := strings.Cut(name, ".")
	if !ok {
		return nil
	}
	inner, ok := claims[first].(map[string]any)
	if !ok {
		return nil
	}
	return claim(inner, rest)
}

// texts returns a text, or the texts in a list.
func texts(value any) []string {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		var all []string
		for _, v := range value {
			if text, ok := v.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}

// roles returns the roles that a token gives, each once.
func (i *issuer) roles(claims map[string]any) []string {
	var found, all []string
	if i.Roles.Claim != "" {
		found = texts(claim(claims, i.Roles.Claim))
	}
	for _, value := range found {
		values := []string{value}
		if i.Roles.Claim == "scope" || i.Roles.Claim == "scp" {
			values = strings.Fields(value)
		}
		for _, value := range values {
			switch {
			case i.Roles.Map != nil:
				all = append(all, i.Roles.Map[value]...)
			case value != "":
				all = append(all, value)
			}
		}
	}
	if len(all) == 0 {
		all = append(all, i.DefaultRoles...)
	}
	slices.Sort(all)
	return slices.Clip(slices.Compact(all))
}

// showsPerson reports whether a claim is there that issuers write only where a person has signed in:
// a session, the time or the way of the sign-in (OpenID Connect Core, section 2), or the configured
// person, unless it only repeats the subject or the client, which programs have too. A name, an
// address or a scope shows nobody: service accounts have them.
func (i *issuer) showsPerson(claims map[string]any) bool {
	if sid, _ := claims["sid"].(string); strings.TrimSpace(sid) != "" {
		return true
	}
	if since, _ := claims["auth_time"].(float64); since > 0 {
		return true
	}
	if len(texts(claims["amr"])) > 0 {
		return true
	}
	person, _ := claim(claims, i.Person).(string)
	return i.Person != "" && i.Person != i.Subject && strings.TrimSpace(person) != "" && person != claims["sub"] && !slices.Contains(clients(claims), person)
}

// clients returns the names of the client that got a token.
func clients(claims map[string]any) []string {
	var all []string
	for _, name := range []string{"client_id", "azp", "cid"} { // cid: Okta
		if client, _ := claims[name].(string); client != "" {
			all = append(all, client, client+"@clients") // as Auth0 writes it
		}
	}
	return all
}

// isClient reports whether a token was given to a program for itself. RFC 9068, section 2.2, lets
// its subject be the client; some providers have other marks. A mark that is there by mistake takes
// rights away, and gives none.
func isClient(claims map[string]any) bool {
	text := func(name string) string {
		s, _ := claims[name].(string)
		return s
	}
	_, host := claims["clientHost"]
	_, address := claims["clientAddress"]
	return host || address || // Keycloak, whose service accounts may have a session too
		slices.Contains(clients(claims), text("sub")) ||
		text("idtyp") == "app" || text("tid") != "" && text("oid") == text("sub") || // Entra ID, whose users have a subject for each application
		text("gty") == "client-credentials" || // Auth0
		strings.HasSuffix(text("email"), ".gserviceaccount.com") || // Google
		strings.HasPrefix(text("preferred_username"), "service-account-") // Keycloak
}

// chain returns the actors for the subject, outermost first (RFC 8693, section 4.1). They are
// named after the same claim as the subject, so that four eyes recognizes them.
func (i *issuer) chain(claims map[string]any) ([]string, error) {
	var all []string
	for {
		value, ok := claims["act"]
		if !ok {
			return all, nil
		}
		actor, ok := value.(map[string]any)
		if !ok {
			return nil, refuse("act of the token is not an object")
		}
		name, ok := claim(actor, i.Subject).(string)
		if !ok || strings.TrimSpace(name) == "" {
			return nil, refuse("act of the token names nobody (%s): the issuer has to add the claim", i.Subject)
		}
		if visible.Line(name) != name {
			return nil, refuse("act of the token has invisible characters, such as control characters or direction marks")
		}
		if from, ok := actor["iss"]; ok && from != i.Issuer {
			return nil, refuse("act of the token names somebody of another issuer, which this server does not support")
		}
		if len(all) == maxChain {
			return nil, refuse("more than %d callers act for the subject of the token", maxChain)
		}
		all = append(all, i.called(name))
		claims = actor
	}
}
