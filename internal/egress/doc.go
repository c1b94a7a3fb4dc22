// Package egress makes the connections that go out of the server. Where they go is
// often chosen by somebody else: a webhook of a client, a remote agent, an address in
// an argument. So each address is checked when it is dialed, after its name has been
// resolved, and only addresses of the public internet pass, unless the
// configuration says otherwise.
//
// It does not know who uses it or what for. It never goes through a proxy of the
// environment: a proxy resolves names itself, and nothing would be checked.
package egress
