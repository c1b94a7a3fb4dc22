// Package task has the values and ports of tasks: what a [Planner] plans and a [Presenter]
// shows, the [View] that clients see, the [Limits] of a task, and the errors of requests.
//
// Package task/internal/fold folds the log of a task, and task/internal/rules decides what
// follows from an input; package task/engine runs both. All but the engine is pure: it starts
// no goroutines, never waits or locks, reads no clock, and takes ids only from the function
// that it is given. Package task/internal/event owns the encoding of events, and task/internal/record
// that of all else that is stored.
//
// # Words
//
// One word for one thing, in code, comments and documents.
//
//   - approval: a request to a person for a decision, pending or resolved (package approval).
//     Its kind is call, outcome or question.
//   - ask: to request an approval; as a noun, a question of a tool (package tool) or of a
//     planner ([InputRequest]).
//   - call: a call of a tool that a planner wants ([PlannedCall]) and its outcome;
//     attempt: an entry that a person or the policy allowed; repeat: an entry of the same
//     attempt after its process died.
//   - decision: the act of a person that settles an approval; verdict: a policy's decision
//     about a call.
//   - execution: a call about to run its tool, with its checked tool and arguments.
//   - grant: the approval under which a call may be entered.
//   - outcome: the end of a call ([Outcome]).
//   - phase: live (an instance runs the task), parked (rows on disk) or final; state: the
//     state shown to a client ([StateOf]).
//   - postponed: not entered now, through no fault of the call.
//   - run: an execution of a tool, in task/engine; turn: a run of a task until it waits or ends.
//   - step: a planner's next output and requests ([Step]).
package task
