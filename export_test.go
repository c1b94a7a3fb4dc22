package a2aserver

// Limits are the bounds inside a server.
type Limits = limits

// WithLimits returns c for a server with bounds that no configuration has.
func (c Config) WithLimits(change func(*Limits)) Config {
	c.bound = change
	return c
}
