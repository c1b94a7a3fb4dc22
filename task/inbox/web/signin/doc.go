// Package signin identifies the readers of pages. A person signs in at an issuer (OpenID
// Connect, authorization code flow with PKCE) or with an API key, and gets a session. Callers
// that the server's [auth.Authenticator] knows from the request itself, by a proxy's header or
// a client certificate, need no session. Without an Authenticator, all callers on this machine
// are anonymous.
//
// A session is a row of the store: it survives a restart. It ends with a sign-out, after a
// time without use, after a maximum time, and with the credential that began it. The cookie
// has a random token; the row has its hash. The cookie is valid for pages only: a program that
// mounts this package gives [SignIn.Identify] to the handlers of pages and to no other
// handlers.
//
// The package does not know the content of the pages.
package signin
