// Package rules decides the consequences of an [Input] to a task, which
// a [Draft] collects, the batch to append to the task's log.
//
// # From an input to a batch
//
//	Fold + Input ── On ──▶ Draft ── Draft.Advance ──▶ Draft ── Draft.Batch ──▶ store
//
// [On] makes a [Draft] of an input; Draft.Advance adds everything that
// can be decided now: plans, checks, questions, starts, results, and whether the task
// waits or ends. The engine appends the batch, and enters the calls of Draft.Launch
// when it is durable. A draft that does not commit is discarded together with its fold.
//
// A rule is a function: it reads the [basis], and returns its [additions]. It decides from the fold alone, so it
// decides the same after a restart.
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
// Before every entry, the first or a later one, a call goes through [mayEnter], the
// only way into a tool. A call that was started and has no result when its process dies
// is unknown ([died]). If it is declared read-only or idempotent, it is repeated
// automatically, at most three times ([uncertain]); for any other, a person is
// asked ([askOutcome]).
//
// # Phases
//
//   - at rest (parked): an input takes the task over (fence+1) and it continues;
//   - at work (live): an input is written next to the turn, which is notified and reads it;
//   - at its end (final): nothing changes, except that late results are recorded ([LateResult]).
package rules
