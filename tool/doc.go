// Package tool says what a tool is: something with a name that an agent can call.
//
//	Tool
//	├── CallableTool       runs, then returns its result
//	├── StreamingTool      yields its result in pieces (A2A artifact-update events)
//	├── CancellableTool    one call of it can be stopped
//	├── IsLongRunning      its call returns a job; the result comes later
//	└── RequiresApproval   somebody has to approve each call before it runs
//
// It owns the interfaces, toolsets and the predicates that filter them, what is
// declared about tools (gates, annotations), checking arguments against schemas,
// and the values by which a call pauses and continues: [Suspension] and [Resumption].
// It does not know tasks, nor where approvals are kept.
//
// # Declaring and doing
//
// Nothing here runs a tool. A wrapper, [WithConfirmation] among them, only declares;
// whoever runs tools asks [NeedsApproval] first, for every kind of tool in the same
// way, so that no kind slips past a gate. A wrapper adds
// to what is declared; what the tool it wraps declares and can do, in this package's
// interfaces or in others, is found with [As].
//
// # Failing closed
//
// A gate that fails or panics means ask. A question that nobody can put to anybody
// is [ErrConfirmationRequired], never consent.
//
// # Running once
//
// There is no idempotency key of its own: the task's id together with
// [Context].FunctionCallID names a call forever, through restarts and repeated
// runs. A tool hands the two on to whatever can tell a repetition by them.
package tool
