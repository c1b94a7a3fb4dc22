package config

import "slices"

// Reloaded returns c with the tools, secrets and gates of next, which a running server can
// take over, and the names of the keys with other values in next, which it cannot. The caller
// sets the level of its log itself.
func (c *Config) Reloaded(next *Config) (merged *Config, restart []string) {
	m := *c
	m.Gates, m.Secrets, m.Tools = next.Gates, next.Secrets, next.Tools
	m.ApproveTools, m.NoApproveTools = next.ApproveTools, next.NoApproveTools
	m.origins = next.origins
	before, after := c.keys(), next.keys()
	for i, k := range before {
		if !k.reload && !sameValue(k, after[i]) {
			restart = append(restart, k.name)
		}
	}
	return &m, restart
}

// sameValue reports whether two keys of the same name have the same value. In a list of
// mappings it compares all keys of the entries.
func sameValue(a, b key) bool {
	if a.entries == nil {
		return slices.Equal(a.texts(), b.texts())
	}
	before, _ := a.entries()
	after, _ := b.entries()
	return slices.EqualFunc(before, after, func(a, b []key) bool { return slices.EqualFunc(a, b, sameValue) })
}
