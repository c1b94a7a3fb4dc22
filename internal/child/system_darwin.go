package child

import (
	"errors"
	"syscall"
)

// attributes makes a child lead a group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit waits until a child has exited, and does not reap it. False: it cannot.
// waitid would also return when the child is merely stopped.
func awaitExit(pid int) bool {
	queue, err := syscall.Kqueue()
	if err != nil {
		return false
	}
	defer func() { _ = syscall.Close(queue) }()
	syscall.CloseOnExec(queue)
	change := []syscall.Kevent_t{{Ident: uint64(pid), Filter: syscall.EVFILT_PROC, Flags: syscall.EV_ADD, Fflags: syscall.NOTE_EXIT}}
	for {
		n, err := syscall.Kevent(queue, change, make([]syscall.Kevent_t, 1), nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.ESRCH): // it has exited already
			return true
		case err != nil:
			return false
		case n > 0:
			return true
		}
	}
}
