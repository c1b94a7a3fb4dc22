package tool

import (
	"context"
	"iter"
	"time"

	"a2a-server/tool/agent"
)

// Tool is the part that all tools have in common. By itself it cannot be run: to run, a
// tool is a [CallableTool] or a [StreamingTool]. Its methods are safe for concurrent use,
// quick, and always return the same values.
type Tool interface {
	// Name is the name by which agents call the tool, unique among an agent's tools.
	Name() string
	// Description tells a model, or a person, the purpose of the tool and when to use it.
	Description() string
	// IsLongRunning reports whether a call returns a job and the result comes later. It has
	// nothing to do with approval.
	IsLongRunning() bool
	// RequiresApproval reports whether every call has to be approved before it runs. To
	// decide about a call, use [NeedsApproval], which also consults gates.
	RequiresApproval() bool
}

// CallableTool is a [Tool] that returns its result when it is done.
type CallableTool interface {
	Tool

	// Call runs the tool and returns when it is done or ctx has ended. The
	// arguments have been checked against Schema; they must not be changed. A
	// *[Suspension] as the error pauses the call.
	Call(ctx Context, args map[string]any) (map[string]any, error)
	// Schema is the JSON Schema of the arguments, nil when there is none. The map must never
	// be changed.
	Schema() map[string]any
}

// StreamingTool is a [Tool] that yields its result in pieces.
type StreamingTool interface {
	Tool

	// CallStreaming runs the tool while the sequence is read, once. Each Result with Streaming
	// set is a piece to append to the previous pieces; a Result without it is the whole
	// result, and the last. If there is none, the planner gets the text of the pieces, up to
	// 64 KiB, or null if they are not text. An error ends the sequence; a *[Suspension] pauses
	// the call. When yield returns false the tool must stop and return.
	CallStreaming(ctx Context, args map[string]any) iter.Seq2[*Result, error]
	// Schema is the JSON Schema of the arguments, nil when there is none. The map must never
	// be changed.
	Schema() map[string]any
}

// CancellableTool is a [Tool] with calls that can be stopped individually. The context of a
// canceled call ends too; Cancel is for work that the context does not reach.
type CancellableTool interface {
	Tool

	// Cancel asks the call to end soon, and reports whether there was such a call.
	Cancel(callID string) bool
	// SupportsCancellation reports whether Cancel can do anything now.
	SupportsCancellation() bool
}

// RequestProcessor is a tool that wants to change the request to a language model
// before it is sent. It is looked up with [As].
type RequestProcessor interface {
	// ProcessRequest changes req, as [Request] says. ctx has no call, and its state can only be read.
	// An error fails the task.
	ProcessRequest(ctx Context, req *Request) error
}

// Context is the context of a call. It ends when the call is canceled or times out. The
// functions of this package that take a context.Context, such as [RequestConfirmation],
// also accept contexts derived from it.
type Context interface {
	agent.CallbackContext

	// FunctionCallID is the id of the call, unique in its task and the same each time
	// that the call runs. With TaskID it is the idempotency key.
	FunctionCallID() string
	// Actions is where the tool records requests in addition to its result. It is never nil.
	Actions() *agent.EventActions
	// SearchMemory searches the agent's memories.
	SearchMemory(ctx context.Context, query string) (*agent.MemorySearchResponse, error)
	// Task is the task of the call, or an untyped nil if there is none.
	Task() agent.CancellableTask
}

// Request is the request to a language model, as far as tools may see and change it. It is made
// anew for each request, and passes from each [RequestProcessor] to the next.
type Request struct {
	// SystemInstruction is the system text; changes count.
	SystemInstruction string
	// Messages is a copy of the conversation without SystemInstruction, for reading: a
	// []map[string]any, the messages of chat completions as decoded JSON. A longer
	// SystemInstruction may still cost the oldest of them their place.
	Messages any
	// Config is a *[ModelConfig]; changes count.
	Config any
	// Metadata passes values from a tool to the next; the model does not get it.
	Metadata map[string]any
}

// ModelConfig has the parameters of a request to a language model. A value that is not allowed
// fails the task.
type ModelConfig struct {
	Model       string   // for reading: the operator chooses the model
	MaxTokens   int      // of the answer; 0: the endpoint decides. A limit can be lowered only.
	Temperature *float64 // from 0 to 2; nil: the endpoint decides
}

// Result is a result, or a piece of it, of a [StreamingTool].
type Result struct {
	// Content is a string, an [agent.Part] or a []agent.Part for text, files, links and
	// data, or any other JSON value. Parts become parts of the artifact, and the planner
	// gets them as a JSON array in the form of A2A, files included; of a single text part
	// it gets the text. A part that has none or several of Text, Data, Raw and URL, text
	// that is not UTF-8, or control characters in its names is an error of the call.
	Content   any
	Streaming bool // a piece; without it, the whole and final result
	// Error is the error of the call. In a piece it is a partial failure, and the call
	// continues: the error is published in the metadata of the chunk, under
	// "urn:a2a-server:error", and is the text of a piece without content. In the final result
	// it is the call's error, and the planner gets nothing else; content is only published, if
	// no piece was.
	Error string
	// Metadata is that of the event of a piece, without the marks of the server's own
	// questions (see package toolconfirmation, IsMark).
	Metadata map[string]any
	// Artifact names an artifact of the call besides the artifact named after the tool, for a
	// piece. Its id is "<call id>.<Artifact>". A run may use 16 names of 1 to 64 letters,
	// digits, underscores and hyphens.
	Artifact string
	// Replace makes a piece replace the content of its artifact so far, instead of being
	// appended, and makes a final result replace the pieces of the artifact that is named
	// after the tool.
	Replace bool
}

// ToolCall is a planner's request to run a tool.
//
//revive:disable-next-line:exported // the name is that of the published interface
type ToolCall struct {
	ID   string
	Name string
	Args map[string]any
}

// ToolResult is the result of a [ToolCall].
//
//revive:disable-next-line:exported // the name is that of the published interface
type ToolResult struct {
	ToolCallID string
	Content    string
	Error      string
	Metadata   map[string]any
}

// Claimant is a tool that passes on claims about it by a third party, such as an MCP server.
// Claims are shown to people, and part of the digest. They are not believed, as [Annotations] are, unless the operator
// trusts the tool. It is looked up with [As].
type Claimant interface {
	// Claims are short phrases, such as "read-only" or [ClaimDestructive].
	Claims() []string
	// Trusted reports whether the operator trusts the claims, so that they are the tool's Annotations, too.
	Trusted() bool
}

// Claims that say whether a call may irreversibly delete or overwrite something.
const (
	ClaimDestructive    = "destructive"
	ClaimNotDestructive = "not destructive"
	ClaimReadOnly       = "read-only"
)

// Timed is a tool with a time limit of its own, in place of the server's limit for every
// tool. It is looked up with [As].
type Timed interface {
	// Timeout is the time limit of a run. 0 or less: the server's limit.
	Timeout() time.Duration
}

// TakesPayload is a tool that reads the payload that an approver may send with the decision,
// as ADK's clients can: [Confirmation] returns it while the call runs. Any other tool would
// ignore the payload and run with the arguments that were shown, so an answer with a payload
// is refused for such a tool; to change the arguments, send an edit. A tool that calls
// [RequestConfirmation] with a payload need not declare anything: the answer to that question
// may have a payload.
//
// A payload is any JSON value. No digest covers it, and no schema or policy checks it: the
// tool has to check it, and must not let it cause anything that the approver of the arguments
// could not expect.
type TakesPayload interface {
	// TakesPayload reports whether the tool reads payloads. It is looked up with [As], so a
	// wrapper may override the tool that it wraps.
	TakesPayload() bool
}
