//go:build !linux

package boltstore

// networkOf is not known here.
func networkOf(string) string { return "" }
