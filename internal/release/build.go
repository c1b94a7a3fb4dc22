package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// build returns the program for a system, such as linux/amd64. Nothing of the machine is in it:
// no paths, no settings of the environment, no C library.
func (s *source) build(ctx context.Context, on string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "a2a-server-release-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	to := filepath.Join(dir, "a2a-server")
	system, arch, _ := strings.Cut(on, "/")
	env := []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFLAGS=-mod=readonly", "GOWORK=off"}
	link := "-s -X 'a2a-server.release=" + s.stamp() + "'"
	if _, err := command(ctx, env, s.root, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", link, "-o", to, "./cmd/a2a-server"); err != nil {
		return nil, fmt.Errorf("build for %s: %w", on, err)
	}
	return os.ReadFile(to)
}

// shells are the shells whose commands are completed, and where the scripts are in an archive
// and in a Debian package.
var shells = []struct{ name, archived, installed string }{ //nolint:gochecknoglobals // constant
	{"bash", "completion/a2a-server.bash", "/usr/share/bash-completion/completions/a2a-server"},
	{"fish", "completion/a2a-server.fish", "/usr/share/fish/vendor_completions.d/a2a-server.fish"},
	{"zsh", "completion/_a2a-server", "/usr/share/zsh/vendor-completions/_a2a-server"},
}

// completion returns the scripts of shells. The program runs on this machine.
func completion(ctx context.Context, program []byte) ([]file, error) {
	dir, err := os.MkdirTemp("", "a2a-server-release-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	at := filepath.Join(dir, "a2a-server")
	if err := os.WriteFile(at, program, 0o700); err != nil { //nolint:gosec // it is run
		return nil, err
	}
	var all []file
	for _, shell := range shells {
		script, err := command(ctx, nil, dir, at, "completion", shell.name)
		if err != nil {
			return nil, err
		}
		all = append(all, file{name: shell.archived, mode: 0o644, data: script})
	}
	return all, nil
}
