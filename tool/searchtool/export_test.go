package searchtool

// WithLimits returns c for so many documents and bytes of text, and so many bytes that stay free on
// the disk. 0: the default.
func (c Config) WithLimits(documents int, text int64, diskFree uint64) Config {
	c.limits.documents, c.limits.text, c.limits.diskFree = documents, text, diskFree
	return c
}
