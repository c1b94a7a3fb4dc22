package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// source is a work tree: what a release is made of.
type source struct {
	root    string
	version string // such as v1.2.3
	commit  string
	at      time.Time // of the commit; all files of the release have it
}

// newSource returns the work tree in root. stamp is its version, commit and date; "": git says
// them. git's version is the tag of the commit, or else a pseudo-version, as Go makes it: it
// sorts after the latest tag and before the next. A tree with changes has "+dirty", as in Go.
func newSource(ctx context.Context, root, stamp string) (*source, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	s := &source{root: root}
	if stamp == "" {
		if stamp, err = s.askGit(ctx); err != nil {
			return nil, fmt.Errorf("%w; without git, give the flag -stamp", err)
		}
	}
	parts := strings.Fields(stamp)
	if len(parts) != 3 {
		return nil, fmt.Errorf("-stamp is %q: write the version, the commit and its date, such as 'v1.2.3 COMMIT 2026-11-27T00:28:13Z'", stamp)
	}
	s.version, s.commit = parts[0], parts[1]
	if semver.Canonical(s.version)+semver.Build(s.version) != s.version {
		return nil, fmt.Errorf("the version is %q: write one such as v1.2.3 or v1.2.3-rc.1", s.version)
	}
	if s.at, err = time.Parse(time.RFC3339, parts[2]); err != nil {
		return nil, fmt.Errorf("the date of the commit: %w", err)
	}
	return s, nil
}

// stamp returns version, commit and date as the program has them.
func (s *source) stamp() string {
	return s.version + " " + s.commit + " " + s.at.UTC().Format(time.RFC3339)
}

// number returns the version without its v.
func (s *source) number() string { return strings.TrimPrefix(s.version, "v") }

// read returns a file of the tree.
func (s *source) read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
}

// askGit returns the stamp of the tree.
func (s *source) askGit(ctx context.Context) (string, error) {
	said, err := s.git(ctx, "log", "-1", "--format=%H %cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ")
	if err != nil {
		return "", err
	}
	commit, date, _ := strings.Cut(said, " ")
	at, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return "", err
	}
	version, err := s.tag(ctx, "--points-at")
	if err == nil && version == "" {
		var before string
		before, err = s.tag(ctx, "--merged")
		version = module.PseudoVersion(semver.Major(before), before, at, commit[:12])
	}
	if err != nil {
		return "", err
	}
	changes, err := s.git(ctx, "status", "--porcelain")
	if changes != "" {
		version += "+dirty"
	}
	return version + " " + commit + " " + date, err
}

// tag returns the highest tag that is a version; "" if there is none.
func (s *source) tag(ctx context.Context, which string) (string, error) {
	said, err := s.git(ctx, "tag", which, "HEAD", "--list", "v*")
	tags := slices.DeleteFunc(strings.Fields(said), func(t string) bool { return semver.Canonical(t) != t })
	if err != nil || len(tags) == 0 {
		return "", err
	}
	return slices.MaxFunc(tags, semver.Compare), nil
}

func (s *source) git(ctx context.Context, args ...string) (string, error) {
	out, err := command(ctx, []string{"TZ=UTC", "GIT_OPTIONAL_LOCKS=0"}, s.root, "git", args...)
	return strings.TrimSpace(string(out)), err
}

// command runs a command in a folder, with settings beside those of this process, and returns
// its output.
func command(ctx context.Context, env []string, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return out, nil
}
