// Package signin says who looks at a page. A person signs in at an issuer (OpenID Connect,
// authorization code flow with PKCE) or with an API key, and gets a session; callers that the
// server's [auth.Authenticator] knows from the request itself, by a proxy's header or a client
// certificate, need none, and without an Authenticator everybody on this machine is anonymous.
//
// A session is a row of the store: it survives a restart, and ends when it is signed out, when
// it was not used for a while, after a time in any case, and with the credential that began it.
// The cookie has a random token, of which the row has the hash. It counts for pages only: who
// mounts this package gives [SignIn.Identify] to the handlers of pages and to nothing else.
//
// The package does not know what the pages show.
package signin
