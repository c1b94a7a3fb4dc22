//go:build !crashpoints

package app

// crashHook returns nil: this build has no crash points.
func (*program) crashHook() (func(point string), error) { return nil, nil }
