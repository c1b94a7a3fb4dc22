// Package child starts processes, and ends them. Nothing else does. It owns the properties
// that all child processes of the server share:
//
//   - Its environment is exactly as the caller gives it: nothing of the server's own
//     environment reaches it, and its program is looked up in that environment's PATH.
//   - It leads a process group. The end of the process is the end of its group: processes that
//     it has started and left running are killed, unless they moved to a session of their own
//     (setsid).
//   - It ends in steps: SIGTERM to the group, SIGKILL after a grace period. It is always
//     reaped.
//   - It is killed when the server dies (on Linux, and only the process itself).
//   - Its output ends soon after the process, even if another process still holds the other
//     end of the pipe.
//
// The package does not know the purpose of the processes. None of this makes a sandbox: a
// child has the rights of the server.
package child
