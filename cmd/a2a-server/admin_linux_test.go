package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// newAdminSite returns a site with this user on its socket.
func newAdminSite(t *testing.T) *site {
	t.Helper()
	return newSite(t, fmt.Sprintf("auth: {socket: [{uid: %d, subject: ann, tenant: acme, roles: [admin]}]}\n", os.Getuid()))
}

// run runs a command on the server, and returns its exit code and what it writes.
func (s *site) run(args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	var out, problems bytes.Buffer
	c := exec.CommandContext(s.t.Context(), binary(s.t), append(args, "--data", s.data)...)
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil && c.ProcessState == nil {
		s.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), problems.String()
}

// confirm runs a command in a terminal of its own, writes yes when it asks, and returns its
// exit code and the screen.
func (s *site) confirm(args ...string) (code int, screen string) {
	s.t.Helper()
	person, program := terminalOf(s.t)
	c := exec.CommandContext(s.t.Context(), binary(s.t), append(args, "--data", s.data)...)
	c.Stdin, c.Stdout, c.Stderr = program, program, program
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	_ = program.Close()
	buffer, asked := make([]byte, 4096), false
	for {
		n, err := person.Read(buffer)
		screen += string(buffer[:n])
		if !asked && strings.Contains(screen, "[y/N] ") {
			asked = true
			if _, err := person.WriteString("y\n"); err != nil {
				s.t.Error(err)
			}
		}
		if err != nil { // the program has ended
			break
		}
	}
	if err := c.Wait(); err != nil && c.ProcessState == nil {
		s.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), screen
}

// terminalOf returns both ends of a terminal.
func terminalOf(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatalf("make a terminal: %v", err)
	}
	return person, program
}

// A server that is killed when a decision is durable leaves a command that does not know, a
// socket that nobody answers, and a decision that counts once.
func TestAdminSocketOfAKilledServer(t *testing.T) {
	t.Parallel()
	s := newAdminSite(t)
	socket := filepath.Join(s.data, "admin.sock")
	p := s.start("task.woken:1")
	id := p.ask("", "") + ".a1"
	code, screen := s.confirm("approvals", "approve", id, "--anonymous")
	if code != 4 || !strings.Contains(screen, "it is not known whether "+id+" was decided") || !strings.Contains(screen, "a2a-server approvals show "+id) {
		t.Errorf("approve exits with %d:\n%s", code, screen)
	}
	if <-p.exited; !p.killedBy(syscall.SIGKILL) {
		t.Fatalf("the server was not killed: %v", p.err)
	}
	left, err := os.Lstat(socket)
	if err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := s.run("approvals", "list", "--anonymous"); code != 1 || !strings.Contains(stderr, "no server listens on "+socket) {
		t.Errorf("list exits with %d: %s", code, stderr)
	}
	p = s.start("")
	now, err := os.Lstat(socket)
	if err != nil || now.Mode() != fs.ModeSocket|0o600 || now.ModTime().Equal(left.ModTime()) {
		t.Errorf("after a restart the socket is %v, %v", now, err)
	}
	if code, stdout, stderr := s.run("approvals", "show", id, "--anonymous"); code != 0 || !strings.Contains(stdout, "approved by socket:ann") {
		t.Errorf("show exits with %d: %s%s", code, stdout, stderr)
	}
	for range 2 { // it is final
		if code, screen := s.confirm("approvals", "reject", id, "--anonymous"); code != 6 || !strings.Contains(screen, "already approved") {
			t.Errorf("reject exits with %d:\n%s", code, screen)
		}
	}
	second := startProcess(t, "", "--data", s.data, "--config", s.config)
	defer second.end(syscall.SIGKILL)
	if second.url != "" {
		t.Error("a second server runs on the folder")
	}
	if after, err := os.Lstat(socket); err != nil || !os.SameFile(now, after) {
		t.Errorf("a second server has touched the socket: %v", err)
	}
	if code, _, stderr := s.run("tasks", "list", "--anonymous"); code != 0 {
		t.Errorf("after that, list exits with %d: %s", code, stderr)
	}
	// The call had been started, and nobody knows whether it ran: that is asked next.
	again := strings.TrimSuffix(id, "1") + "2"
	if code, screen := s.confirm("approvals", "approve", again, "--anonymous"); code != 0 || !strings.Contains(screen, "Run this again, as socket:ann? [y/N]") {
		t.Errorf("approve exits with %d:\n%s", code, screen)
	}
	p.end(syscall.SIGTERM)
	if _, err := os.Lstat(socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after a stop the socket is still there: %v", err)
	}
	ledger, err := os.ReadFile(filepath.Join(s.data, "ledger.jsonl"))
	if n := bytes.Count(ledger, []byte("\n")); err != nil || n != 1 {
		t.Errorf("the call ran %d times: %v", n, err)
	}
}

// A server that is killed before a decision is durable has decided nothing, and the command
// does not claim it.
func TestAdminSocketKilledBefore(t *testing.T) {
	t.Parallel()
	s := newAdminSite(t)
	p := s.start("")
	id := p.ask("", "") + ".a1"
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// The approval is read from a server that does not answer; it is killed meanwhile.
	ended := make(chan [2]any, 1)
	go func() {
		code, _, stderr := s.run("tasks", "cancel", strings.TrimSuffix(id, ".a1"), "--anonymous", "--yes")
		ended <- [2]any{code, stderr}
	}()
	p.end(syscall.SIGKILL)
	got := <-ended
	text := fmt.Sprint(got[1])
	switch got[0] {
	case 4:
		if !strings.Contains(text, "it is not known whether") {
			t.Errorf("cancel says %s", text)
		}
	case 1: // it had not connected by then
		if !strings.Contains(text, "no server listens on") {
			t.Errorf("cancel says %s", text)
		}
	default:
		t.Errorf("cancel exits with %v: %s", got[0], text)
	}
	s.start("")
	if code, stdout, stderr := s.run("approvals", "show", id, "--anonymous"); code != 0 || !strings.Contains(stdout, "state       pending") {
		t.Errorf("show exits with %d: %s%s", code, stdout, stderr)
	}
}
