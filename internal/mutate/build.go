package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build makes the test binary of a package in dir, which it creates, with text instead of
// the content of file; without a file, as the package is. The error has the compiler's output.
func (r *runner) build(ctx context.Context, dir, folder, file string, text []byte) (binary string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w"} // symbols are half of the linker's work
	if file != "" {
		overlay, err := r.overlay(dir, file, text)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", overlay)
	}
	binary = filepath.Join(dir, "mutant.test")
	ctx, cancel := context.WithTimeoutCause(ctx, r.buildLimit, fmt.Errorf("the build took more than %v", r.buildLimit))
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", binary, "./"+folder)...)
	cmd.Dir = r.root
	bound(cmd)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Run()
	if err != nil && ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err == nil {
		_, err = os.Stat(binary) // it makes none of a folder without tests
	}
	if err != nil {
		text := strings.ReplaceAll(said.String(), mutantFile(dir), file)
		return "", errors.New(brief(strings.Split(text, "\n")))
	}
	return binary, nil
}

// overlay writes text into dir, and the file that tells the go command to take it for
// that of file. It knows files by their paths below the root of the module.
func (r *runner) overlay(dir, file string, text []byte) (name string, err error) {
	mutant := mutantFile(dir)
	if err := os.WriteFile(mutant, text, 0o600); err != nil {
		return "", err
	}
	raw, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(r.root, filepath.FromSlash(file)): mutant},
	})
	if err != nil {
		return "", err
	}
	name = filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, raw, 0o600)
}

func mutantFile(dir string) string { return filepath.Join(dir, "mutant.go") }

// moduleRoot returns the nearest folder above the working one that has a go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("no go.mod here or above; run it in the repository")
		}
		dir = above
	}
}
