package config_test

import (
	"slices"
	"testing"

	"a2a-server/internal/app/config"
)

// A list of mappings that a running server does not read again needs a restart when one of
// its entries has changed.
func TestReloadedEntries(t *testing.T) {
	t.Parallel()
	const one = "auth:\n  oidc:\n    - {name: corp, issuer: \"https://idp.example.com\", audiences: [a2a], roles: [requester]}\n"
	before := load(t, config.Source{File: write(t, one)})
	for text, want := range map[string][]string{
		one: nil,
		one + "    - {name: other, issuer: \"https://b.example.com\", audiences: [a2a], roles: [requester]}\n":               {"auth.oidc"},
		"auth:\n  oidc:\n    - {name: corp, issuer: \"https://idp.example.com\", audiences: [a2a, b], roles: [requester]}\n": {"auth.oidc"},
		"log: {level: warn, format: json}\n": {"log.format", "auth.oidc"},
	} {
		_, got := config.Reloaded(before, load(t, config.Source{File: write(t, text)}))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("a restart is needed for %q, want %q, after\n%s", got, want, text)
		}
	}
}
