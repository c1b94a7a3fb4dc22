package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// logged reports whether the log of the server has a text.
func (s *served) logged(text string) bool {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return strings.Contains(s.log.said.String(), text)
}

// An operator writes profiles to new files, changes the level of the log, and sees the details of
// the probe.
func TestDebugCommands(t *testing.T) {
	t.Parallel()
	s := serve(t, os.Getuid(), allRoles)
	file := filepath.Join(t.TempDir(), "heap.pb.gz")
	s.want(0, file, "debug", "pprof", "heap", "--file", file)
	info, err := os.Stat(file)
	if err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("the profile is %v, %v", info, err)
	}
	s.want(1, "exists: name a new file with --file", "debug", "pprof", "heap", "--file", file)
	other := filepath.Join(t.TempDir(), "cpu")
	s.want(1, "seconds is out of range", "debug", "pprof", "profile", "--seconds", "90", "--file", other)
	if _, err := os.Stat(other); err == nil {
		t.Error("a file stays without its profile")
	}
	s.want(2, "did you mean heap?", "debug", "pprof", "heat")
	s.want(2, "takes a level", "log", "level")
	if code, _, stderr := s.remote(t.TempDir(), nil, "log", "level", "debug"); code != 2 || !strings.Contains(stderr, "only the admin socket of a server does this") {
		t.Errorf("at a URL, log level exits with %d and says %q", code, stderr)
	}

	s.want(0, "", "log", "level", "debug")
	s.ask("to=bob amount=5")
	if !s.logged(`"message":"request"`) || !s.logged("the level of the log was changed") {
		t.Error("at the level debug no request is logged")
	}
	if code, stdout, stderr := s.remote(t.TempDir(), nil, "health", "--url", s.url, "--verbose"); code != 0 || !strings.HasPrefix(stdout, "ready\n") || !strings.Contains(stdout, "approvals: 1 pending") {
		t.Errorf("health --verbose exits with %d and says %q %q", code, stdout, stderr)
	}
}

// Without the role admin, neither changes anything.
func TestDebugRefusals(t *testing.T) {
	t.Parallel()
	s := serve(t, os.Getuid(), "viewer, operator")
	s.want(1, "the credential lacks a role for this (admin)", "log", "level", "debug")
	s.want(1, "the credential lacks a role for this (admin)", "debug", "pprof", "heap", "--file", filepath.Join(t.TempDir(), "heap"))
}
