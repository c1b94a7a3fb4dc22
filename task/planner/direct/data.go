package direct

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"a2a-server/approval"
	"a2a-server/task"
)

// maxName bounds the name of a tool in a message, in bytes. It is repeated wherever the
// call is shown.
const maxName = 256

// How ADK marks a data part that is a call.
const (
	adkType         = "adk_type"
	adkFunctionCall = "function_call"
)

// readData returns the calls of a data part. A value in none of the known shapes is not a call.
func readData(value any, metadata map[string]any) ([]task.PlannedCall, error) {
	fields, isObject := value.(map[string]any)
	if kind, ok := metadata[adkType].(string); ok && kind == adkFunctionCall {
		if !isObject {
			return nil, errors.New(`an ADK function_call is an object {"id", "name", "args"}`)
		}
		// Other keys that ADK adds are ignored.
		return single(planned("name", fields["name"], fields["args"], fields["id"]))
	}
	_, one := fields["tool"]
	several, many := fields["calls"]
	switch {
	case one && many:
		return nil, errors.New(`one part has both "tool" and "calls"; use one of them`)
	case one:
		return single(namedCall(fields))
	case many:
		if err := onlyKeys(fields, "calls"); err != nil {
			return nil, err
		}
		return namedCalls(several)
	}
	return nil, nil
}

// single returns a call as a list.
func single(call task.PlannedCall, err error) ([]task.PlannedCall, error) {
	if err != nil {
		return nil, err
	}
	return []task.PlannedCall{call}, nil
}

func namedCalls(value any) ([]task.PlannedCall, error) {
	entries, ok := value.([]any)
	if !ok || len(entries) == 0 {
		return nil, errors.New(`"calls" must be a list of at least one {"tool", "args"}`)
	}
	calls := make([]task.PlannedCall, 0, min(len(entries), MaxCalls))
	for i, entry := range entries {
		fields, ok := entry.(map[string]any)
		if !ok {
			return nil, fmt.Errorf(`calls[%d] must be an object {"tool", "args"}`, i)
		}
		call, err := namedCall(fields)
		if err != nil {
			return nil, fmt.Errorf("calls[%d]: %w", i, err)
		}
		calls = append(calls, call)
	}
	return calls, nil
}

// namedCall reads {"tool", "args" or "arguments", "id"}. Other names are refused: a
// misspelled "args" must not become a call without arguments.
func namedCall(fields map[string]any) (task.PlannedCall, error) {
	if err := onlyKeys(fields, "tool", "args", "arguments", "id"); err != nil {
		return task.PlannedCall{}, err
	}
	args, has := fields["args"]
	if other, too := fields["arguments"]; too {
		if has {
			return task.PlannedCall{}, errors.New(`"args" and "arguments" are the same; use one of them`)
		}
		args = other
	}
	return planned("tool", fields["tool"], args, fields["id"])
}

func planned(key string, name, args, id any) (task.PlannedCall, error) {
	call := task.PlannedCall{}
	var ok bool
	if call.Tool, ok = name.(string); !ok || call.Tool == "" {
		return call, fmt.Errorf("%q must be a string, the name of a tool", key)
	}
	if len(call.Tool) > maxName {
		return call, fmt.Errorf("unknown tool %q: a name has at most %d bytes", clip(call.Tool, 100), maxName)
	}
	if id != nil {
		if call.Alias, ok = id.(string); !ok {
			return call, fmt.Errorf(`"id" of the call of %q must be a string`, call.Tool)
		}
		if approval.LooksLikeOurID(call.Alias) {
			return call, fmt.Errorf(`"id" of the call of %q is %q, which looks like an id of this server; choose another one, or leave it out`, call.Tool, clip(call.Alias, 100))
		}
	}
	call.Args = json.RawMessage("{}")
	if args == nil {
		return call, nil
	}
	var err error
	if call.Args, err = task.EncodeArgs(args); err != nil {
		return call, fmt.Errorf("the arguments of %q are not JSON: %w", call.Tool, err)
	}
	return call, nil
}

func onlyKeys(fields map[string]any, known ...string) error {
	var unknown []string
	for key := range fields {
		if !slices.Contains(known, key) {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return fmt.Errorf("unknown key %q; known are %q", clip(slices.Min(unknown), 100), slices.Clone(known)) // a clone, so that known itself is not allocated
}
