// Package sim runs engines in one goroutine, on a clock, a disk and tools that it owns, so
// that a run is a function of its choices: the same [Tape] gives the same run, event for
// event, and a run that fails can be replayed and made smaller.
//
// It is for tests. Its parts:
//
//   - [Choices]: every choice of a run is made here, from a seed or from a recorded
//     [Tape]. 0 is always the tamest choice.
//   - [Scheduler] and [Process]: which routine continues, and when time passes. A process
//     is a group of routines with its own host; it can be killed wherever it waits.
//   - [Disk]: a memstore that commits when the scheduler says so, in order, and loses the
//     uncommitted batches of a dead process.
//   - [Toolbox], [Ledger]: tools of every combination of properties, with a chosen way for
//     each run, and their effects on the world outside, which no crash undoes.
//   - Webhooks: clients set and delete them, and their receivers fail, hang, or lose an
//     answer. They are reached by a client that keeps the time of the run.
//   - The endpoint of a language model, if the planner asks one, which is slow, overloaded, or lost in
//     the middle of an answer.
//   - [Coverage]: the events that came up, and the events that never did.
//   - [Shrink]: a smaller tape that fails in the same way.
//
// # Rules for the code under simulation
//
// It starts goroutines with Process.Go and timers with Process.After only, and blocks nowhere
// but in Process.Wait. It holds no mutex while it waits, and while it calls the store.
// Functions that start goroutines or read clocks themselves (context.AfterFunc,
// context.WithTimeout, time.AfterFunc, sync.WaitGroup.Go) are out of the scheduler's sight:
// they would make a run depend on more than its choices. A select, a receive, a WaitGroup.Wait
// or a Cond.Wait that has to block stops the whole simulation.
package sim
