// Package engine runs tasks. Package task decides what follows from a task's log; this package
// owns the goroutines, timers and handles: turns, runs of tools, recovery, subscriptions,
// cancellation and due work. It does not know HTTP, JSON-RPC or how anything is stored.
//
// # Turns
//
// A [turn] is one run of a task, until it waits or ends. One goroutine owns it. It writes
// batches one after the other: it adds its inputs to a draft, advances it, appends it and
// waits ([turn.step]). A batch that conflicts with a decision or a cancel is built again on
// top of the newer log. A parked task is only rows on disk. Chunks of streaming tools are
// written ahead of that, in batches that never conflict ([turn.publish]).
//
// A tool is called once the batch that says so is durable ([turn.launch]), in its own
// goroutine ([run]). A tool that does not end at its timeout is given up ([run.giveUp]); its
// later result is recorded late ([Engine.late]).
//
// # Room
//
// Turns are bounded, and shared fairly between the owners of tasks: [lanes] decides which
// tasks may have a turn, and in which order ([Engine.next]). A task that finds no room is live
// and waits; decisions are never refused for lack of room.
//
// # Inputs
//
// All inputs go through [Engine.change]: an input is appended on top of the fold that it was
// computed from, and computed again if that has changed. A parked task is taken over and
// continues; a live task is notified.
//
// # Answers
//
// Tasks are read for clients through an [Answer], which reserves the memory that this needs
// before it reads, and releases it when the client has the answer.
//
// # Waiting
//
// The engine starts goroutines, waits and sets timers only through its [Host], and holds no
// lock while it waits or calls the application's code. So package sim can run all of it in one
// goroutine.
package engine
