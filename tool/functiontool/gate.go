package functiontool

import (
	"encoding/json"
	"fmt"
	"reflect"

	"a2a-server/internal/strictjson"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Gate builds a gate from a function with the same argument type as the tool's function:
// it gets the decoded arguments, with their defaults. Arguments that do not fit require
// approval. f must be quick, free of side effects, and safe for concurrent use.
func Gate[A any](f func(ctx agent.ReadonlyContext, a A) (ask bool, err error)) tool.GateFunc {
	args, wrong := argumentsOf(reflect.TypeFor[A]())
	return func(ctx agent.ReadonlyContext, given map[string]any) (bool, error) {
		if wrong != nil {
			return true, wrong
		}
		var a A
		if err := args.decode(ctx, given, &a); err != nil {
			return true, err
		}
		return f(ctx, a)
	}
}

// Hint builds a hint from a function with the same argument type as the tool's function. A
// masked value is the text ••• there. Where that does not fit, such as in a number, there is no
// text, and approvers are shown [Config.Hint], or the arguments.
func Hint[A any](f func(ctx agent.ReadonlyContext, a A) (string, error)) tool.HintFunc {
	args, wrong := argumentsOf(reflect.TypeFor[A]())
	return func(ctx agent.ReadonlyContext, masked map[string]any) (string, error) {
		if wrong != nil {
			return "", wrong
		}
		raw, err := json.Marshal(masked)
		if err != nil {
			return "", fmt.Errorf("arguments of a hint: %w", err)
		}
		given, err := strictjson.DecodeObject(raw)
		if err != nil {
			return "", fmt.Errorf("arguments of a hint: %w", err)
		}
		var a A
		if err := args.decode(ctx, given, &a); err != nil {
			return "", err
		}
		return f(ctx, a)
	}
}

// Must returns the tool that [New] or [NewStreaming] returned, and panics if they
// returned an error: a bad argument type or Config is a programming error.
func Must[T tool.Tool](t T, err error) T {
	if err != nil {
		panic(err)
	}
	return t
}
