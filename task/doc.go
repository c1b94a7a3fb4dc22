// Package task says what a task is. A task is the fold of its log ([Fold]); a client
// sees its [View]; the [Rules] say what follows when something happens to it.
//
// All of it is pure: it starts nothing, waits for nothing, locks nothing, reads no
// clock and takes no id but from the function it is given. Package task/engine runs it;
// package task/internal/event owns how events are written.
//
// # A task is a log
//
// Everything that happens to a task is an event. A fold changes by events alone, so that
// it is the same whoever folds the log, and whenever. The rules decide from the fold
// alone, so that they come to the same after a restart.
//
// # From an input to a batch
//
//	Fold + Input ── Rules.On ──▶ Draft ── Draft.Advance ──▶ Draft ── Draft.Batch ──▶ store
//
// [Rules.On] puts what has happened into a [Draft]; [Draft.Advance] adds everything that
// can be decided now: plans, checks, questions, starts, results, rest or end. Whoever runs
// the task appends the batch, and enters [Draft.Launch] when it is durable. A draft that
// does not commit is thrown away, and its fold with it.
//
// # A call
//
//	            ┌──────────────── asked again: the tool, the policy or the edit is another ┐
//	            ▼                                                                          │
//	planned → (asked → decided)* → started → (suspended → resumed)* → finished             │
//	   │           ▲                  │              │                                     │
//	   │           └── outcome? ◀── unknown ─────────┴─────────────────────────────────────┘
//	   └── postponed: its tool cannot be looked up now; everything stays as it is
//
// Before every entry, first or again, a call goes through [Draft.mayEnter], the one door
// into a tool. A call that was started and has no result when its process dies is
// unknown ([Draft.died]): one that is declared read-only or idempotent is run again by
// itself, three times at most ([Draft.uncertain]); about any other a person is asked
// ([Draft.askOutcome]).
//
// # Phases
//
//   - at rest: an input takes the task over (fence+1) and it runs on;
//   - at work: an input is written beside the turn, which is told and reads it;
//   - at its end: nothing changes any more but what is recorded late ([LateResult]).
//
// # Words
//
// One word for one thing, in code, comments and documents.
//
//   - approval: what was asked of a person, pending or resolved (package approval). Its
//     kind is call, outcome or question.
//   - ask: to request an approval ([Draft.ask]); as a noun, one question of a tool
//     ([ToolQuestion], package tool) or of a planner ([Ask]).
//   - call: one call of a tool that a planner wants ([PlannedCall]) and what became of it;
//     attempt: an entry that a person or the policy allowed; repeat: an entry of the same
//     attempt after its process died.
//   - decision: what a person says of an approval; answer: a decision as it came in
//     ([Answers]); verdict: what a policy says of a call.
//   - entry: a tool about to be entered, with all that was checked for it ([Entry]).
//   - grant: the approval under which a call may be entered ([Fold.granted]).
//   - outcome: how a call ended ([Outcome]).
//   - phase: live (somebody runs the task), parked (rows on disk) or final; state: what a
//     client is shown ([StateOf]).
//   - postponed: not entered now, through no fault of the call ([Draft.postpone]).
//   - run: one run of a tool, in task/engine; turn: the run of a task between two rests.
//   - step: what a planner wants done at one time ([Step]).
package task
