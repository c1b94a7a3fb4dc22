package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A grant survives kill -9, and neither a revocation nor the restoration of a backup.
func TestGrantOverRestarts(t *testing.T) {
	t.Parallel()
	s := newSite(t, fmt.Sprintf("auth: {socket: [{uid: %d, subject: ann, tenant: acme, roles: [admin]}]}\ngates: [{tool: echo, grants: {scopes: [context], max: 1h, vary: [/text]}}]\n", os.Getuid()))
	p := s.start("")
	send := func(text string, asks bool) {
		t.Helper()
		var out bytes.Buffer
		c := exec.CommandContext(t.Context(), binary(t), "send", "/echo text="+text, "--of-context", "c", "--url", p.url)
		c.Stdout, c.Stderr = &out, &out
		if err := c.Run(); err != nil && c.ProcessState == nil {
			t.Fatal(err)
		}
		if code := c.ProcessState.ExitCode(); asks && code != 3 || !asks && code != 0 {
			t.Errorf("send %s exits with %d: %s", text, code, out.String())
		}
	}
	run := func(says string, args ...string) string {
		t.Helper()
		code, stdout, stderr := s.run(args...)
		if code != 0 || !strings.Contains(stdout+stderr, says) {
			t.Fatalf("%v exits with %d, want %q: %s%s", args, code, says, stdout, stderr)
		}
		return stdout
	}
	send("hi", true)
	var asked struct{ Items []struct{ ID, Digest string } }
	if err := json.Unmarshal([]byte(run("", "approvals", "list", "--anonymous", "-o", "json")), &asked); err != nil || len(asked.Items) != 1 {
		t.Fatalf("%d approvals: %v", len(asked.Items), err)
	}
	run("was approved", "approvals", "approve", asked.Items[0].ID, "--anonymous", "--yes", "--digest", asked.Items[0].Digest, "--grant", "ask_once")
	send("hi", false)
	send("ho", true)
	p.end(syscall.SIGKILL)
	p = s.start("")
	send("hi", false)

	file := filepath.Join(t.TempDir(), "backup")
	run("", "store", "backup", file)
	var list struct{ Grants []struct{ ID string } }
	if err := json.Unmarshal([]byte(run("", "approvals", "grants", "list", "--anonymous", "-o", "json")), &list); err != nil || len(list.Grants) != 1 {
		t.Fatalf("%d grants: %v", len(list.Grants), err)
	}
	run("is revoked", "approvals", "grants", "revoke", list.Grants[0].ID, "--anonymous")
	p.end(syscall.SIGKILL)
	p = s.start("")
	run("there are no grants", "approvals", "grants", "list", "--anonymous")
	send("hi", true)
	p.end(syscall.SIGTERM)

	s.data = filepath.Join(t.TempDir(), "data")
	run("a2a-server store resume", "store", "restore", file)
	p = s.start("")
	run("continues", "store", "resume")
	run("there are no grants", "approvals", "grants", "list", "--anonymous")
	send("hi", true)
	p.end(syscall.SIGTERM)
}
