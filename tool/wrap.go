package tool

import (
	"iter"
	"strings"

	"a2a-server/tool/agent"
)

// gated is a tool with gates added to what it declares. It runs nothing. It is
// never handed out itself, only as what keep makes of it.
type gated struct {
	Tool
	approval bool
	gates    []GateFunc
}

func (g *gated) Unwrap() Tool           { return g.Tool }
func (g *gated) RequiresApproval() bool { return g.approval || g.Tool.RequiresApproval() }

// Gate implements [Gater] with the gates that were added; those of the tool itself
// are found through Unwrap.
func (g *gated) Gate(ctx agent.ReadonlyContext, args map[string]any) (ask bool, hint string, err error) {
	var hints []string
	for _, gate := range g.gates {
		a, h, err := gate(ctx, args)
		if err != nil {
			return true, h, err
		}
		ask = ask || a
		if a && h != "" {
			hints = append(hints, h)
		}
	}
	return ask, strings.Join(hints, "\n"), nil
}

// Schema is what makes a CallableTool or a StreamingTool of the narrow interfaces
// below.
func (g *gated) Schema() map[string]any { return ToDefinition(g.Tool).Parameters }

// The interfaces that keep knows, without Tool and Schema: two that share a method
// cannot be embedded side by side.
type (
	caller interface {
		Call(ctx Context, args map[string]any) (map[string]any, error)
	}
	streamer interface {
		CallStreaming(ctx Context, args map[string]any) iter.Seq2[*Result, error]
	}
	canceler interface {
		Cancel(callID string) bool
		SupportsCancellation() bool
	}
)

// keep returns g with exactly those interfaces of this package that g.Tool has, so
// that a plain type assertion on it is answered as before.
func keep(g *gated) Tool {
	const (
		call = 1 << iota
		stream
		cancel
		process
	)
	has := 0
	c, ok := g.Tool.(CallableTool)
	if ok {
		has |= call
	}
	s, ok := g.Tool.(StreamingTool)
	if ok {
		has |= stream
	}
	x, ok := g.Tool.(CancellableTool)
	if ok {
		has |= cancel
	}
	p, ok := g.Tool.(RequestProcessor)
	if ok {
		has |= process
	}
	type processor = RequestProcessor
	switch has {
	case call:
		return struct {
			*gated
			caller
		}{g, c}
	case stream:
		return struct {
			*gated
			streamer
		}{g, s}
	case call | stream:
		return struct {
			*gated
			caller
			streamer
		}{g, c, s}
	case cancel:
		return struct {
			*gated
			canceler
		}{g, x}
	case call | cancel:
		return struct {
			*gated
			caller
			canceler
		}{g, c, x}
	case stream | cancel:
		return struct {
			*gated
			streamer
			canceler
		}{g, s, x}
	case call | stream | cancel:
		return struct {
			*gated
			caller
			streamer
			canceler
		}{g, c, s, x}
	case process:
		return struct {
			*gated
			processor
		}{g, p}
	case call | process:
		return struct {
			*gated
			caller
			processor
		}{g, c, p}
	case stream | process:
		return struct {
			*gated
			streamer
			processor
		}{g, s, p}
	case call | stream | process:
		return struct {
			*gated
			caller
			streamer
			processor
		}{g, c, s, p}
	case cancel | process:
		return struct {
			*gated
			canceler
			processor
		}{g, x, p}
	case call | cancel | process:
		return struct {
			*gated
			caller
			canceler
			processor
		}{g, c, x, p}
	case stream | cancel | process:
		return struct {
			*gated
			streamer
			canceler
			processor
		}{g, s, x, p}
	case call | stream | cancel | process:
		return struct {
			*gated
			caller
			streamer
			canceler
			processor
		}{g, c, s, x, p}
	default:
		return g
	}
}
