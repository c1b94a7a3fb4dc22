// Package faults is the suite of a failing world around the real program: a disk that
// is full, slow or broken, a file that is moved, copied, cut or damaged, a process that
// is killed, stopped, or short of descriptors, memory or room, a clock that jumps. It has
// tests only.
//
//	make faults                          everything, in minutes
//	go test ./internal/faults            the short form, which `make check` runs
//
// Callers drive the server over JSON-RPC and remember each thing that they were told: a
// task, how it ended, its result, a decision. An error and a broken connection tell them
// nothing; they ask again with the same message. Afterwards, and once more after a
// restart, all that they were told is there, the ledger of transfer_money has at most one
// line for each call, exactly one where it was approved and has completed, every task has
// come to its end, and there is one task for each message.
//
// The program is built from a copy of bbolt in which four points of a commit look at a
// file before they continue (see patch_test.go), so that errors come where they are wanted,
// on every machine and without privileges. For a clock that jumps it is built once more,
// with an overlay of Go's time package (see overlay_test.go). The rest is done from the
// outside: limits of the process, signals, a file system of its own where one can be mounted.
//
// Each fault counts how often it struck. One that never did fails its test; one that this
// machine does not allow is skipped, and the run says at its end how many were.
// docs/crash-matrix.md says for each fault what clients see and what happens next.
package faults
