package mcptoolset

import "time"

// WithListTimeout returns c for a server that has so long to list its tools.
func (c Config) WithListTimeout(d time.Duration) Config {
	c.listTimeout = d
	return c
}

// WithMaxMessage returns c for messages of at most so many bytes.
func (c Config) WithMaxMessage(n int) Config {
	c.maxMessage = n
	return c
}
