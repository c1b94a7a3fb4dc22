//go:build unix

package child

import (
	"errors"
	"os"
	"syscall"
	"time"
)

const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
)

// signalGroup sends a signal to the group that pid leads. pid must not have been reaped. It
// ignores errors, because the group is empty then.
func signalGroup(pid int, signal syscall.Signal) { _ = syscall.Kill(-pid, signal) }

// signalOf names the signal that ended a process.
func signalOf(s *os.ProcessState) string {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return ""
}

// reapGroup reaps the killed members of a group that are children of the server: their own
// parent is gone, and the server is the first process of a container.
func reapGroup(pid int) {
	for range 20 {
		var status syscall.WaitStatus
		switch reaped, err := syscall.Wait4(-pid, &status, syscall.WNOHANG, nil); {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // there are none
			return
		case reaped == 0: // they have not ended
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// readNow reads the available bytes. It returns 0 without any.
func readNow(fd uintptr, b []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), b)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return 0, nil
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		default:
			return n, nil
		}
	}
}
