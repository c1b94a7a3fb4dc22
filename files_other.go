//go:build !unix

package a2aserver

import "io/fs"

// openFiles returns how many files the process may have open, or 0 when that is not
// known.
func openFiles() int { return 0 }

// readableForAll returns false: here the rights to a file are not in its mode.
func readableForAll(fs.FileInfo) bool { return false }
