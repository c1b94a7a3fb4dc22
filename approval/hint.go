package approval

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"a2a-server/internal/visible"
)

// template is a parsed hint: text and placeholders in turn.
type template []segment

// segment is a piece of a template. With a path it is a placeholder, and text is its source.
type segment struct {
	text string
	path []string
}

// parseTemplate splits text at its placeholders, {name} and {/json/pointer}. It
// accepts any text: a brace that opens no placeholder stands for itself.
func parseTemplate(text string) template {
	var t template
	for text != "" {
		open := strings.IndexByte(text, '{')
		if open < 0 {
			break
		}
		end := strings.IndexAny(text[open+1:], "{}")
		if end < 0 {
			break
		}
		end += open + 1
		name := text[open+1 : end]
		if text[end] == '{' || name == "" {
			t = append(t, segment{text: text[:end]})
			text = text[end:]
			continue
		}
		if open > 0 {
			t = append(t, segment{text: text[:open]})
		}
		t = append(t, segment{text: text[open : end+1], path: splitPointer(name)})
		text = text[end+1:]
	}
	if text != "" {
		t = append(t, segment{text: text})
	}
	return t
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

// fill returns the text of t with its placeholders filled from args, each value as
// JSON text. A placeholder that finds nothing stays as it is.
func (t template) fill(args map[string]any) (string, error) {
	var b strings.Builder
	for _, s := range t {
		if s.path == nil {
			b.WriteString(s.text)
			continue
		}
		v, ok := lookup(args, s.path)
		if !ok {
			b.WriteString(s.text)
			continue
		}
		text, err := jsonText(v)
		if err != nil {
			return "", fmt.Errorf("fill %s: %w", s.text, err)
		}
		b.WriteString(visible.Shorten(text, maxValue))
	}
	return visible.Shorten(b.String(), maxHint), nil
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
		case string:
			if at != Masked {
				return nil, false
			}
			return at, true // the target of the step is masked with the rest
		default:
			return nil, false
		}
	}
	return v, true
}

// DefaultHint is the hint of a call without one from its gate or tool.
func DefaultHint(tool string, args map[string]any) (string, error) {
	if len(args) == 0 {
		return fmt.Sprintf("May the tool %s run, without arguments?", quote(tool)), nil
	}
	text, err := showArgs(args)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("May the tool %s run with these arguments? %s", quote(tool), text), nil
}

// showArgs returns args as JSON. In a long one each argument is shortened by itself, so that a
// long argument cannot push a short one out of sight.
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
