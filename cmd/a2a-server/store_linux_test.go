package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// digestOf returns the digest of an approval, and why it is asked.
func (s *site) digestOf(id string) (digest, hint string) {
	s.t.Helper()
	code, stdout, stderr := s.run("approvals", "show", id, "--anonymous", "-o", "json")
	var shown struct{ Approval struct{ Digest, Hint string } }
	if err := json.Unmarshal([]byte(stdout), &shown); err != nil || code != 0 || shown.Approval.Digest == "" {
		s.t.Fatalf("show exits with %d: %v: %s%s", code, err, stdout, stderr)
	}
	return shown.Approval.Digest, shown.Approval.Hint
}

// askedAgain returns the id of the approval that a restored task waits for, its second one.
func (s *site) askedAgain(id string) string {
	s.t.Helper()
	_, all, _ := s.run("approvals", "list", "--anonymous", "-o", "json")
	return regexp.MustCompile(id + `\.a2-[a-z2-7]{6}`).FindString(all)
}

// piped takes a backup by way of the standard output, and makes a store of it from the standard input.
func (s *site) piped() {
	s.t.Helper()
	code, taken, stderr := s.run("store", "backup", "-")
	if code != 0 || !strings.Contains(stderr, "standard output: everything until ") || !strings.Contains(stderr, "checksum compared") {
		s.t.Fatalf("backup to the standard output exits with %d: %s", code, stderr)
	}
	for name, tc := range map[string]struct {
		taken string
		fails bool
	}{"whole": {taken, false}, "cut": {taken[:len(taken)-1], true}} {
		c := exec.CommandContext(s.t.Context(), binary(s.t), "store", "restore", "-", "--data", filepath.Join(s.t.TempDir(), name))
		c.Stdin = strings.NewReader(tc.taken)
		if out, err := c.CombinedOutput(); (err != nil) != tc.fails {
			s.t.Errorf("restore of a %s backup from the standard input: %v\n%s", name, err, out)
		}
	}
	if code, _, stderr := s.run("store", "restore", "-", "--unverified"); code != 2 || !strings.Contains(stderr, "has to be a file") {
		s.t.Errorf("restore of a plain copy from the standard input exits with %d: %s", code, stderr)
	}
}

// A backup is taken while the server runs, and then life goes on. What is restored from it asks
// again about what ran meanwhile, and waits for the operator, also after kill -9.
func TestStoreIsBackedUpAndRestored(t *testing.T) {
	t.Parallel()
	s := newAdminSite(t)
	p := s.start("")
	id := p.ask("", "")
	folder := t.TempDir()
	file := filepath.Join(folder, "backup")
	code, stdout, stderr := s.run("store", "backup", file)
	if info, err := os.Stat(file); code != 0 || err != nil || info.Mode() != 0o600 || !strings.Contains(stdout, "checksum compared\nnot included: "+filepath.Join(s.data, "keys")) {
		t.Fatalf("backup exits with %d, %v: %s%s", code, err, stdout, stderr)
	}
	if code, _, stderr := s.run("store", "backup", file); code != 2 || !strings.Contains(stderr, "exists: name a new file") {
		t.Errorf("a second backup to the same file exits with %d: %s", code, stderr)
	}
	s.piped()
	old, _ := s.digestOf(id + ".a1")
	if code, _, stderr := s.run("approvals", "approve", id+".a1", "--anonymous", "--yes", "--digest", old); code != 0 {
		t.Fatalf("approve exits with %d: %s", code, stderr)
	}
	if code, _, stderr := s.run("store", "restore", file); code != 1 || !strings.Contains(stderr, "has a store: stop its server and move") {
		t.Errorf("a restore onto a store exits with %d: %s", code, stderr)
	}
	p.end(syscall.SIGTERM)
	if code, _, stderr := s.run("store", "backup", filepath.Join(folder, "later")); code != 0 {
		t.Errorf("a backup of a stopped server exits with %d: %s", code, stderr)
	}
	was := s.data
	s.data = filepath.Join(t.TempDir(), "data")
	plain := filepath.Join(was, "tasks.db")
	if code, _, stderr := s.run("store", "restore", plain); code != 1 || !strings.Contains(stderr, "--unverified takes it") {
		t.Errorf("restoring a plain copy exits with %d: %s", code, stderr)
	}
	if code, stdout, stderr := s.run("store", "restore", file); code != 0 || !strings.Contains(stdout, "a2a-server store resume") || !strings.Contains(stderr, "there is no folder "+filepath.Join(s.data, "keys")) {
		t.Fatalf("restore exits with %d: %s%s", code, stdout, stderr)
	}

	p = s.start("")
	again := s.askedAgain(id)
	digest, hint := s.digestOf(again)
	if digest == old || !strings.Contains(hint, "It may have been decided after ") {
		t.Errorf("it asks %q on the digest %s, which was %s", hint, digest, old)
	}
	if code, _, stderr := s.run("approvals", "approve", again, "--anonymous", "--yes", "--digest", old); code == 0 {
		t.Errorf("the digest from before decides: %s", stderr)
	}
	if !strings.Contains(p.said(), "waiting for a2a-server store resume") {
		t.Errorf("the log does not say that it waits:\n%s", p.said())
	}
	if code, _, stderr := s.run("approvals", "reject", again, "--reason", "it ran", "--anonymous", "--yes", "--digest", digest); code != 0 {
		t.Errorf("reject exits with %d: %s", code, stderr)
	}
	p.end(syscall.SIGKILL)
	p = s.start("")
	shows := func(waits bool) {
		t.Helper()
		for n := 0; ; n++ {
			_, stdout, _ := s.run("tasks", "show", id, "--anonymous")
			if strings.Contains(stdout, "waits for its operator") == waits {
				return
			}
			if n == 200 {
				t.Fatalf("that the task waits for its operator is never %t: %s", waits, stdout)
			}
		}
	}
	shows(true)
	if code, stdout, stderr := s.run("store", "resume"); code != 0 || !strings.Contains(stdout, "continues") {
		t.Errorf("resume exits with %d: %s%s", code, stdout, stderr)
	}
	shows(false)
	p.end(syscall.SIGTERM)
	for folder, want := range map[string]int{was: 1, s.data: 0} {
		ledger, _ := os.ReadFile(filepath.Join(folder, "ledger.jsonl"))
		if n := bytes.Count(ledger, []byte("\n")); n != want {
			t.Errorf("the call ran %d times in %s, want %d", n, folder, want)
		}
	}
}

// A copy of the store that is written back after a call was approved is refused: the call would be
// asked about, and run, again.
func TestEarlierCopyIsRefused(t *testing.T) {
	t.Parallel()
	s := newAdminSite(t)
	p := s.start("")
	id := p.ask("", "") + ".a1"
	path := filepath.Join(s.data, "tasks.db")
	earlier, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	digest, _ := s.digestOf(id)
	if code, _, stderr := s.run("approvals", "approve", id, "--anonymous", "--yes", "--digest", digest); code != 0 {
		t.Fatalf("approve exits with %d: %s", code, stderr)
	}
	p.end(syscall.SIGTERM)
	if err := os.WriteFile(path, earlier, 0o600); err != nil {
		t.Fatal(err)
	}
	if p := startProcess(t, "", "--data", s.data, "--config", s.config); p.url != "" || !strings.Contains(p.said(), "is an earlier version of the store") {
		p.end(syscall.SIGKILL)
		t.Errorf("an earlier copy is served, or refused without the reason: %s", p.said())
	}
}

// A store that was released continues in a copy of its folder, with what it asked, and not where it was.
func TestReleasedStoreIsMoved(t *testing.T) {
	t.Parallel()
	s := newAdminSite(t)
	p := s.start("")
	id := p.ask("", "") + ".a1"
	digest, _ := s.digestOf(id)
	if code, _, stderr := s.run("store", "release"); code != 1 || !strings.Contains(stderr, "stop it, then release the store") {
		t.Errorf("release beside the server exits with %d: %s", code, stderr)
	}
	p.end(syscall.SIGTERM)
	if code, _, stderr := s.run("store", "release"); code != 0 {
		t.Fatalf("release exits with %d: %s", code, stderr)
	}
	was := s.data
	s.data = filepath.Join(t.TempDir(), "data")
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", was, s.data).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
	if p := startProcess(t, "", "--data", was, "--config", s.config); p.url != "" || !strings.Contains(p.said(), "was released to be moved") {
		p.end(syscall.SIGKILL)
		t.Errorf("the released store is served, or refused without the reason: %s", p.said())
	}
	s.start("")
	if now, _ := s.digestOf(id); now != digest {
		t.Errorf("the approval has the digest %s, want %s", now, digest)
	}
}

// A plain copy of a store is not served, and is restored when that is asked for.
func TestPlainCopyIsRestored(t *testing.T) {
	t.Parallel()
	s := newAdminSite(t)
	p := s.start("")
	id := p.ask("", "")
	p.end(syscall.SIGTERM)
	copied := t.TempDir()
	text, err := os.ReadFile(filepath.Join(s.data, "tasks.db"))
	if err == nil {
		err = os.WriteFile(filepath.Join(copied, "tasks.db"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if p := startProcess(t, "", "--data", copied, "--config", s.config); p.url != "" || !strings.Contains(p.said(), "a2a-server store restore --unverified "+copied) {
		p.end(syscall.SIGKILL)
		t.Errorf("a copy is served, or refused without the command: %s", p.said())
	}
	s.data = filepath.Join(t.TempDir(), "data")
	short := filepath.Join(t.TempDir(), "short.db")
	if err := os.WriteFile(short, text[:12<<10], 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := s.run("store", "restore", "--unverified", short); code != 1 || !strings.HasSuffix(stderr, ": restore a backup, without --unverified, or another copy\n") || strings.Contains(stderr, "--init") {
		t.Errorf("restore of the beginning of a copy exits with %d: %s", code, stderr)
	}
	if code, _, stderr := s.run("store", "restore", "--unverified", filepath.Join(copied, "tasks.db")); code != 0 {
		t.Fatalf("restore exits with %d: %s", code, stderr)
	}
	s.start("")
	if _, hint := s.digestOf(s.askedAgain(id)); !strings.Contains(hint, "It may have been decided after ") {
		t.Errorf("it asks %q", hint)
	}
}
