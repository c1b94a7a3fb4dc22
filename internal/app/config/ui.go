package config

import (
	"time"

	"a2a-server/internal/strictyaml"
)

// UI configures the pages for people, and how they sign in.
type UI struct {
	Enabled         bool          // Defaults to true.
	SessionIdle     time.Duration // after which an unused session ends. Defaults to 1 h.
	SessionLifetime time.Duration // of any session. Defaults to 12 h.
}

// SignInToken selects the token of an issuer that names the person who signs in.
type SignInToken string

// The values of SignInToken.
const (
	ByID     SignInToken = "id" // the ID token. The default.
	ByAccess SignInToken = "access"
)

// secretOf reads a reference to a secret, and never the secret itself.
func secretOf(l *loader, n strictyaml.Node) Value {
	v := valueOf(l, n)
	if v.Text != "" {
		n.Add("is not where the secret is; write {secret: NAME} and the secret's place under secrets, as in %s", secretExample)
	}
	return v
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
