//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// bound makes the end of cmd's context the end of all processes that it has started.
func bound(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = drain
}
