//go:build !crashpoints

package app

import "a2a-server/cmd/a2a-server/internal/cli"

// crashHook returns nil: this build has no crash points.
func crashHook(*cli.Program) (func(point string), error) { return nil, nil }
