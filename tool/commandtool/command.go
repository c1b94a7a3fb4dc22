package commandtool

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"a2a-server/internal/child"
	"a2a-server/internal/lists"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// command is a tool that runs commands.
type command struct {
	config   Config
	run      []template // nil: free
	stdin    template
	free     *Free // nil: run
	schema   map[string]any
	compiled *tool.Schema
}

// Name implements [tool.Tool].
func (t *command) Name() string { return t.config.Name }

// Description implements [tool.Tool].
func (t *command) Description() string { return t.config.Description }

// IsLongRunning implements [tool.Tool].
func (t *command) IsLongRunning() bool { return false }

// RequiresApproval implements [tool.Tool].
func (t *command) RequiresApproval() bool { return t.config.Approve == nil || *t.config.Approve }

// Annotations implements [tool.Annotated].
func (t *command) Annotations() tool.Annotations { return t.config.Annotations }

// Schema implements [tool.StreamingTool].
func (t *command) Schema() map[string]any { return t.schema }

// Timeout implements [tool.Timed]. A command is ended here when its time is up; the
// caller's limit is only reached if that takes too long.
func (t *command) Timeout() time.Duration {
	if t.config.Timeout == 0 {
		return 0
	}
	return t.config.Timeout + 2*t.config.Grace + time.Second
}

// Startable returns the reason why the command cannot be started now, such as a program that
// is not installed; nil if no reason is known. Nothing is started.
func (t *command) Startable() error {
	if t.free != nil {
		return nil // a call names the program
	}
	program, _, _ := t.run[0].render(nil)
	return child.Check(child.Command{Argv: []string{program}, Env: t.environment(), Dir: t.config.Dir})
}

// maxHint bounds the command in a hint, in characters.
const maxHint = 2000

// Hint implements [tool.Hinter]. It shows the command. Whether a command with a masked argument
// may run is not known here.
func (t *command) Hint(_ agent.ReadonlyContext, args map[string]any) (hint string, err error) {
	var argv []string
	var input []byte
	values, err := t.values(args)
	if err == nil { // a file that is passed open has its name
		argv, input, err = t.filled(args, values)
	}
	if err != nil {
		if strings.Contains(fmt.Sprint(args), tool.Masked{}.String()) {
			return "", err
		}
		return "This call will fail: " + visible.Clip(err.Error(), maxHint), nil
	}
	hint = "Runs " + visible.Clip(strings.Join(lists.Map(argv, shown), " "), maxHint)
	if t.config.Dir != "" {
		hint += " in " + visible.Clip(t.config.Dir, maxShown)
	}
	if input != nil {
		hint += " with the input " + visible.Clip(asJSON(string(input)), maxHint)
	}
	return hint, nil
}

// shown writes an argument as it is, or in JSON's quotes if it could be misread.
func shown(arg string) string {
	misread := func(r rune) bool { return r <= ' ' || strings.ContainsRune(`"'\`, r) || visible.Invisible(r) }
	if arg == "" || strings.ContainsFunc(arg, misread) {
		return asJSON(arg)
	}
	return arg
}

// asJSON writes a text in JSON's quotes, with < > & as they are.
func asJSON(text string) string {
	raw, _ := strictjson.Plain(text) // a string always can be
	return string(raw)
}

// environment is the environment without secrets, sorted.
func (t *command) environment() []string {
	env := make([]string, 0, len(t.config.Env)+len(t.config.Secrets))
	for _, name := range slices.Sorted(maps.Keys(t.config.Env)) {
		env = append(env, name+"="+t.config.Env[name])
	}
	return env
}

// secrets adds the secrets to an environment.
func (t *command) secrets(ctx context.Context, env []string) ([]string, error) {
	for _, name := range slices.Sorted(maps.Keys(t.config.Secrets)) {
		value, err := t.config.Secrets[name](ctx)
		if err != nil {
			return nil, fmt.Errorf("read the secret for the environment variable %s: %w", name, err)
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

// prepare returns the command of a call, with its files open, and its input.
func (t *command) prepare(ctx context.Context, args map[string]any) (c child.Command, input []byte, err error) {
	if err := t.compiled.CheckCall(ctx, args); err != nil {
		return c, nil, err
	}
	c = child.Command{Env: t.environment(), Dir: t.config.Dir, Stdout: true, Stderr: true, Grace: t.config.Grace}
	defer func() {
		if err != nil {
			closeAll(c.Files)
		}
	}()
	values, err := t.values(args)
	if err == nil {
		c.Files, err = t.inFolder(values)
	}
	if err == nil {
		c.Argv, input, err = t.filled(args, values)
	}
	if err == nil {
		c.Env, err = t.secrets(ctx, c.Env)
	}
	c.Stdin = input != nil
	return c, input, err
}

// filled returns the command that a call names, or the command and its input with values in place of
// the placeholders.
func (t *command) filled(args map[string]any, values map[string]string) (argv []string, input []byte, err error) {
	if t.free != nil {
		if argv, err = freeArgv(args); err == nil {
			err = t.free.allowed(argv, t.environment(), t.config.Dir)
		}
		return argv, nil, err
	}
	if argv, err = t.argv(values); err != nil || len(t.stdin) == 0 {
		return argv, nil, err
	}
	s, _, ok := t.stdin.render(values)
	if !ok {
		return argv, nil, nil // nothing to read, as with an element that is left out
	}
	return argv, []byte(s), nil
}

var _ interface {
	tool.StreamingTool
	tool.Timed
	tool.Hinter
	tool.Annotated
} = (*command)(nil)
