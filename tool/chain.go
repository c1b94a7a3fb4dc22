package tool

import "iter"

// Unwrapper is a tool that wraps another and adds to its declarations. A type that embeds or
// holds a tool must have Unwrap and return that tool: a [Registry] refuses it otherwise,
// because [As] would not find the tool's gate. A tool that only uses another tool holds its
// method as a function value. A wrapper with Call or CallStreaming runs in place of the
// wrapped tool; see [Runs].
//
//	type logged struct{ tool.CallableTool }
//
//	func (l logged) Unwrap() tool.Tool { return l.CallableTool }
type Unwrapper interface {
	// Unwrap returns the wrapped tool.
	Unwrap() Tool
}

// Chain iterates over t, the tool that it wraps, the tool wrapped by that, and so on.
func Chain(t Tool) iter.Seq[Tool] {
	return func(yield func(Tool) bool) {
		for t != nil && yield(t) {
			u, ok := t.(Unwrapper)
			if !ok {
				return
			}
			t = u.Unwrap()
		}
	}
}

// As returns the first tool of the [Chain] of t that is a T. Use As, not a type assertion, to
// look for an interface: a wrapper implements only its additions.
func As[T any](t Tool) (T, bool) {
	for t := range Chain(t) {
		if v, ok := t.(T); ok {
			return v, true
		}
	}
	var none T
	return none, false
}

// Runs returns the tool of the [Chain] of t that runs: the first that can be called or
// streamed, so that a wrapper's own Call is not passed over. A tool that can do both streams.
// Both results are nil if t can do neither.
func Runs(t Tool) (StreamingTool, CallableTool) {
	for u := range Chain(t) {
		if s, ok := u.(StreamingTool); ok {
			return s, nil
		}
		if c, ok := u.(CallableTool); ok {
			return nil, c
		}
	}
	return nil, nil
}

// Streams reports whether t yields its result in pieces when it runs; see [Runs].
func Streams(t Tool) bool {
	s, _ := Runs(t)
	return s != nil
}
