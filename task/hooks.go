package task

import (
	"encoding/json"

	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Hook looks at a planned call before the policy does: it may change the arguments or
// deny the call with a reason. If a hook fails or panics, the call requires approval.
// Hooks run again when a call is entered again, or when an approved call is about to run;
// they may still deny it, but the arguments do not change.
type Hook func(ctx agent.ReadonlyContext, c tool.ToolCall) (HookResult, error)

// HookResult is the decision of a Hook. The zero value lets the call pass.
type HookResult struct {
	Deny string          // not empty: why the call must not run
	Args json.RawMessage // not nil: replaces the arguments
}

// AfterHook examines the outcome of a call whose tool has run, before any of it is written. It
// may change r.Content, the result as a planner gets it, in JSON, and r.Error. If it sets
// r.Error, the call has failed with that text, and the rest of the result is dropped. For a
// failed call it may clear r.Error and set r.Content, which makes it a result. It cannot
// change parts that the tool published while it ran. r.Decision and r.Note hold a person's
// decision about the call.
//
// After hooks see each result, in order, until one of them makes it a failure. Error hooks see
// each failure, in order, until one of them makes it a result, which the after hooks then see.
// Calls that pause, that a person rejects, or whose outcome is unknown skip all hooks. Hooks
// run in the tool's goroutine, within the timeout of the call, and ctx ends with it.
//
// If a hook returns an error or panics, the call has failed, with a text that reveals nothing
// of the result, and the server's log has the error. To tell the planner why a result is
// withheld, set r.Error.
type AfterHook func(ctx agent.ReadonlyContext, c tool.ToolCall, r *Result) error
