package config

import (
	"slices"
	"strings"

	"a2a-server/approval"
	"a2a-server/internal/strictyaml"
)

// GateKeys returns the keys of a gate, for the test of the reference.
func GateKeys() []Key { return public(gateKeys(&approval.Gate{})) }

// ToolKeys returns the keys of an entry of tools, for the test of the reference.
func ToolKeys(kind Kind) []Key { return public((&Tool{Kind: kind}).keys()) }

// ToolKey is a key of entries of tools.
type ToolKey struct {
	Key
	Kinds []Kind // that have it

	place [2]int // index in sharedKeys of the key that it is or follows, -1: it is a name; 0 or 1: it follows
}

// sharedKeys are the keys of several kinds, in the order of the reference.
var sharedKeys = strings.Fields("description args optional dir env header networks only timeout approve for")

// AllToolKeys returns the keys of entries of all kinds, for the test of the reference: the names
// of entries, then each shared key, followed by the keys that single kinds list after it.
func AllToolKeys() []ToolKey {
	var all []ToolKey
	var prefixing []string
	for _, kind := range toolKinds() {
		if kind.prefixes {
			prefixing = append(prefixing, string(kind.name))
		}
		place := [2]int{-1, 0}
		for i, k := range ToolKeys(kind.name) {
			if shared := slices.Index(sharedKeys, k.Name); shared >= 0 {
				place = [2]int{shared, 0}
			} else if i > 0 {
				place = [2]int{max(place[0], 0), 1}
			}
			same := func(o ToolKey) bool { return o.Name == k.Name && (o.place[0] < 0) == (i == 0) }
			if at := slices.IndexFunc(all, same); at >= 0 {
				all[at].Kinds = append(all[at].Kinds, kind.name)
			} else {
				all = append(all, ToolKey{k, []Kind{kind.name}, place})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b ToolKey) int { return slices.Compare(a.place[:], b.place[:]) })
	for i := range all {
		all[i].Meaning = strings.Replace(all[i].Meaning, "PREFIXING", strictyaml.List(prefixing), 1)
	}
	return all
}

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
