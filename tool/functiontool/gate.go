package functiontool

import (
	"reflect"

	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Gate makes a gate of a function that takes what the tool's function takes: the
// arguments, decoded, with their defaults. Arguments that do not fit ask. f must be quick
// and without effect, and safe for concurrent use.
func Gate[A any](f func(ctx agent.ReadonlyContext, a A) (ask bool, hint string, err error)) tool.GateFunc {
	args, wrong := argumentsOf(reflect.TypeFor[A]())
	return func(ctx agent.ReadonlyContext, given map[string]any) (bool, string, error) {
		if wrong != nil {
			return true, "", wrong
		}
		var a A
		if err := args.decode(ctx, given, &a); err != nil {
			return true, "", err
		}
		return f(ctx, a)
	}
}

// Must returns the tool that [New] or [NewStreaming] has made, and panics when they have
// not: the type of its arguments, or its Config, is a mistake of whoever wrote it.
func Must[T tool.Tool](t T, err error) T {
	if err != nil {
		panic(err)
	}
	return t
}
