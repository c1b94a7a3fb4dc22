package tool

import "iter"

// Unwrapper is a tool that stands for another one and adds to what is declared
// about it.
type Unwrapper interface {
	// Unwrap returns the tool that is wrapped.
	Unwrap() Tool
}

// Chain walks t, the tool that it wraps, the tool that this one wraps, and so on.
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

// As returns the first tool of the [Chain] of t that is a T. What a tool can do is asked
// with As, not with a type assertion: a wrapper implements only what it adds.
func As[T any](t Tool) (T, bool) {
	for t := range Chain(t) {
		if v, ok := t.(T); ok {
			return v, true
		}
	}
	var none T
	return none, false
}
