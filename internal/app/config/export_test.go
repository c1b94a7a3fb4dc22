package config

import "a2a-server/approval"

// GateKeys returns the keys of a gate, for the test of the reference.
func GateKeys() []Key { return public(gateKeys(&approval.Gate{})) }

// Default reports whether no layer gave a value for the key.
func (c *Config) Default(name string) bool { return c.origins[name].layer == "" }
