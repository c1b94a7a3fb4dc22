package app_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"a2a-server/auth/apikey"
	"a2a-server/cmd/a2a-server/internal/app"
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

	s.want(0, "the level of the log is debug until the next reload\n", "log", "level", "debug")
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
	s.want(1, "the credential lacks a role for this (admin)", "reload")
	s.want(1, "the credential lacks a role for this (admin)", "debug", "pprof", "heap", "--file", filepath.Join(t.TempDir(), "heap"))
}

// reload says whether the configuration was taken, and what of it needs a restart.
func TestReloadCommand(t *testing.T) {
	t.Parallel()
	c := withFile(t, "")
	text := fmt.Sprintf("listen: 127.0.0.1:0\ndata: %s\nauth: {keys: {file: keys.yaml}, socket: [{uid: %d, subject: ann, tenant: acme, roles: [admin]}]}\nlimits: {grace: 1s}\n", filepath.Join(c.folder, "data"), os.Getuid())
	keys := filepath.Join(c.folder, "keys.yaml")
	if _, err := apikey.Add(keys, apikey.Key{ID: "alice", Roles: []string{"requester", "salez"}}, false /* replace */); err != nil {
		t.Fatal(err)
	}
	write := func(more string) {
		t.Helper()
		if err := os.WriteFile(c.file, []byte(text+more), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	s := serveConfig(t, c)
	for _, tc := range []struct {
		more string
		code int
		want string
	}{
		{"", 0, "the configuration was reloaded\nwarning: the role salez has no effect: "},
		{"gates: [{tool: echo, approvers: {roles: [sales]}}]\n", 0, "\nwarning: " + c.file + `:5:33: gates[0].approvers: no caller has the role "sales"; did you mean salez?; no caller may decide calls of this gate`},
		{"agent: {name: other}\n", 0, "the configuration was reloaded; these keys need a restart: agent.name\nwarning: "},
		{"tool: []\n", 2, "there is no such key"},
		{"tools: [{command: x}]\n", 1, "a2a-server.yaml:5:"},
	} {
		write(tc.more)
		var out bytes.Buffer
		if code := app.Run(t.Context(), []string{"reload", "--config", c.file}, environment(), nil, &out, &out); code != tc.code || !strings.Contains(out.String(), tc.want) {
			t.Errorf("with %q reload exits with %d and says %q, want %d and %q", tc.more, code, out.String(), tc.code, tc.want)
		}
		if refused := s.logged("the configuration was not reloaded"); refused != (tc.code == 1) {
			t.Errorf("after %q the log says that the configuration was not reloaded: %t", tc.more, refused)
		}
	}
	write("")
	if err := os.Chmod(keys, 0o644); err != nil { //nolint:gosec // which the server refuses
		t.Fatal(err)
	}
	s.want(1, "chmod 600", "reload")
	if !s.logged(`chmod 600 `) {
		t.Error("the log does not say why the keys were not reloaded")
	}
}

// Behind a proxy the port tells no details, and health asks the admin socket.
func TestHealthBehindAProxy(t *testing.T) {
	t.Parallel()
	c := withFile(t, "")
	data := filepath.Join(c.folder, "data")
	text := fmt.Sprintf("listen: 127.0.0.1:0\ndata: %s\nauth: {socket: [{uid: %d, subject: ann, tenant: acme, roles: [viewer]}]}\npublic_url: https://agents.example.com\ninsecure_no_auth: true\nlimits: {grace: 1s}\n", data, os.Getuid())
	if err := os.WriteFile(c.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveConfig(t, c)
	s.log.mu.Lock()
	url := "http://" + regexp.MustCompile(`"address":"(127[^"]+)"`).FindStringSubmatch(s.log.said.String())[1] // that of the log is the proxy's
	s.log.mu.Unlock()
	const details = "approvals: 0 pending\n"
	health := func(args ...string) (code int, stdout, stderr string) {
		t.Helper()
		var out, problems bytes.Buffer
		code = app.Run(t.Context(), append([]string{"health", "--verbose"}, args...), environment(), nil, &out, &problems)
		return code, out.String(), problems.String()
	}
	for name, args := range map[string][]string{
		"the socket after the URL":    {"--url", url, "--config", c.file},
		"the socket of a folder":      {"--data", data},
		"the socket without a port":   {"--config", c.file},
		"the socket for a URL's data": {"--url", "http://127.0.0.1:1", "--data", data},
	} {
		if code, stdout, stderr := health(args...); code != 0 || !strings.HasPrefix(stdout, "ready\n") || !strings.Contains(stdout, details) || stderr != "" {
			t.Errorf("%s: health exits with %d and says %q %q", name, code, stdout, stderr)
		}
	}
	if code, stdout, stderr := health("--url", url); code != 0 || stdout != "ready\n" || !strings.Contains(stderr, "only at its admin socket") {
		t.Errorf("at the URL alone, health exits with %d and says %q %q", code, stdout, stderr)
	}
	if err := os.Remove(filepath.Join(data, "admin.sock")); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := health("--url", url, "--config", c.file); code != 0 || stdout != "ready\n" || !strings.Contains(stderr, "there is no socket "+filepath.Join(data, "admin.sock")) {
		t.Errorf("without a socket, health exits with %d and says %q %q", code, stdout, stderr)
	}
	s.stop()
	if code, stdout, stderr := health("--url", url, "--data", data); code != 1 || stdout != "" || !strings.Contains(stderr, url+" is not ready: ") {
		t.Errorf("after its end, health exits with %d and says %q %q", code, stdout, stderr)
	}
}

// Without auth.socket, the user that runs the server administers, and decides nothing at its socket.
func TestOwnUserAdministers(t *testing.T) {
	t.Parallel()
	s := serveConfig(t, withFile(t, ""))
	s.want(0, "", "log", "level", "debug")
	s.want(0, "the configuration was reloaded", "reload")
	file := filepath.Join(t.TempDir(), "heap.pb.gz")
	s.want(0, file, "debug", "pprof", "heap", "--file", file)
	backup := filepath.Join(t.TempDir(), "backup")
	s.want(0, "checksum compared", "store", "backup", backup)
	s.want(0, "approvals: 0 pending", "health", "--verbose")
	if !s.logged(`"by":"socket:own-user"`) {
		t.Error("the log does not say whose backup it was")
	}
	_, id := s.ask("to=bob amount=5")
	own := filepath.Join(s.folder, "data", "own.sock")
	for _, args := range [][]string{{"approvals", "list", "--anonymous"}, {"approvals", "show", id, "--anonymous"}, {"approvals", "reject", id, "--anonymous", "--yes", "--digest", "x"}} {
		if code, stdout, stderr := s.remote(t.TempDir(), nil, append(args, "--socket", own)...); code == 0 || !strings.Contains(stderr, "404 Not Found") {
			t.Errorf("at the socket of its own user, %v exits with %d: %s%s", args, code, stdout, stderr)
		}
	}
	if code := s.stop(); code != 0 {
		t.Errorf("serve exits with %d", code)
	}
	s.want(1, "no server listens on", "log", "level", "debug")
	if _, err := os.Lstat(own); err == nil {
		t.Error("the socket stays")
	}
}
