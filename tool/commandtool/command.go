package commandtool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"a2a-server/internal/child"
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

	mu      sync.Mutex
	running map[string][]*running // by the id of the call
}

// running is a call whose command runs.
type running struct {
	task, call string
	ctx        context.Context //nolint:containedctx // of the call: Cancel asks whether it has ended
	cancel     context.CancelCauseFunc
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

// Gate implements [tool.Gater]. It asks exactly if RequiresApproval does, and its hint shows
// the command.
func (t *command) Gate(_ agent.ReadonlyContext, args map[string]any) (ask bool, hint string, err error) {
	if !t.RequiresApproval() {
		return false, "", nil
	}
	argv, input, err := t.planned(args)
	if err != nil {
		return true, "This call will fail: " + visible.Clip(err.Error(), maxHint), nil
	}
	quoted := make([]byte, 0, 100)
	for i, arg := range argv {
		if i > 0 {
			quoted = append(quoted, ' ')
		}
		quoted = append(quoted, shown(arg)...)
	}
	hint = "Runs " + visible.Clip(string(quoted), maxHint)
	if t.config.Dir != "" {
		hint += " in " + visible.Clip(t.config.Dir, maxShown)
	}
	if input != nil {
		if !t.config.StdinArgs { // JSON is plain already
			input = asJSON(string(input))
		}
		hint += " with the input " + visible.Clip(string(input), maxHint)
	}
	return true, hint, nil
}

// shown writes an argument as it is, or in JSON's quotes if it could be misread.
func shown(arg string) []byte {
	for _, r := range arg {
		if r <= ' ' || r == '"' || r == '\'' || r == '\\' || visible.Invisible(r) {
			return asJSON(arg)
		}
	}
	if arg == "" {
		return []byte(`""`)
	}
	return []byte(arg)
}

// asJSON writes a text in JSON's quotes, with < > & as they are.
func asJSON(text string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always can be
	return bytes.TrimSpace(b.Bytes())
}

// planned returns the command of a call and its input, without looking at files: a file that
// is passed open has its name.
func (t *command) planned(args map[string]any) (argv []string, input []byte, err error) {
	if t.free != nil {
		if argv, err = freeArgv(args); err == nil {
			err = t.free.allowed(argv, t.environment(), t.config.Dir)
		}
		return argv, nil, err
	}
	values, err := t.values(args)
	if err == nil {
		err = t.named(values)
	}
	if err != nil {
		return nil, nil, err
	}
	return t.filled(args, values)
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
	if args == nil {
		args = map[string]any{}
	}
	if !tool.ArgsChecked(ctx, t.schema, args) {
		if err := t.compiled.Validate(args); err != nil {
			return c, nil, err
		}
	}
	c = child.Command{Dir: t.config.Dir, Stdout: true, Stderr: true, Grace: t.config.Grace}
	c.Env = t.environment()
	if t.free != nil {
		if c.Argv, _, err = t.planned(args); err != nil {
			return c, nil, err
		}
	} else if input, err = t.fill(&c, args); err != nil {
		closeAll(c.Files)
		return c, nil, err
	}
	if c.Env, err = t.secrets(ctx, c.Env); err != nil {
		closeAll(c.Files)
		return c, nil, err
	}
	c.Stdin = input != nil
	return c, input, nil
}

// fill fills in the templates.
func (t *command) fill(c *child.Command, args map[string]any) (input []byte, err error) {
	values, err := t.values(args)
	if err != nil {
		return nil, err
	}
	if c.Files, err = t.inFolder(values); err != nil {
		return nil, err
	}
	c.Argv, input, err = t.filled(args, values)
	return input, err
}

// filled returns a command and its input with values in place of the placeholders.
func (t *command) filled(args map[string]any, values map[string]string) (argv []string, input []byte, err error) {
	if argv, err = t.argv(values); err != nil {
		return nil, nil, err
	}
	if t.config.StdinArgs {
		input, err = json.Marshal(t.completed(args, values))
		return argv, input, err
	}
	if len(t.stdin) == 0 {
		return argv, nil, nil
	}
	s, _, ok := t.stdin.render(values)
	if !ok {
		return argv, nil, nil // nothing to read, as with an element that is left out
	}
	return argv, []byte(s), nil
}

// completed returns the arguments with defaults for missing ones, and with the checked paths
// of files.
func (t *command) completed(args map[string]any, values map[string]string) map[string]any {
	all := make(map[string]any, len(values))
	maps.Copy(all, args)
	for name, value := range values {
		arg := t.config.Args[name]
		if _, given := args[name]; arg.Type == File {
			all[name] = value
		} else if !given {
			all[name] = arg.Default
		}
	}
	return all
}

var (
	errCanceled = errors.New("its call was canceled")
	errUnread   = errors.New("its output is no longer read")
)

// Cancel implements [tool.CancellableTool]. Calls of different tasks may have the same id, so
// callID is "<task id>/<call id>" for a call that belongs to a task. The call id alone only
// reaches such a call once its context has ended, so that it never ends the command of another
// task.
func (t *command) Cancel(callID string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := false
	for id, calls := range t.running {
		for _, r := range calls {
			exact := callID == r.task+"/"+r.call
			if r.task == "" {
				exact = callID == r.call
			}
			if exact || callID == id && r.ctx.Err() != nil {
				found = true
				r.cancel(errCanceled)
			}
		}
	}
	return found
}

// SupportsCancellation implements [tool.CancellableTool].
func (t *command) SupportsCancellation() bool { return true }

// register returns the context of a running command, which ends with its call, when its
// time is up, and when it is canceled.
func (t *command) register(ctx tool.Context) (_ context.Context, unregister func()) {
	within, cancel := context.WithCancelCause(ctx)
	untime := context.CancelFunc(func() {})
	limited := within
	if limit := t.config.Timeout; limit > 0 {
		limited, untime = context.WithTimeoutCause(within, limit, fmt.Errorf("it took longer than %v", limit))
	}
	r := &running{task: ctx.TaskID(), call: ctx.FunctionCallID(), ctx: ctx, cancel: cancel}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running[r.call] = append(t.running[r.call], r)
	return limited, func() {
		untime()
		cancel(nil)
		t.mu.Lock()
		defer t.mu.Unlock()
		left := slices.DeleteFunc(t.running[r.call], func(other *running) bool { return other == r })
		if t.running[r.call] = left; len(left) == 0 {
			delete(t.running, r.call)
		}
	}
}

var _ interface {
	tool.StreamingTool
	tool.CancellableTool
	tool.Timed
	tool.Gater
	tool.Annotated
} = (*command)(nil)
