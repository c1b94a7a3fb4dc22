// Package engine runs tasks. Package task decides what follows from a task's log; this package
// owns the goroutines, timers and handles, and serves the clients of tasks: messages, decisions,
// subscriptions, lists, webhooks. It does not know HTTP, JSON-RPC or how anything is stored.
//
// # Parts
//
// Each part is a package below internal, and knows only the parts before it:
//
//   - env: what every part has: the store, the log, the limits, the rules in force, the clock, and
//     the [Host] that provides goroutines, waits and timers
//   - processors: the share of each caller in the processors, for long computations
//   - tasklog: reads tasks and folds them
//   - call: a run, which is one execution of a tool
//   - scheduler: which task has a turn, and which is next
//   - turn: a turn, which is the work on a task until it waits or ends, and the only way for
//     inputs into a log
//   - due: deadlines and timers
//
// # Turns
//
// One goroutine owns a turn. It writes batches one after the other: it adds its inputs to a draft,
// advances it, appends it and waits. A batch that conflicts with a decision or a cancel is built
// again on top of the newer log. A parked task is only rows on disk. Chunks of streaming tools are
// written ahead of that, in batches that never conflict.
//
// A tool is called once the batch that says so is durable, in its own goroutine. A tool that does
// not end at its timeout is given up; its later result is recorded late.
//
// Turns are bounded, and shared fairly between the owners of tasks. A task that finds no room is
// live and waits; decisions are never refused for lack of room.
//
// # Inputs
//
// An input is appended on top of the fold that it was computed from, and computed again if that
// has changed. A parked task is taken over and continues; a live task is notified.
//
// # Reads
//
// Tasks are read for clients through a [ReadReservation], which reserves the memory that this needs
// before it reads, and releases it when the client has the response.
//
// # Waiting
//
// The engine starts goroutines, waits and sets timers only through its [Host], and holds no
// lock while it waits or calls the application's code. So package sim can run all of it in one
// goroutine.
package engine
