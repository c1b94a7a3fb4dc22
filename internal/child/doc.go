// Package child starts processes, and ends them. Nothing else does. It owns what every
// child process of the server has in common:
//
//   - Its environment is exactly what the caller gives: nothing of the server's own
//     environment reaches it, and its program is looked up in that environment's PATH.
//   - It leads a process group. The end of the process is the end of its group: what it
//     has started and left running is killed, unless it has moved to a session of its own
//     (setsid).
//   - It ends in steps: SIGTERM to the group, SIGKILL after a grace period. It is always
//     reaped.
//   - It is killed when the server dies (on Linux, and only the process itself).
//   - Its output ends soon after it has, whoever still holds the other end of the pipe.
//
// The package does not know what the processes are for. None of this makes a sandbox: a
// child has the rights of the server.
//
// On systems other than Linux and macOS there are no process groups: only the process
// itself is ended.
package child
