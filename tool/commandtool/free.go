package commandtool

import (
	"errors"
	"fmt"
	"slices"

	"a2a-server/internal/child"
	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// Free lists the commands that the calls of a tool may name. A call has either argv, a list of
// strings, or command, a string that is divided at spaces: '…' and "…" are around text that has some,
// and a backslash makes the next character literal.
//
// Lists are no sandbox. Many programs run other programs, or write files, when an argument
// asks for it: env, xargs, find -exec, git -c, tar --to-command, every interpreter. Allow as
// little as possible, with arguments, and keep the approval.
type Free struct {
	// Allow lists the commands that may run. A program that is named without a slash is
	// matched only by an element without a slash, and is looked up in PATH. To allow every
	// command, write the pattern "...".
	Allow []Pattern
	// Deny lists commands that must not run, even if they are allowed. A pattern of it
	// matches a command with more arguments, too, and a program by its name, its path, and
	// the path of the file that would run.
	Deny []Pattern
}

// The names of the arguments of a free command.
const (
	argvArg    = "argv"
	commandArg = "command"
)

// newFree checks the lists of commands.
func newFree(c *Config) (*Free, error) {
	if len(c.Args) > 0 || c.Stdin != "" {
		return nil, errors.New("a tool whose calls name the command has no other arguments, and no input")
	}
	f := c.Free
	if len(f.Allow) == 0 {
		return nil, fmt.Errorf("no command is allowed: list patterns, or the pattern %q for every command", rest)
	}
	for _, p := range slices.Concat(f.Allow, f.Deny) {
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("the allowed and denied commands: %w", err)
		}
	}
	return &Free{slices.Clone(f.Allow), slices.Clone(f.Deny)}, nil
}

func freeSchema() map[string]any {
	return map[string]any{"properties": map[string]any{
		argvArg: map[string]any{
			"type": "array", "items": map[string]any{"type": "string"}, "minItems": 1, "maxItems": 4096,
			"description": "The program and its arguments. There is no shell: nothing is split or expanded.",
		},
		commandArg: map[string]any{
			"type": "string", "minLength": 1,
			"description": "Instead of argv: the same as one line, divided at spaces, with '…' or \"…\" around text that contains some. There is no shell: no pipes, no variables, no wildcards.",
		},
	}}
}

// freeArgv returns the command that a call names.
func freeArgv(args map[string]any) ([]string, error) {
	list, hasList := args[argvArg].([]any)
	line, hasLine := args[commandArg].(string)
	if hasList == hasLine {
		return nil, tool.Invalid("", "give either %s, a list of strings, or %s, one string", argvArg, commandArg)
	}
	if hasLine {
		argv, err := split(line)
		if err != nil {
			return nil, invalid(commandArg, "%v", err)
		}
		return argv, nil
	}
	argv := make([]string, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, invalid(argvArg, "element %d is not a string", i)
		}
		argv[i] = s
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, invalid(argvArg, "the program is empty")
	}
	return argv, nil
}

// allowed returns why a command must not run. env is the environment it would have.
func (f *Free) allowed(argv, env []string, dir string) error {
	shown := visible.Quote(argv[0], maxShown)
	found, _ := child.Find(argv[0], env, dir) // a program that is not found cannot run
	programs := knownAs(argv[0], found)
	for _, p := range f.Deny {
		if p.denies(programs, argv[1:]) {
			return fmt.Errorf("%s: this tool may not run it: it is denied", shown)
		}
	}
	for _, p := range f.Allow {
		if p.allows(argv) {
			return nil
		}
	}
	return fmt.Errorf("%s: this tool may not run it: with these arguments, it is not among the allowed commands", shown)
}
