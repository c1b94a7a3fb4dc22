package approval

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"a2a-server/internal/strictjson"
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

// A Place is a place in the arguments of calls that a gate names.
type Place struct {
	Key, Text string   // such as mask and /card/number
	Path      []string // the steps to it; * is any
}

// namedPlace is a placeholder that can only be meant for an argument.
var namedPlace = regexp.MustCompile(`^\{(/.*|[A-Za-z0-9_][A-Za-z0-9_.-]*)\}$`)

// Places returns the places that the hint, mask and grants of g name.
func (g Gate) Places() (all []Place) {
	for _, text := range placeholder.FindAllString(g.Hint, -1) {
		if namedPlace.MatchString(text) {
			all = append(all, Place{"hint", text, splitPointer(text[1 : len(text)-1])})
		}
	}
	for _, pointer := range g.Terms.Mask {
		all = append(all, Place{"mask", pointer, splitPointer(pointer)})
	}
	if g.Terms.Grants != nil {
		for _, pointer := range g.Terms.Grants.Vary {
			all = append(all, Place{"grants.vary", pointer, splitPointer(pointer)})
		}
	}
	return all
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

// Words returns the notes and the hint, "" if there are neither.
func (a *Approval) Words() string { return strings.TrimSpace(a.Notes + " " + a.Hint) }

// Question returns the notes and the hint. Without a hint, it asks whether the tool may run with the
// arguments that a call has, masked.
func (a *Approval) Question() string {
	if a.Hint != "" || a.Kind != KindCall {
		return a.Words()
	}
	return strings.TrimSpace(a.Notes + " " + mayRun(a.Tool, a.maskedArguments()))
}

// Summary is [Approval.Question] without the arguments that it lists.
func (a *Approval) Summary() string {
	if a.Hint != "" || a.Kind != KindCall {
		return a.Words()
	}
	return strings.TrimSpace(fmt.Sprintf("%s May the tool %s run?", a.Notes, quote(a.Tool)))
}

// mayRun asks about a call without a hint.
func mayRun(name string, raw json.RawMessage) string {
	args, err := strictjson.DecodeObject(raw)
	if err == nil && len(args) == 0 {
		return fmt.Sprintf("May the tool %s run, without arguments?", quote(name))
	}
	text := ""
	if err == nil {
		text, err = showArgs(args)
	}
	if err != nil {
		return fmt.Sprintf("May the tool %s run? Its arguments cannot be shown.", quote(name))
	}
	return fmt.Sprintf("May the tool %s run with these arguments? %s", quote(name), text)
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
