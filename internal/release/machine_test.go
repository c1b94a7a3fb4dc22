package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience turns a hang into a failure.
const patience = time.Minute

// machine is a machine with systemd, whose /mnt is a folder here. See testdata/machine.sh.
type machine struct {
	t   *testing.T
	pid string // of its first process
}

// boot starts a machine, which has dir as /mnt and ends with the test.
func boot(t *testing.T, dir string) *machine {
	t.Helper()
	if out, err := exec.Command("unshare", "--mount", "--pid", "--fork", "--uts", "--ipc", "--net", "--cgroup", "mount", "-t", "cgroup2", "cgroup2", "/mnt").CombinedOutput(); err != nil {
		t.Fatalf("this user or kernel makes no namespaces, so no package is installed: unshare: %v: %s", err, out)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "booted"), 0o600); err != nil {
		t.Fatal(err)
	}
	booted, err := os.OpenFile(filepath.Join(dir, "booted"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.Command("unshare", "--mount", "sh", "testdata/machine.sh", dir)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
		_, _ = booted.WriteString("not booted\n")
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		_ = booted.Close()
	})
	if err := booted.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(booted).ReadString('\n'); err != nil || line != "booted\n" {
		t.Fatalf("the machine does not boot: %q, %v\n%s", line, err, said.Bytes())
	}
	return &machine{t, child(t, child(t, strconv.Itoa(cmd.Process.Pid)))}
}

// child returns the only child of a process.
func child(t *testing.T, pid string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
	children := strings.Fields(string(text))
	if err != nil || len(children) != 1 {
		t.Fatalf("process %s has the children %q, %v; want one", pid, children, err)
	}
	return children[0]
}

// try runs commands on the machine, as root in /mnt, and returns what they print.
func (m *machine) try(commands string) (string, error) {
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nsenter", "--target", m.pid, "--mount", "--uts", "--ipc", "--net", "--pid", "sh", "-euc", "cd /mnt; "+commands)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run runs commands that must succeed.
func (m *machine) run(commands string) string {
	m.t.Helper()
	out, err := m.try(commands)
	if err != nil {
		journal, _ := m.try("journalctl --no-pager -n 30 -u a2a-server")
		m.t.Fatalf("%s: %v\n%s\n%s", commands, err, out, journal)
	}
	return out
}
