package approval

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// placeholder is a {name} or {/json/pointer} in the text of a hint. Any other brace stands for
// itself.
var placeholder = regexp.MustCompile(`\{[^{}]+\}`)

// FillHint returns hint with its placeholders, {name} or {/json/pointer}, filled from args, each
// value as JSON text. A placeholder that finds nothing stays as it is.
func FillHint(hint string, args map[string]any) (string, error) {
	var failed error
	filled := placeholder.ReplaceAllStringFunc(hint, func(source string) string {
		v, ok := lookup(args, splitPointer(source[1:len(source)-1]))
		if !ok {
			return source
		}
		text, err := jsonText(v)
		if err != nil {
			failed = fmt.Errorf("fill %s: %w", source, err)
		}
		return visible.Shorten(text, maxValue)
	})
	if failed != nil {
		return "", failed
	}
	return visible.Shorten(filled, maxHint), nil
}

// splitPointer returns the steps of a JSON pointer (RFC 6901), or name alone when it
// is none.
func splitPointer(name string) []string {
	if !strings.HasPrefix(name, "/") {
		return []string{name}
	}
	steps := strings.Split(name[1:], "/")
	for i, s := range steps {
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	return steps
}

// lookup walks from args along path, through objects and arrays.
func lookup(args map[string]any, path []string) (any, bool) {
	var v any = args
	for _, step := range path {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[step]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) || strconv.Itoa(i) != step {
				return nil, false
			}
			v = at[i]
		case tool.Masked:
			return at, true // the target of the step is masked with the rest
		default:
			return nil, false
		}
	}
	return v, true
}

// DefaultHint is the hint of a call if neither its gate nor its tool has a hint.
func DefaultHint(name string, args map[string]any) (string, error) {
	if len(args) == 0 {
		return fmt.Sprintf("May the tool %s run, without arguments?", quote(name)), nil
	}
	text, err := showArgs(args)
	if err != nil {
		return "", err
	}
	return withArgs(name) + " " + text, nil
}

// withArgs is the question of a default hint, before the arguments.
func withArgs(name string) string {
	return fmt.Sprintf("May the tool %s run with these arguments?", quote(name))
}

// HintWithoutArgs returns the hint of an approval without the arguments that a default hint lists, and without
// what follows them. Hints of gates and tools show the arguments that their authors chose.
func HintWithoutArgs(a *Approval) string {
	before, _, lists := strings.Cut(a.Hint, withArgs(a.Tool))
	if !lists {
		return a.Hint
	}
	return fmt.Sprintf("%sMay the tool %s run?", before, quote(a.Tool))
}

// showArgs returns args as JSON. If it is too long, each argument is shortened by itself, so
// that a long argument cannot push a short argument out of sight.
func showArgs(args map[string]any) (string, error) {
	text, err := jsonText(args)
	if err != nil {
		return "", err
	}
	if short := visible.Shorten(text, maxWhole); short == text {
		return text, nil
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(args)) {
		name, err := jsonText(key)
		if err != nil {
			return "", err
		}
		value, err := jsonText(args[key])
		if err != nil {
			return "", err
		}
		parts = append(parts, visible.Shorten(name, maxValue)+":"+visible.Shorten(value, maxValue))
	}
	return visible.Shorten("{"+strings.Join(parts, ",")+"}", maxHint), nil
}
