// Package sim runs engines in one goroutine, on a clock, a disk and tools that it
// owns, so that a run is a function of its choices: the same [Tape] gives the same
// run, event for event, and a run that fails can be replayed and made smaller.
//
// It is for tests. What it owns:
//
//   - [Choices]: everything that could go one way or another is chosen here, from a
//     seed or from a recorded [Tape]. 0 is always the tamest way.
//   - [Scheduler] and [Process]: who continues, and when time passes. A process is a
//     group of routines with its own host; it can be killed wherever it waits.
//   - [Disk]: a memstore that commits when the scheduler says so, in order, and loses
//     what a dead process had not got committed.
//   - [Toolbox], [Ledger]: tools of every combination of properties, whose every run
//     goes some way, and what they did in the world outside, which no crash undoes.
//   - Webhooks: clients set and delete them, and their receivers fail, hang, or lose an
//     answer. They are reached by a client that keeps the time of the run.
//   - [Coverage]: what came up, and what never did.
//   - [Shrink]: a smaller tape that fails in the same way.
//
// # What the code under simulation may do
//
// It starts goroutines with Process.Go and timers with Process.After only, and
// blocks nowhere but in Process.Wait. It holds no mutex while it waits, and while it
// calls the store. What starts goroutines or reads clocks by itself (context.AfterFunc,
// context.WithTimeout, time.AfterFunc, sync.WaitGroup.Go) is out of the scheduler's
// sight: it would make a run depend on more than its choices. A select, a receive, a
// WaitGroup.Wait or a Cond.Wait that has to block stops the whole simulation.
package sim
