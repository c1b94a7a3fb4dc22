// Package tool defines tools: named functions that an agent can call.
//
//	Tool
//	├── CallableTool       runs, then returns its result
//	├── StreamingTool      yields its result in pieces (A2A artifact-update events)
//	├── CancellableTool    one call of it can be stopped
//	├── IsLongRunning      its call returns a job; the result comes later
//	└── RequiresApproval   each call has to be approved before it runs
//
// It owns the interfaces, toolsets and the predicates that filter them, the declarations of
// tools (gates, annotations), argument checking against schemas, and the values with which a
// call pauses and resumes: [Suspension] and [Resumption]. It knows neither tasks nor where
// approvals are stored.
//
// # Declaring and running
//
// Nothing here runs a tool. A wrapper such as [WithConfirmation] only adds declarations. The
// caller that runs tools calls [NeedsApproval] first, in the same way for every kind of tool,
// so that no kind slips past a gate. Use [As] to find the declarations and abilities of a
// wrapped tool, through this package's interfaces or others.
//
// # Failing closed
//
// A gate that fails or panics requires approval. A question that cannot be delivered is
// [ErrConfirmationRequired], never consent.
//
// # Running once
//
// There is no separate idempotency key: the task id together with [Context].FunctionCallID
// identifies a call permanently, across restarts and repeated runs. A tool passes both on to
// systems that detect duplicates by them.
package tool
