//go:build !unix

package main

import "os/exec"

// bound makes the end of cmd's context its end; processes that it has started stay.
func bound(cmd *exec.Cmd) { cmd.WaitDelay = drain }
