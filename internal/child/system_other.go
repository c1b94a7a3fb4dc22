//go:build unix && !linux && !darwin

package child

import "syscall"

// attributes makes a child lead a group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit cannot wait without reaping here.
func awaitExit(int) bool { return false }
