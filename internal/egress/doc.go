// Package egress makes the server's outgoing connections. Their targets are often chosen by
// callers: the URL of a webhook, a remote agent, an address in an argument. So each address is
// checked when it is dialed, after its name has been resolved, and only addresses of the
// public internet pass, unless the configuration allows more.
//
// The package does not know its users or their purposes. It never uses a proxy from the
// environment: a proxy resolves names itself, and nothing would be checked.
package egress
