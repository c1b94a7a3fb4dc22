package config

import (
	"slices"

	"a2a-server/approval"
	"a2a-server/internal/lists"
)

// AllGates returns the gates of the configuration and then those of policy.files, in their order.
func AllGates(c *Config) []approval.Gate { return lists.Map(writtenGates(c), gateOf) }

// GateKeys returns the keys of a gate, for the test of the reference.
func GateKeys() []Key { return public(keysOf(&approval.Gate{})) }

// ToolKeys returns the keys of an entry of tools, for the test of the reference.
func ToolKeys(kind Kind) []Key { return public(keysOf(&Tool{Kind: kind})) }

// ToolKey is a key of entries of tools.
type ToolKey struct {
	Key
	Kinds []Kind // that have it
}

// AllToolKeys returns the keys of entries of all kinds, for the test of the reference: the names
// of entries, then each other key once.
func AllToolKeys() (all []ToolKey) {
	for _, kind := range Kinds() {
		all = append(all, ToolKey{ToolKeys(kind)[0], []Kind{kind}})
	}
	for _, k := range keysOf(&Tool{}) {
		t := ToolKey{Key: public([]key{k})[0]}
		for _, kind := range Kinds() {
			if slices.ContainsFunc(ToolKeys(kind)[1:], func(shown Key) bool { return shown.Name == k.name }) {
				t.Kinds = append(t.Kinds, kind)
			}
		}
		if !slices.ContainsFunc(all[len(Kinds()):], func(other ToolKey) bool { return other.Name == k.name }) {
			all = append(all, t)
		}
	}
	return all
}

// SecretKeys returns the keys of an entry of secrets, for the test of the reference.
func SecretKeys() []Key { return public(keysOf(&Secret{})) }

// IssuerKeys returns the keys of an entry of auth.oidc, for the test of the reference.
func IssuerKeys() []Key { return public(keysOf(&OIDC{})) }

// SocketKeys returns the keys of an entry of auth.socket, for the test of the reference.
func SocketKeys() []Key { return public(keysOf(&SocketUser{})) }

// RouteKeys returns the keys of an entry of notify, for the test of the reference.
func RouteKeys() []Key { return public(keysOf(&Route{})) }

// Forms returns how the values of the keys of a struct are written, by their names.
func Forms(owner any) map[string]string {
	forms := map[string]string{}
	for _, k := range keysOf(owner) {
		forms[k.name] = k.form()
	}
	return forms
}

// Default reports whether no layer gave a value for the key.
func (c *Config) Default(name string) bool { return c.origins[name].layer == "" }
