package agenttool

import "io"

// Merged returns what a merger makes of a stream.
func Merged(body io.ReadCloser) io.ReadCloser { return newMerger(body) }
