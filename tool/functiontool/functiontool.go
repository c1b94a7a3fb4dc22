// Package functiontool builds tools from typed Go functions. The schema of the arguments
// is derived from the function's argument type; a call's arguments are checked against it
// and decoded, so the function only gets arguments that it declares. The package knows
// neither tasks nor approvals: it only declares gates.
//
// An argument's name comes from the json tag of its field. Other tags refine the schema
// (see github.com/invopop/jsonschema); a jsonschema tag without a keyword is the
// description, as in the MCP SDK:
//
//	Name  string `json:"name" jsonschema:"the name, as in the passport"`
//	Path  string `json:"path" jsonschema:"description=File to read"`
//	Unit  string `json:"unit" jsonschema:"enum=celsius,enum=kelvin,default=celsius"`
//	Limit int    `json:"limit,omitempty" jsonschema:"minimum=1"`
//	Note  string `json:"note,omitempty" jsonschema_description:"Text, with commas"`
//
// A field without omitempty or a default is required. A missing argument gets its
// default, also within nested structs and slices of them.
package functiontool

import (
	"cmp"
	"iter"
	"time"

	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Config is the declarations of a tool besides its arguments.
type Config struct {
	Name        string // required
	Description string // for a model, or a person: its purpose
	// RequireApproval says that every call must be approved before it runs.
	RequireApproval bool
	// Gate decides call by call whether approval is required, from the arguments as they
	// were sent, without defaults. The function [Gate] builds one from a typed function.
	// Defaults to none.
	Gate tool.GateFunc
	// Hint is shown to approvers if a call has to be approved and HintFunc has no text for it.
	Hint string
	// HintFunc returns what approvers are shown about a call, from its masked arguments, see
	// [tool.Hinter]. The function [Hint] builds one from a typed function. Defaults to none.
	HintFunc    tool.HintFunc
	Annotations tool.Annotations
	// Timeout bounds each call. Defaults to the limit of all calls.
	Timeout time.Duration
	// TakesPayload says that the function reads the payload of the decision on its call
	// with tool.Confirmation; see [tool.TakesPayload].
	TakesPayload bool
	// LongRunning says that a call only starts a job, and that its result comes later. It
	// changes nothing else: for a job that the server polls until it is done, use [NewPoller].
	LongRunning bool
}

// New returns a tool that calls f, which must be safe for concurrent use. A is a struct, or a
// map with string keys. The value returned by f becomes the result: a map, or a value that
// encodes to a JSON object, unchanged; anything else as {"result": value}. Numbers in values
// that had to be encoded are json.Number, so that large integers stay exact.
//
// If the arguments do not fit, the error is a *[tool.InvalidError] and f is not called.
func New[A, R any](c Config, f func(tool.Context, A) (R, error)) (tool.CallableTool, error) {
	b, err := newBase[A](c, f == nil)
	if err != nil {
		return nil, err
	}
	return &function[A, R]{base: b, f: f}, nil
}

// NewStreaming is [New] for a function that yields its result in pieces.
func NewStreaming[A any](c Config, f func(tool.Context, A) iter.Seq2[*tool.Result, error]) (tool.StreamingTool, error) {
	b, err := newBase[A](c, f == nil)
	if err != nil {
		return nil, err
	}
	return &stream[A]{base: b, f: f}, nil
}

// base is the common declarations of both kinds of tool.
type base struct {
	config    Config
	arguments *arguments
}

func (b *base) Name() string                  { return b.config.Name }
func (b *base) Description() string           { return b.config.Description }
func (b *base) IsLongRunning() bool           { return b.config.LongRunning }
func (b *base) RequiresApproval() bool        { return b.config.RequireApproval }
func (b *base) Annotations() tool.Annotations { return b.config.Annotations }
func (b *base) TakesPayload() bool            { return b.config.TakesPayload }
func (b *base) Schema() map[string]any        { return b.arguments.schema }
func (b *base) Timeout() time.Duration        { return b.config.Timeout }

// HasGate reports whether there is a gate; see [tool.Gater].
func (b *base) HasGate() bool { return b.config.Gate != nil }

// Gate implements [tool.Gater].
func (b *base) Gate(ctx agent.ReadonlyContext, args map[string]any) (ask bool, err error) {
	if b.config.Gate == nil {
		return false, nil
	}
	return b.config.Gate(ctx, args)
}

// Hint implements [tool.Hinter]. An approver gets the fixed text where the other cannot be made.
func (b *base) Hint(ctx agent.ReadonlyContext, args map[string]any) (hint string, err error) {
	if b.config.HintFunc != nil {
		hint, err = b.config.HintFunc(ctx, args)
	}
	return cmp.Or(hint, b.config.Hint), err
}

type function[A, R any] struct {
	*base
	f func(tool.Context, A) (R, error)
}

// Call implements [tool.CallableTool].
func (t *function[A, R]) Call(ctx tool.Context, args map[string]any) (map[string]any, error) {
	var a A
	if err := t.arguments.decode(ctx, args, &a); err != nil {
		return nil, err
	}
	r, err := t.f(ctx, a)
	if err != nil {
		return nil, err // not wrapped: it may be a *tool.Suspension
	}
	return result(r)
}

type stream[A any] struct {
	*base
	f func(tool.Context, A) iter.Seq2[*tool.Result, error]
}

// CallStreaming implements [tool.StreamingTool].
func (t *stream[A]) CallStreaming(ctx tool.Context, args map[string]any) iter.Seq2[*tool.Result, error] {
	var a A
	if err := t.arguments.decode(ctx, args, &a); err != nil {
		return func(yield func(*tool.Result, error) bool) { yield(nil, err) }
	}
	return t.f(ctx, a)
}
