package config

import (
	"time"

	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
)

// UI configures the pages for people, and how they sign in.
type UI struct {
	Enabled         bool          // Defaults to true.
	SessionIdle     time.Duration // after which an unused session ends. Defaults to 1 h.
	SessionLifetime time.Duration // of any session. Defaults to 12 h.
}

// keys returns the keys below ui.
func (u *UI) keys() []key {
	return []key{
		one("ui.enabled", "true", setting.Bool(&u.Enabled),
			"Serves pages for people at /ui, where they see and decide approvals. Other machines need TLS for them: tls.cert, or an https public_url behind one of trusted_proxies."),
		one("ui.session_idle", "1h", setting.Duration(&u.SessionIdle, time.Minute),
			"How long a person stays signed in without opening or sending anything."),
		one("ui.session_lifetime", "12h", setting.Duration(&u.SessionLifetime, time.Minute),
			"How long a person stays signed in at most. A session ends earlier with its API key or token."),
	}
}

// SignInToken says which token of an issuer names the person who signs in.
type SignInToken string

// The values of SignInToken.
const (
	ByID     SignInToken = "id" // the ID token. The default.
	ByAccess SignInToken = "access"
)

// secretOf reads a reference to a secret, and never the secret itself.
func secretOf(l *loader, n strictyaml.Node) (Value, bool) {
	v, ok := valueOf(l, n)
	if v.Text != "" {
		n.Add("is not where the secret is; write {secret: NAME} and the secret's place under secrets, as in %s", secretExample)
		return Value{}, false
	}
	return v, ok
}

// signInKeys returns the keys of an issuer for signing in at /ui.
func (o *OIDC) signInKeys() []key {
	return []key{
		one("client_id", "", setting.Text(&o.ClientID, "a text", setting.OneLine),
			"The client that this server is at the issuer. With it people sign in there for the pages at /ui (OpenID Connect, authorization code with PKCE). Register public_url followed by /ui/signin/callback as its redirect URI; without public_url, the address that the server listens on."),
		shaped("client_secret", "{secret: NAME}", &o.ClientSecret, secretOf,
			"The secret of the client. Without it, the client is public."),
		many("scopes", "", &o.Scopes, aText,
			"Scopes to ask for, beside openid, such as those that add the claims of tenant and roles."),
		one("sign_in_token", string(ByID), setting.Choice(&o.SignInToken, "a token", ByID, ByAccess),
			"The token whose claims say who has signed in. access is for issuers that write the claims of roles and tenant into access tokens only; the token has to be one that callers could send, too."),
	}
}

// checkSignIn checks what depends on several keys for signing in at an issuer.
func checkSignIn(l *loader, o *OIDC, n strictyaml.Node) {
	for _, name := range []string{"client_secret", "scopes", "sign_in_token"} {
		if at, given := l.given(n, name); given && o.ClientID == "" && !l.refused[n.Below("client_id").Path()] {
			l.report.Add(at.key, n.Below(name).Path(), "it would have no effect; set client_id, or remove this")
		}
	}
}
