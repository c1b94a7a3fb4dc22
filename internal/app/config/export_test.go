package config

// GateKeys returns the keys of a gate, for the test of the reference.
func GateKeys() []Key {
	var all []Key
	for _, k := range gateKeys() {
		all = append(all, k.public())
	}
	return all
}

// Default reports whether no layer gave a value for the key.
func (c *Config) Default(name string) bool { return c.origins[name].layer == "" }
