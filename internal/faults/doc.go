// Package faults tests the real program in a failing environment: a disk that is full,
// slow or broken, a file that is moved, copied, truncated or damaged, a process that is
// stopped, or short of descriptors, memory or disk space, a clock that jumps. It has only
// tests; those of cmd/a2a-server kill the process.
//
//	make faults                          everything, in minutes
//	go test ./internal/faults            the short form, which `make check` runs
//
// Callers drive the server over JSON-RPC and remember everything that it has acknowledged:
// a task, how it ended, its result, a decision. Errors and broken connections acknowledge
// nothing; callers retry with the same message. Afterwards, and again after a restart,
// everything acknowledged is there, the ledger of transfer_money has a single line for
// each call that was approved and has completed, and at most one line for any other. Every task
// has ended, and each message has a single task.
//
// The program is built from a copy of bbolt in which four points of a commit read a file
// before they continue (see patch_test.go), so that errors happen at chosen points, on every
// machine and without privileges. For a clock that jumps it is built a second time, with an
// overlay of Go's time package (see overlay_test.go). The other faults come from outside:
// limits of the process, signals, a separate file system where mounting is possible.
//
// Each fault counts how often it struck. A fault that never struck fails its test; a
// fault that this machine does not allow is skipped, and the run ends with the number of
// skipped faults. docs/crash-matrix.md lists the effect of each fault for clients, and the
// recovery.
package faults
