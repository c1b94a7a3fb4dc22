// Package task is the engine: it turns messages into tasks, runs them, stops them
// where a person has to decide, and lets anybody follow them. It owns what events
// mean, the fold of a log, the states, turns, recovery, subscriptions and due work.
// It does not know HTTP, JSON-RPC or how anything is stored.
//
// # A task is a log
//
// Everything that happens to a task is an event; events.go lists the kinds. The
// fold of a log is all there is to know of a task: [View] is what a client sees of
// it, the rest is what the engine needs to go on. The engine decides from the fold
// alone, so that it comes to the same after a restart.
//
// # Turns
//
// A turn is the run of a task between two rests. One goroutine owns it. It makes
// one batch after the other: settle what came in, advance everything that can be
// decided now, append. A batch that conflicts, because somebody decided or canceled
// meanwhile, is made again on top of what they wrote. A task at rest is rows on disk.
//
// # A call
//
//	planned → (asked → decided)* → started → (suspended → resumed)* → finished
//	                                  └→ unknown → started again, or asked → …
//
// A call is started by the batch that says so, and its tool is entered only when
// that batch is durable; so an approved call runs at most once. A call that was
// started and has no result when its process dies is unknown: it is run again if
// its tool is declared read-only or idempotent, else a person decides what came of
// it.
//
// # Who may do what when
//
//   - at rest: an input takes the task over (fence+1) and runs it on;
//   - at work: an input is written beside the turn, which is told and reads it;
//   - at its end: nothing changes any more but what is recorded late.
package task
