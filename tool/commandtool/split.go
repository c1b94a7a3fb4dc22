package commandtool

import (
	"errors"
	"fmt"
	"strings"
)

// split divides a command line into its arguments. Nothing is expanded or interpreted:
//
//   - Spaces, tabs and line breaks separate arguments.
//   - '…' is literal text. "…" is too, except that \" is " and \\ is \.
//   - Elsewhere, a backslash makes the next character literal.
//   - Outside of quotes, the shell characters | & ; < > ( ) $ ` are an error.
func split(line string) ([]string, error) {
	const (
		blank   = " \t\r\n"
		special = "|&;<>()$`"
	)
	var argv []string
	var arg strings.Builder
	within := false // an argument
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case strings.IndexByte(blank, c) >= 0:
			if within {
				argv = append(argv, arg.String())
				arg.Reset()
				within = false
			}
			continue
		case strings.IndexByte(special, c) >= 0:
			return nil, fmt.Errorf("%c needs a shell, and there is none: quote it to make it part of an argument", c)
		case c == '\\':
			if i++; i == len(line) {
				return nil, errors.New("the command ends with a backslash")
			}
			arg.WriteByte(line[i])
		case c == '\'' || c == '"':
			end, err := quoted(&arg, line[i+1:], c)
			if err != nil {
				return nil, err
			}
			i += end
		default:
			arg.WriteByte(c)
		}
		within = true
	}
	if within {
		argv = append(argv, arg.String())
	}
	if len(argv) == 0 {
		return nil, errors.New("the command is empty")
	}
	return argv, nil
}

// quoted adds the text up to the closing quotation mark, and returns how many bytes that
// took, with the mark.
func quoted(arg *strings.Builder, rest string, mark byte) (int, error) {
	for i := 0; i < len(rest); i++ {
		switch {
		case rest[i] == mark:
			return i + 1, nil
		case mark == '"' && rest[i] == '\\' && i+1 < len(rest) && (rest[i+1] == '"' || rest[i+1] == '\\'):
			i++
		}
		arg.WriteByte(rest[i])
	}
	return 0, fmt.Errorf("a %c is not closed", mark)
}
