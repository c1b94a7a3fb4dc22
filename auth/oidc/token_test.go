package oidc_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/auth"
	"a2a-server/auth/oidc"
)

type members = map[string]any

func mapped(c *oidc.Config) {
	c.Tenant.Claim = "org"
	c.Roles = oidc.Roles{Claim: "groups", Map: map[string][]string{"sre": {"operator", "approver"}, "all": {"requester", "operator"}}}
}

// An address counts only if the issuer says that it is verified, and it is nothing but an address.
func TestEmailThatIsNone(t *testing.T) {
	t.Parallel()
	key := ecPair("k1")
	p := newProvider(t, key)
	a := newAuthenticator(t, p.config(&clock{}))
	const good = "alice@example.com"
	for _, claims := range []members{
		{"email": good},
		{"email": good, "email_verified": false},
		{"email": good, "email_verified": "true"},
		{"email": good, "email_verified": 1},
		{"email": good, "email_verified": members{"x": true}},
		{"email": []string{good}, "email_verified": true},
		{"user_email": good, "email_verified": true},
		{"email": "", "email_verified": true},
		{"email": "alice", "email_verified": true},
		{"email": "Alice <" + good + ">", "email_verified": true},
		{"email": good + ", eve@example.org", "email_verified": true},
		{"email": good + "\r\nBcc: eve@example.org", "email_verified": true},
		{"email": "\"alice\r\n\"@example.com", "email_verified": true},
		{"email": good + "\n", "email_verified": true},
		{"email": " " + good, "email_verified": true},
		{"email": good + " (eve)", "email_verified": true},
		{"email": "alice@ex\u0430mple.com", "email_verified": true},
		{"email": strings.Repeat("a", 251) + "@b.c", "email_verified": true},
	} {
		who, err := authenticate(t, a, key.sign(header(key), p.claims(claims)))
		if err != nil || who.Email != "" {
			t.Errorf("claims %v: address %q, %v; want a caller without one", claims, who.Email, err)
		}
	}
}

// Who a valid token is for.
func TestCaller(t *testing.T) {
	t.Parallel()
	key := ecPair("k1")
	p := newProvider(t, key)
	plain := auth.Principal{Subject: "corp:alice", Method: "oidc", Expires: start.Add(time.Hour).Local()}
	with := func(change func(*auth.Principal)) auth.Principal {
		who := plain
		change(&who)
		return who
	}
	for name, tc := range map[string]struct {
		config func(*oidc.Config)
		header members
		claims members
		want   auth.Principal
	}{
		"a user":           {want: plain},
		"tenant and roles": {config: mapped, want: with(func(p *auth.Principal) { p.Tenant, p.Roles = "acme", []string{"approver", "operator"} })},
		"several groups": {
			config: mapped, claims: members{"groups": []any{"all", 7, "sre", "unknown", "admin"}},
			want: with(func(p *auth.Principal) { p.Tenant, p.Roles = "acme", []string{"approver", "operator", "requester"} }),
		},
		"no group that gives a role": {
			config: func(c *oidc.Config) { mapped(c); c.DefaultRoles = []string{"viewer"} }, claims: members{"groups": "unknown"},
			want: with(func(p *auth.Principal) { p.Tenant, p.Roles = "acme", []string{"viewer"} }),
		},
		"default roles only without others": {
			config: func(c *oidc.Config) { mapped(c); c.DefaultRoles = []string{"viewer"} },
			want:   with(func(p *auth.Principal) { p.Tenant, p.Roles = "acme", []string{"approver", "operator"} }),
		},
		"a claim with an empty name gives nothing": {claims: members{"": []string{"admin"}}, want: plain},
		"a group is a role": {
			config: func(c *oidc.Config) { c.Roles.Claim = "groups" }, claims: members{"groups": []string{"requester", "", "requester"}},
			want: with(func(p *auth.Principal) { p.Roles = []string{"requester"} }),
		},
		"roles by scope": {
			config: func(c *oidc.Config) {
				c.Roles = oidc.Roles{Claim: "scope", Map: map[string][]string{"a2a.read": {"viewer"}}}
			},
			claims: members{"scope": "openid a2a.read"}, want: with(func(p *auth.Principal) { p.Roles = []string{"viewer"} }),
		},
		"a group with a space is one group": {
			config: mapped, claims: members{"groups": "sre all"}, want: with(func(p *auth.Principal) { p.Tenant = "acme" }),
		},
		"roles in an object": {
			config: func(c *oidc.Config) { c.Roles.Claim = "realm_access.roles" }, claims: members{"realm_access": members{"roles": []string{"viewer"}}},
			want: with(func(p *auth.Principal) { p.Roles = []string{"viewer"} }),
		},
		"roles in a claim whose name has dots": {
			config: func(c *oidc.Config) { c.Roles.Claim = "https://example.com/roles" }, claims: members{"https://example.com/roles": []string{"viewer"}},
			want: with(func(p *auth.Principal) { p.Roles = []string{"viewer"} }),
		},
		"a fixed tenant":                       {config: func(c *oidc.Config) { c.Tenant.Value = "all" }, want: with(func(p *auth.Principal) { p.Tenant = "all" })},
		"another subject":                      {config: func(c *oidc.Config) { c.Subject = "oid" }, claims: members{"oid": "4711"}, want: with(func(p *auth.Principal) { p.Subject = "corp:4711" })},
		"a person":                             {config: func(c *oidc.Config) { c.Person = "employee" }, claims: members{"employee": "e1"}, want: with(func(p *auth.Principal) { p.Person, p.PersonSeen = "e1", true })},
		"audiences":                            {claims: members{"aud": []any{"other", "a2a"}}, want: plain},
		"a long type":                          {header: members{"typ": "Application/AT+JWT"}, want: plain},
		"type JWT":                             {config: func(c *oidc.Config) { c.TokenType = "JWT" }, header: members{"typ": "JWT"}, want: plain},
		"no type":                              {config: func(c *oidc.Config) { c.TokenType = "JWT" }, header: members{"typ": nil}, want: plain},
		"any type":                             {config: func(c *oidc.Config) { c.TokenType = "any" }, header: members{"typ": "x"}, want: plain},
		"nonce in an access token of Keycloak": {config: func(c *oidc.Config) { c.TokenType = "JWT" }, header: members{"typ": "JWT"}, claims: members{"typ": "Bearer", "nonce": "n"}, want: plain},
		"clocks differ a little":               {claims: members{"nbf": start.Add(30 * time.Second).Unix()}, want: plain},
		"fractions of seconds":                 {claims: members{"exp": float64(start.Add(time.Hour).Unix()) + 0.5}, want: plain},
		"a service":                            {claims: members{"sub": "web"}, want: with(func(p *auth.Principal) { p.Subject, p.Kind = "corp:web", auth.KindService })},
		"a service by azp":                     {claims: members{"sub": "x", "client_id": nil, "azp": "x"}, want: with(func(p *auth.Principal) { p.Subject, p.Kind = "corp:x", auth.KindService })},
		"a service of Okta":                    {claims: members{"sub": "x", "client_id": nil, "cid": "x"}, want: with(func(p *auth.Principal) { p.Subject, p.Kind = "corp:x", auth.KindService })},
		"a service of Auth0":                   {claims: members{"sub": "x@clients", "azp": "x"}, want: with(func(p *auth.Principal) { p.Subject, p.Kind = "corp:x@clients", auth.KindService })},
		"a grant of Auth0":                     {claims: members{"gty": "client-credentials"}, want: with(func(p *auth.Principal) { p.Kind = auth.KindService })},
		"a service of Entra":                   {claims: members{"idtyp": "app"}, want: with(func(p *auth.Principal) { p.Kind = auth.KindService })},
		"a service of Entra without the claim": {claims: members{"tid": "t", "oid": "alice"}, want: with(func(p *auth.Principal) { p.Kind = auth.KindService })},
		"a user of Entra":                      {claims: members{"tid": "t", "oid": "4711"}, want: plain},
		"a service of Keycloak":                {claims: members{"preferred_username": "service-account-web"}, want: with(func(p *auth.Principal) { p.Kind = auth.KindService })},
		"a service under another subject": {
			config: func(c *oidc.Config) { c.Subject = "oid" }, claims: members{"sub": "web", "oid": "4711"},
			want: with(func(p *auth.Principal) { p.Subject, p.Kind = "corp:4711", auth.KindService }),
		},
		"a verified address": {claims: members{"email": "alice@example.com", "email_verified": true}, want: with(func(p *auth.Principal) { p.Email = "alice@example.com" })},
		"a service's address": {
			claims: members{"sub": "web", "email": "web@example.com", "email_verified": true}, want: with(func(p *auth.Principal) { p.Subject, p.Kind = "corp:web", auth.KindService }),
		},
		"an agent acts": {claims: members{"act": members{"sub": "agent"}}, want: with(func(p *auth.Principal) { p.Chain = []string{"corp:agent"} })},
		"agents act": {
			claims: members{"act": members{"sub": "agent", "iss": p.URL, "act": members{"sub": "desk"}}},
			want:   with(func(p *auth.Principal) { p.Chain = []string{"corp:agent", "corp:desk"} }),
		},
		"an agent acts under another subject": {
			config: func(c *oidc.Config) { c.Subject = "oid" }, claims: members{"oid": "4711", "act": members{"sub": "agent", "oid": "4712"}},
			want: with(func(p *auth.Principal) { p.Subject, p.Chain = "corp:4711", []string{"corp:4712"} }),
		},
		"eight agents act": {claims: members{"act": acts(8)}, want: with(func(p *auth.Principal) {
			for range 8 {
				p.Chain = append(p.Chain, "corp:agent")
			}
		})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := p.config(&clock{})
			if tc.config != nil {
				tc.config(&config)
			}
			a := newAuthenticator(t, config)
			token := key.sign(header(key, tc.header), p.claims(tc.claims))
			for range 2 { // verified, and remembered
				got, err := authenticate(t, a, token)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("principal (-want +got):\n%s", diff)
				}
				if err := got.Validate(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// acts returns an act claim of n callers.
func acts(n int) any {
	if n == 0 {
		return nil
	}
	actor := members{"sub": "agent"}
	if inner := acts(n - 1); inner != nil {
		actor["act"] = inner
	}
	return actor
}

// What is not an access token for this server, now, is refused with what to do.
func TestRefused(t *testing.T) {
	t.Parallel()
	key, ed, foreign, rsaKey := ecPair("k1"), edPair("k2"), ecPair("k1"), rsaPair("k3")
	p := newProvider(t, key, ed, rsaKey)
	h, c := func(changes ...members) members { return header(key, changes...) }, p.claims
	sign := func(header members, claims any) string { return key.sign(header, claims) }
	public := must(x509.MarshalPKIXPublicKey(rsaKey.private.Public()))
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	valid := sign(h(), c())
	parts := strings.Split(valid, ".")
	flat := must(json.Marshal(members{"payload": parts[1], "protected": parts[0], "signature": parts[2]}))
	for name, tc := range map[string]struct {
		config      func(*oidc.Config)
		token, says string
	}{
		"not a JWT":            {token: "c2VjcmV0", says: "not a JWT"},
		"two parts":            {token: parts[0] + "." + parts[1], says: "not a JWT"},
		"four parts":           {token: valid + ".x", says: "not a JWT"},
		"many parts":           {token: strings.Repeat(".", 1000), says: "not a JWT"},
		"encrypted":            {token: "a.b.c.d.e", says: "encrypted"},
		"JSON":                 {token: string(flat), says: "not a JWT"},
		"empty parts":          {token: "..", says: "header"},
		"two tokens":           {token: valid + ", Basic YTpi", says: "base64url"},
		"padding":              {token: parts[0] + "=." + parts[1] + "." + parts[2], says: "header of the token is not base64url"},
		"ends of lines":        {token: parts[0] + "\n." + parts[1] + "." + parts[2], says: "header of the token is not base64url"},
		"ends of lines, later": {token: parts[0] + "." + parts[1] + "." + parts[2] + "\r", says: "signature of the token is not base64url"},
		"a header of numbers":  {token: key.sign([]byte("[1]"), c()), says: "header of the token is not a valid JSON object"},
		"two headers":          {token: key.sign([]byte(`{"alg":"ES256","kid":"k1","kid":"k2","typ":"at+jwt"}`), c()), says: "header of the token is not a valid"},
		"two subjects":         {token: sign(h(), []byte(`{"iss":"`+p.URL+`","aud":"a2a","sub":"alice","sub":"root","exp":4000000000}`)), says: "payload of the token is not a valid"},
		"a payload of text":    {token: sign(h(), []byte(`"alice"`)), says: "payload"},
		"deep":                 {token: sign(h(), []byte(strings.Repeat(`{"a":`, 2000)+"1"+strings.Repeat("}", 2000))), says: "payload"},

		"none":            {token: encode(h(members{"alg": "none"})) + "." + encode(c()) + ".", says: `signed with \"none\"`},
		"None":            {token: encode(h(members{"alg": "nOnE"})) + "." + encode(c()) + ".", says: "accepted are"},
		"no algorithm":    {token: sign(h(members{"alg": nil}), c()), says: "no alg"},
		"algorithms":      {token: sign(h(members{"alg": []string{"ES256"}}), c()), says: "alg in the header of the token is not a text"},
		"unlisted":        {token: rsaKey.sign(header(rsaKey, members{"alg": "RS512"}), c()), says: "accepted are [RS256 ES256 EdDSA]"},
		"HS256 with PEM":  {token: hmacSigned(header(rsaKey, members{"alg": "HS256"}), c(), publicPEM), says: "HS256"},
		"HS256 with DER":  {token: hmacSigned(header(rsaKey, members{"alg": "HS256"}), c(), public), says: "HS256"},
		"RS256 by a MAC":  {token: hmacSigned(header(rsaKey), c(), publicPEM), says: "signature of the token is invalid"},
		"another's key":   {token: foreign.sign(h(), c()), says: "signature of the token is invalid"},
		"key of a type":   {token: key.sign(header(key, members{"kid": "k2"}), c()), says: "signature of the token is invalid"},
		"alg of a type":   {token: ed.sign(header(ed, members{"alg": "ES256"}), c()), says: "signature of the token is invalid"},
		"no signature":    {token: parts[0] + "." + parts[1] + ".", says: "signature of the token is invalid"},
		"changed":         {token: parts[0] + "." + encode(c(members{"sub": "root"})) + "." + parts[2], says: "signature of the token is invalid"},
		"own key":         {token: foreign.sign(h(members{"jwk": foreign.jwk()}), c()), says: "signature of the token is invalid"},
		"own URL of keys": {token: foreign.sign(h(members{"jku": "https://evil.example/keys"}), c()), says: "signature of the token is invalid"},
		"unknown key":     {token: sign(h(members{"kid": "k9"}), c()), says: `does not publish the key \"k9\"`},
		"no key id":       {token: sign(h(members{"kid": nil}), c()), says: "no kid"},
		"empty key id":    {token: sign(h(members{"kid": ""}), c()), says: "no kid"},
		"number of a key": {token: sign(h(members{"kid": 1}), c()), says: "kid in the header of the token is not a text"},
		"crit":            {token: sign(h(members{"crit": []string{"exp"}}), c()), says: "has crit"},
		"b64":             {token: sign(h(members{"b64": false, "crit": []string{"b64"}}), c()), says: "does not support"},
		"b64 alone":       {token: sign(h(members{"b64": true}), c()), says: "has b64"},
		"zip":             {token: sign(h(members{"zip": "DEF"}), c()), says: "has zip"},
		"a nested JWE":    {token: sign(h(members{"cty": "JWT"}), []byte("a.b.c.d.e")), says: "payload of the token is not"},

		"an ID token":             {token: sign(h(members{"typ": "JWT"}), c()), says: "token_type"},
		"no type":                 {token: sign(h(members{"typ": nil}), c()), says: "token_type"},
		"type of another profile": {token: sign(h(members{"typ": "secevent+jwt"}), c()), says: "token_type"},
		"number as type":          {token: sign(h(members{"typ": 1}), c()), says: "typ in the header of the token is not a text"},
		"ID token of type JWT":    {config: plainType, token: sign(h(members{"typ": "JWT"}), c(members{"nonce": "n"})), says: "not an access token"},
		"ID token with a hash":    {config: plainType, token: sign(h(members{"typ": "JWT"}), c(members{"at_hash": "n"})), says: "not an access token"},
		"ID token of Keycloak":    {config: plainType, token: sign(h(members{"typ": "JWT"}), c(members{"typ": "ID"})), says: "not an access token"},
		"refresh token":           {config: plainType, token: sign(h(members{"typ": "JWT"}), c(members{"typ": "Refresh"})), says: "not an access token"},
		"logout token":            {config: anyType, token: sign(h(members{"typ": "logout+jwt"}), c(members{"events": members{}})), says: "not an access token"},
		"at+jwt where JWT is":     {config: plainType, token: valid, says: "token_type"},

		"no issuer":            {token: sign(h(), c(members{"iss": nil})), says: "names no issuer"},
		"another issuer":       {token: sign(h(), c(members{"iss": "https://evil.example"})), says: "issuer that this server does not accept"},
		"issuer with a slash":  {token: sign(h(), c(members{"iss": p.URL + "/"})), says: "issuer that this server does not accept"},
		"issuers":              {token: sign(h(), c(members{"iss": []string{p.URL}})), says: "names no issuer"},
		"another audience":     {token: sign(h(), c(members{"aud": "other"})), says: `request one for \"a2a\"`},
		"part of the audience": {token: sign(h(), c(members{"aud": []string{"a2a2", "a2", "A2A"}})), says: "another audience"},
		"numbers as audience":  {token: sign(h(), c(members{"aud": []any{7, "a2a"}})), says: "a claim of the token is not of the type"},
		"no audience":          {token: sign(h(), c(members{"aud": nil})), says: "another audience"},
		"no subject":           {token: sign(h(), c(members{"sub": nil})), says: "no claim sub"},
		"empty subject":        {token: sign(h(), c(members{"sub": " "})), says: "claim sub"},
		"control in subject":   {token: sign(h(), c(members{"sub": "alice\nbob"})), says: "invisible characters"},
		"direction of subject": {token: sign(h(), c(members{"sub": "alice\u202ebob"})), says: "invisible characters"},
		"direction of actor":   {token: sign(h(), c(members{"act": members{"sub": "a\u2066b"}})), says: "invisible characters"},
		"number as subject":    {token: sign(h(), c(members{"sub": 1})), says: "claim sub"},
		"long subject":         {token: sign(h(), c(members{"sub": strings.Repeat("a", 1100)})), says: "valid caller"},
		"no subject of ours":   {config: func(c *oidc.Config) { c.Subject = "oid" }, token: valid, says: "no claim oid"},
		"no subject, oid":      {config: func(c *oidc.Config) { c.Subject = "oid" }, token: sign(h(), c(members{"sub": nil, "oid": "1"})), says: "no claim sub"},
		"no tenant":            {config: mapped, token: sign(h(), c(members{"org": nil})), says: "no claim org"},
		"empty tenant":         {config: mapped, token: sign(h(), c(members{"org": ""})), says: "claim org"},
		"tenants":              {config: mapped, token: sign(h(), c(members{"org": []string{"acme"}})), says: "claim org"},
		"no person":            {config: func(c *oidc.Config) { c.Person = "employee" }, token: sign(h(), c(nil)), says: "no claim employee"},
		"a null person":        {config: func(c *oidc.Config) { c.Person = "employee" }, token: sign(h(), c(members{"employee": nil})), says: "no claim employee"},
		"persons":              {config: func(c *oidc.Config) { c.Person = "org" }, token: sign(h(), c(members{"org": []string{"acme"}})), says: "claim org"},
		"no end":               {token: sign(h(), c(members{"exp": nil})), says: "does not expire"},
		"expired":              {token: sign(h(), c(members{"exp": start.Unix()})), says: "has expired"},
		"end in words":         {token: sign(h(), c(members{"exp": "never"})), says: "exp of the token is not a time"},
		"no end that can be":   {token: sign(h(), c(members{"exp": 1e30})), says: "exp of the token is not a time"},
		"negative end":         {token: sign(h(), c(members{"exp": -1})), says: "exp of the token is not a time"},
		"later":                {token: sign(h(), c(members{"nbf": start.Add(31 * time.Second).Unix()})), says: "not valid yet"},
		"begin in words":       {token: sign(h(), c(members{"nbf": "now"})), says: "nbf of the token is not a time"},
		"bound to a key":       {token: sign(h(), c(members{"cnf": members{"jkt": "x"}})), says: "cnf"},
		"nobody acts":          {token: sign(h(), c(members{"act": members{}})), says: "act of the token names nobody"},
		"no subject acts":      {config: func(c *oidc.Config) { c.Subject = "org" }, token: sign(h(), c(members{"act": members{"sub": "a"}})), says: "act of the token names nobody (org)"},
		"act is a text":        {token: sign(h(), c(members{"act": "agent"})), says: "act of the token is not an object"},
		"act of another":       {token: sign(h(), c(members{"act": members{"sub": "a", "iss": "https://evil.example"}})), says: "another issuer"},
		"nine act":             {token: sign(h(), c(members{"act": acts(9)})), says: "more than 8"},
		"long token":           {token: sign(h(), c(members{"x": strings.Repeat("a", 16<<10)})), says: "longer than 16 KiB"},
		"1 MiB":                {token: strings.Repeat("a", 1<<20), says: "longer than 16 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := p.config(&clock{})
			if tc.config != nil {
				tc.config(&config)
			}
			a := newAuthenticator(t, config)
			who, err := authenticate(t, a, tc.token)
			var refused *auth.Error
			if !errors.As(err, &refused) || refused.Code != "invalid_token" || !who.IsZero() {
				t.Fatalf("Authenticate() = %v, %v, want an invalid_token", who, err)
			}
			if challenge := refused.Challenge(); !strings.HasPrefix(challenge, `Bearer error="invalid_token"`) {
				t.Errorf("challenge = %s", challenge)
			}
			if says := strings.ReplaceAll(tc.says, `\"`, `"`); !strings.Contains(refused.Description, says) {
				t.Errorf("error = %s, want %q in it", refused.Description, says)
			}
		})
	}
	if _, err := authenticate(t, newAuthenticator(t, p.config(&clock{})), valid); err != nil {
		t.Errorf("the token that the others were made from: %v", err)
	}
}

func plainType(c *oidc.Config) { c.TokenType = "JWT" }
func anyType(c *oidc.Config)   { c.TokenType = "any" }

// One signature has one form, and its bits past the end are zero.
func TestSignatureHasOneForm(t *testing.T) {
	t.Parallel()
	key := ecPair("k1")
	p := newProvider(t, key)
	a := newAuthenticator(t, p.config(&clock{}))
	token := key.sign(header(key), p.claims())
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(digits, token[len(token)-1])
	other := token[:len(token)-1] + string(digits[last^1])
	signature := token[strings.LastIndexByte(token, '.')+1:]
	if lax, err := base64.RawURLEncoding.DecodeString(other[len(other)-len(signature):]); err != nil || !slices.Equal(lax, must(base64.RawURLEncoding.DecodeString(signature))) {
		t.Fatalf("the other form is not one: %v", err)
	}
	if _, err := authenticate(t, a, token); err != nil {
		t.Error(err)
	}
	var refused *auth.Error
	if _, err := authenticate(t, a, other); !errors.As(err, &refused) {
		t.Errorf("the other form: %v, want a refusal", err)
	}
}

// What a request has to have.
func TestRequest(t *testing.T) {
	t.Parallel()
	key := ecPair("k1")
	p := newProvider(t, key)
	a := newAuthenticator(t, p.config(&clock{}))
	token := key.sign(header(key), p.claims())
	for name, tc := range map[string]struct {
		values []string
		code   string // of the error; "none": there is no credential; "": it is valid
	}{
		"nothing":            {code: "none"},
		"another scheme":     {values: []string{"Basic YTpi"}, code: "none"},
		"only a token":       {values: []string{token}, code: "none"},
		"empty":              {values: []string{""}, code: "none"},
		"a token":            {values: []string{"Bearer " + token}},
		"lower case":         {values: []string{"bearer " + token}},
		"spaces":             {values: []string{"BEARER   " + token + " "}},
		"no token":           {values: []string{"Bearer"}, code: "invalid_request"},
		"a space":            {values: []string{"Bearer  "}, code: "invalid_request"},
		"two tokens":         {values: []string{"Bearer " + token, "Bearer " + token}, code: "invalid_request"},
		"two schemes":        {values: []string{"Basic YTpi", "Bearer " + token}, code: "invalid_request"},
		"two schemes in one": {values: []string{"Bearer " + token + ", Basic YTpi"}, code: "invalid_token"},
		"two in one":         {values: []string{"Bearer " + token + " " + token}, code: "invalid_token"},
		"tab":                {values: []string{"Bearer\t" + token}, code: "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			who, err := a.Authenticate(t.Context(), bearing(tc.values...))
			var refused *auth.Error
			switch {
			case tc.code == "none" && !errors.Is(err, auth.ErrNone),
				tc.code == "" && (err != nil || who.Subject != "corp:alice"),
				tc.code != "" && tc.code != "none" && (!errors.As(err, &refused) || refused.Code != tc.code):
				t.Errorf("Authenticate() = %v, %v, want %q", who, err, tc.code)
			}
		})
	}
	if got := auth.ChallengesOf(a); !slices.Equal(got, []string{`Bearer realm="a2a-server"`}) {
		t.Errorf("challenges = %q", got)
	}
}

// A token belongs to the issuer that it names, also if another one knows its key.
func TestIssuers(t *testing.T) {
	t.Parallel()
	one, two := ecPair("k1"), ecPair("k1")
	first, second := newProvider(t, one), newProvider(t, two)
	c := &clock{}
	a := newAuthenticator(t, first.config(c), second.config(c, func(c *oidc.Config) { c.Name, c.Audiences = "partner", []string{"theirs"} }))
	for name, tc := range map[string]struct{ token, want string }{
		"first":              {one.sign(header(one), first.claims()), "corp:alice"},
		"second":             {two.sign(header(two), second.claims(members{"aud": "theirs"})), "partner:alice"},
		"first by second":    {two.sign(header(two), first.claims()), ""},
		"second by first":    {one.sign(header(one), second.claims(members{"aud": "theirs"})), ""},
		"second with a2a":    {two.sign(header(two), second.claims()), ""},
		"second and theirs":  {one.sign(header(one), first.claims(members{"aud": "theirs"})), ""},
		"an issuer of noone": {one.sign(header(one), first.claims(members{"iss": "https://idp.example"})), ""},
	} {
		t.Run(name, func(t *testing.T) {
			who, err := authenticate(t, a, tc.token)
			var refused *auth.Error
			if who.Subject != tc.want || (tc.want == "") != errors.As(err, &refused) {
				t.Errorf("Authenticate() = %v, %v, want %q", who, err, tc.want)
			}
		})
	}
}

// No configuration that would accept anybody's tokens, or nobody's, is accepted.
func TestValidate(t *testing.T) {
	t.Parallel()
	valid := oidc.Config{Name: "corp", Issuer: "https://idp.example", Audiences: []string{"a2a"}, Client: client()}
	for name, tc := range map[string]struct {
		change func(*oidc.Config)
		says   string
	}{
		"valid":              {func(*oidc.Config) {}, ""},
		"on this host":       {func(c *oidc.Config) { c.Issuer = "http://127.0.0.1:8080/realms/x" }, ""},
		"on localhost":       {func(c *oidc.Config) { c.Issuer = "http://localhost:8080" }, ""},
		"no name":            {func(c *oidc.Config) { c.Name = "" }, "is not a name"},
		"colon":              {func(c *oidc.Config) { c.Name = "a:b" }, "is not a name"},
		"no issuer":          {func(c *oidc.Config) { c.Issuer = "" }, "issuer: \"\" is not a URL"},
		"file":               {func(c *oidc.Config) { c.Issuer = "file:///etc/keys" }, "is not a URL"},
		"not encrypted":      {func(c *oidc.Config) { c.Issuer = "http://idp.example" }, "is not encrypted"},
		"looks local":        {func(c *oidc.Config) { c.Issuer = "http://127.0.0.1.evil.example" }, "is not encrypted"},
		"query":              {func(c *oidc.Config) { c.Issuer = "https://idp.example?x=1" }, "a query"},
		"user":               {func(c *oidc.Config) { c.Issuer = "https://a:secret@idp.example" }, "a user"},
		"keys not encrypted": {func(c *oidc.Config) { c.JWKS = "http://idp.example/keys" }, "jwks:"},
		"no audience":        {func(c *oidc.Config) { c.Audiences = nil }, "audiences:"},
		"empty audience":     {func(c *oidc.Config) { c.Audiences = []string{""} }, "audiences:"},
		"none":               {func(c *oidc.Config) { c.Algorithms = []string{"none"} }, "algorithms:"},
		"HS256":              {func(c *oidc.Config) { c.Algorithms = []string{"RS256", "HS256"} }, "algorithms:"},
		"two tenants":        {func(c *oidc.Config) { c.Tenant = oidc.Tenant{Claim: "a", Value: "b"} }, "tenant:"},
		"map without claim":  {func(c *oidc.Config) { c.Roles.Map = map[string][]string{"a": {"b"}} }, "roles:"},
		"empty map":          {func(c *oidc.Config) { c.Roles = oidc.Roles{Claim: "a", Map: map[string][]string{}} }, "roles:"},
		"no role":            {func(c *oidc.Config) { c.Roles = oidc.Roles{Claim: "a", Map: map[string][]string{"x": nil}} }, "roles:"},
		"empty default role": {func(c *oidc.Config) { c.DefaultRoles = []string{""} }, "default_roles:"},
		"no client":          {func(c *oidc.Config) { c.Client = nil }, "client:"},
	} {
		c := valid
		tc.change(&c)
		_, err := oidc.New(c)
		if (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: New() = %v, want %q", name, err, tc.says)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: New() = %v has a password", name, err)
		}
	}
	other := valid
	other.Issuer = "https://other.example"
	for name, tc := range map[string]struct {
		configs []oidc.Config
		says    string
	}{
		"none":           {nil, "no issuer"},
		"the same names": {[]oidc.Config{valid, other}, "name is used twice"},
		"the same":       {[]oidc.Config{valid, valid}, "configured twice"},
	} {
		if _, err := oidc.New(tc.configs...); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: New() = %v, want %q", name, err, tc.says)
		}
	}
}
