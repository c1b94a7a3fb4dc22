//go:build !linux && !darwin

package child

import (
	"os"
	"syscall"
)

const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
)

func attributes() *syscall.SysProcAttr { return nil }

// awaitExit cannot wait without reaping here.
func awaitExit(int) bool { return false }

// signalGroup ends the process itself, whatever the signal: there are no groups here.
func signalGroup(pid int, _ syscall.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
		_ = p.Release()
	}
}

func signalOf(*os.ProcessState) string { return "" }

func reapGroup(int) {}

// readNow reads nothing: without polling, it would wait.
func readNow(uintptr, []byte) (int, error) { return 0, nil }
