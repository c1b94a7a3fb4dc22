// Package egress makes the server's outgoing connections. Somebody else often chooses
// where they go: a webhook of a client, a remote agent, an address in an argument. So
// each address is checked when it is dialed, after its name has been resolved, and only
// addresses of the public internet pass, unless the configuration says otherwise.
//
// The package does not know its users or their purposes. It never uses a proxy from the
// environment: a proxy resolves names itself, and nothing would be checked.
package egress
