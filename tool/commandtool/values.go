package commandtool

import (
	"strings"

	"a2a-server/tool"
)

func invalid(name, format string, args ...any) error {
	return tool.Invalid("/"+name, format, args...) // names have neither / nor ~
}

// values returns the arguments of a call as text, with defaults, and with the paths
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
		s, ok := tool.ArgumentText(v)
		if !ok {
			return nil, invalid(name, "cannot be an argument of a command: it is a %T", v)
		}
		if strings.ContainsRune(s, 0) {
			return nil, invalid(name, "contains a NUL character, which a command cannot get")
		}
		values[name] = s
	}
	return values, t.named(values)
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
