package commandtool

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"a2a-server/tool"
)

func invalid(name, format string, args ...any) error {
	pointer := ""
	if name != "" {
		pointer = "/" + name // names have neither / nor ~
	}
	return &tool.InvalidError{Violations: []tool.Violation{{Pointer: pointer, Message: fmt.Sprintf(format, args...)}}}
}

// values returns the arguments of a call as text, with defaults for missing ones, and with the paths
// of files relative to the folder.
func (t *command) values(args map[string]any) (map[string]string, error) {
	values := make(map[string]string, len(t.config.Args))
	for name, arg := range t.config.Args {
		v, ok := args[name]
		if !ok {
			if v = arg.Default; v == nil {
				continue
			}
		}
		s, err := text(v)
		if err != nil {
			return nil, invalid(name, "%v", err)
		}
		if strings.ContainsRune(s, 0) {
			return nil, invalid(name, "contains a NUL character, which a command cannot get")
		}
		values[name] = s
	}
	return values, t.named(values)
}

// text writes a JSON value as the text of an argument.
func text(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case tool.Masked: // in a hint
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	case json.Number:
		return v.String(), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatInt(int64(v), 10), nil
		}
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case int:
		return strconv.Itoa(v), nil
	}
	return "", fmt.Errorf("cannot be an argument of a command: it is a %T", v)
}

// argv returns the command with values in place of the placeholders.
func (t *command) argv(values map[string]string) ([]string, error) {
	argv := make([]string, 0, len(t.run))
	options := true // until --
	for _, element := range t.run {
		s, leading, ok := element.render(values)
		if !ok {
			continue
		}
		if options && strings.HasPrefix(s, "-") {
			if err := t.option(values, leading); err != nil {
				return nil, err
			}
		}
		if element.fixed() && s == "--" {
			options = false
		}
		argv = append(argv, s)
	}
	return argv, nil
}

// option refuses an option that is not the operator's: leading are the arguments that decide
// how it begins.
func (t *command) option(values map[string]string, leading []string) error {
	for _, name := range leading {
		switch {
		case t.config.Args[name].Enum != nil:
		case values[name] == "":
			return invalid(name, `is empty, so that the argument begins with "-", and the command would take it for an option`)
		default:
			return invalid(name, `begins with "-", so the command would take it for an option`)
		}
	}
	return nil
}
