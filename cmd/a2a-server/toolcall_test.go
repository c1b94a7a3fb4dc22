//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// running reports whether a process exists and has not ended.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, found := strings.Cut(string(stat), ") ")
	return err != nil || !found || !strings.HasPrefix(state, "Z") // ended, and nobody has asked for it yet
}

// What interrupts tools call cancels the call: the command and what it has started have
// ended when the program does.
func TestToolsCallSignals(t *testing.T) {
	t.Parallel()
	config := newSite(t, `tools:
  - command: long
    description: Runs until it is ended, with a child
    run: [/bin/sh, -c, "sleep 600 & echo $! $$; while sleep 0.01; do echo more; done"]
    approve: false
`).config
	interrupt := func(s syscall.Signal) func(*os.Process, *os.File) error {
		return func(p *os.Process, _ *os.File) error { return p.Signal(s) }
	}
	for name, one := range map[string]struct {
		by   func(*os.Process, *os.File) error
		says string
	}{
		"SIGINT":  {interrupt(syscall.SIGINT), "the call of long was canceled"},
		"SIGTERM": {interrupt(syscall.SIGTERM), "the call of long was canceled"},
		"SIGHUP":  {interrupt(syscall.SIGHUP), "the call of long was canceled"},
		"SIGHUP twice, as when a shell ends, too": {func(p *os.Process, _ *os.File) error {
			for range 20 {
				if err := p.Signal(syscall.SIGHUP); err != nil {
					return err
				}
			}
			return nil
		}, "the call of long was canceled"},
		"nobody reads the output": {func(_ *os.Process, out *os.File) error { return out.Close() }, "the call of long was canceled, because its output cannot be written: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			var stderr bytes.Buffer
			c := exec.Command(binary(t), "tools", "call", "long", "--config", config, "--data", t.TempDir())
			c.Stdout, c.Stderr = write, &stderr
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			_ = write.Close()
			var child, command int
			lines := bufio.NewReader(read)
			line, err := lines.ReadString('\n')
			if _, scan := fmt.Sscan(line, &child, &command); err != nil || scan != nil {
				t.Errorf("the first line is %q, %v", line, err)
			} else if !running(child) || !running(command) {
				t.Error("the command does not run")
			}
			if err := one.by(c.Process, read); err != nil {
				t.Error(err)
			}
			for err == nil { // what is written must not wait for us
				_, err = lines.ReadString('\n')
			}
			err = c.Wait()
			if code := c.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.String(), one.says) {
				t.Errorf("it ends with %v, and says %q", err, stderr.String())
			}
			for _, pid := range []int{command, child} {
				for deadline := time.Now().Add(10 * time.Second); running(pid) && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) { // killed, and on its way
				}
				if running(pid) {
					t.Errorf("process %d still runs", pid)
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		})
	}
}
