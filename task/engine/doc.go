// Package engine runs tasks. What follows from a task's log is package task's to say;
// here are the goroutines, timers and handles that it takes: turns, runs of tools,
// recovery, subscriptions, cancel and work that falls due. It does not know HTTP,
// JSON-RPC or how anything is stored.
//
// # Turns
//
// A [turn] is the run of a task between two rests. One goroutine owns it. It makes one
// batch after the other: put what came in into a draft, advance it, append it, wait
// ([turn.step]). A batch that conflicts, because somebody decided or canceled meanwhile,
// is made again on top of what they wrote. A task at rest is rows on disk. Chunks of
// streaming tools go ahead of that, in batches that never conflict ([turn.publish]).
//
// A tool is entered when the batch that says so is durable ([turn.launch]), in a
// goroutine of its own ([run]). One that ignores the end of its time is given up
// ([run.giveUp]); what it still returns is recorded late ([Engine.late]).
//
// # Room
//
// Turns are bounded, and go round the owners of tasks: [lanes] says who may have one, and
// who is next ([Engine.next]). A task that finds no room is live and waits; what somebody
// has decided is never refused for want of any.
//
// # Inputs
//
// Everything from outside goes one way ([Engine.change]): it is put on top of the fold it
// was computed from, and made again when that has changed. A task at rest is taken over
// and runs on; one at work is told.
//
// # Answers
//
// Whoever reads a task for a client does it through an [Answer], which takes the memory
// that this needs before it reads, and gives it back when the client has it.
//
// # Waiting
//
// The engine starts goroutines, waits and sets timers through its [Host] only, and holds
// no lock while it waits or calls code that was handed in. So package sim can run all of
// it in one goroutine.
package engine
