package config

import "a2a-server/approval"

// GateKeys returns the keys of a gate, for the test of the reference.
func GateKeys() []Key { return public(gateKeys(&approval.Gate{})) }

// ToolKeys returns the keys of an entry of tools, for the test of the reference.
func ToolKeys(kind Kind) []Key { return public((&Tool{Kind: kind}).keys()) }

// AllToolKeys returns the keys of entries of all kinds, for the test of the reference.
func AllToolKeys() []Key { return public((&Tool{}).allKeys()) }

// SecretKeys returns the keys of an entry of secrets, for the test of the reference.
func SecretKeys() []Key { return public(secretKeys(&Secret{})) }

// IssuerKeys returns the keys of an entry of auth.oidc, for the test of the reference.
func IssuerKeys() []Key { return public(oidcKeys(&OIDC{})) }

// SocketKeys returns the keys of an entry of auth.socket, for the test of the reference.
func SocketKeys() []Key { return public(socketKeys(&SocketUser{})) }

// RouteKeys returns the keys of an entry of notify, for the test of the reference.
func RouteKeys() []Key { return public(routeKeys(&Route{})) }

// Default reports whether no layer gave a value for the key.
func (c *Config) Default(name string) bool { return c.origins[name].layer == "" }
