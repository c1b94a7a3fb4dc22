// Package task defines tasks. A task is the fold of its log ([Fold]); a client sees its
// [View]; the [Rules] decide the consequences of an [Input].
//
// All of it is pure: it starts no goroutines, never waits or locks, reads no clock and
// takes ids only from the function that it is given. Package task/engine runs it; package
// task/internal/event owns the encoding of events.
//
// # A task is a log
//
// Everything that happens to a task is an event. Only events change a fold, so folding
// the same log always gives the same fold. The rules decide from the fold alone, so they
// decide the same after a restart.
//
// # From an input to a batch
//
//	Fold + Input ── On ──▶ Draft ── Draft.Advance ──▶ Draft ── Draft.Batch ──▶ store
//
// [On] puts an input into a [Draft]; [Draft.Advance] adds everything that
// can be decided now: plans, checks, questions, starts, results, and whether the task
// waits or ends. The engine appends the batch, and enters the calls of [Draft.Launch]
// when it is durable. A draft that does not commit is discarded together with its fold.
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
// Before every entry, the first or a later one, a call goes through [Draft.mayEnter], the
// only way into a tool. A call that was started and has no result when its process dies
// is unknown ([Draft.died]). If it is declared read-only or idempotent, it is repeated
// automatically, at most three times ([Draft.uncertain]); for any other, a person is
// asked ([Draft.askOutcome]).
//
// # Phases
//
//   - at rest (parked): an input takes the task over (fence+1) and it continues;
//   - at work (live): an input is written next to the turn, which is notified and reads it;
//   - at its end (final): nothing changes, except that late results are recorded ([LateResult]).
//
// # Words
//
// One word for one thing, in code, comments and documents.
//
//   - approval: a request to a person for a decision, pending or resolved (package approval).
//     Its kind is call, outcome or question.
//   - ask: to request an approval ([Draft.ask]); as a noun, a question of a tool
//     ([ToolQuestion], package tool) or of a planner ([Ask]).
//   - call: a call of a tool that a planner wants ([PlannedCall]) and its outcome;
//     attempt: an entry that a person or the policy allowed; repeat: an entry of the same
//     attempt after its process died.
//   - decision: a person's decision about an approval; answer: a decision as received
//     ([Answers]); verdict: a policy's decision about a call.
//   - entry: a call about to run its tool, with its checked tool and arguments ([Entry]).
//   - grant: the approval under which a call may be entered ([Fold.granted]).
//   - outcome: the end of a call ([Outcome]).
//   - phase: live (an instance runs the task), parked (rows on disk) or final; state: the
//     state shown to a client ([StateOf]).
//   - postponed: not entered now, through no fault of the call ([Draft.postpone]).
//   - run: an execution of a tool, in task/engine; turn: a run of a task until it waits or ends.
//   - step: a planner's next output and requests ([Step]).
package task
