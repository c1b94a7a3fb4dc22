package commandtool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// Config configures a tool. It has either Run or Free.
type Config struct {
	Name        string // required
	Description string // tells a model, or a person, the purpose of the tool

	// Run is the command and its arguments. {name} stands for the argument of a call with that
	// name, which must be in Args; {{name}} is {name} itself. Any other brace is only a brace.
	// An element whose placeholder the call leaves out is left out too. The first element, the
	// program, has no placeholders: it is an absolute path, a path relative to Dir (with a
	// slash), or a name, which is looked up in the PATH of Env.
	Run []string
	// Args are the arguments of a call. Each has to be used, in Run or in Stdin.
	Args map[string]Arg
	// Free makes a tool whose calls name the command themselves.
	Free *Free

	// Dir is the working folder, in which file arguments must be. Defaults to the server's
	// own; tools with file arguments must set it.
	Dir string
	// Env is the environment, together with Secrets all there is. A command usually needs
	// at least PATH.
	Env map[string]string
	// Secrets are more of the environment. Each is read when a command starts.
	Secrets map[string]func(context.Context) (string, error)
	// Identity is a further text that identifies the command, such as the names of its secrets
	// and its environment's values that are not confidential. An approval is bound to it, and
	// to everything else here except the values of the environment.
	Identity string
	// Stdin is the input of the command, with placeholders as in Run. Defaults to nothing.
	Stdin string

	// Timeout is how long the command may run. Defaults to the server's limit for tools.
	Timeout time.Duration
	// Grace is how long a command that was told to end (SIGTERM) may take before it is
	// killed, with all processes of its group. Defaults to 2 s; the server
	// waits for 5 s.
	Grace  time.Duration
	Output Output

	// Approve says whether every call has to be approved. Nil: it has to be.
	Approve     *bool
	Annotations tool.Annotations
}

// Output says how output is published.
type Output struct {
	// Max is how many bytes are published. Output beyond it is read and counted, and the
	// command continues. Defaults to 1 MiB.
	Max int
	// Bytes publishes the output so far, such as half a line; output that comes quickly in larger
	// chunks. Else chunks are whole lines, except for lines of more than 16 KiB.
	Bytes bool
}

const (
	defaultMax   = 1 << 20
	defaultGrace = 2 * time.Second
)

// New returns a tool that runs commands. It has a time limit, a gate and annotations. Nothing is started or looked up: a program that is
// not installed is an error of each call, and of its method Startable() error.
func New(c Config) (tool.StreamingTool, error) {
	t, err := build(c)
	if err != nil {
		return nil, fmt.Errorf("make command tool %s: %w", visible.Quote(c.Name, maxShown), err)
	}
	return t, nil
}

func build(c Config) (*command, error) {
	switch {
	case c.Name == "":
		return nil, errors.New("it needs a name")
	case (len(c.Run) == 0) == (c.Free == nil):
		return nil, errors.New("it needs either a command to run, or a list of commands that calls may name, and not both")
	case c.Timeout < 0 || c.Grace < 0 || c.Output.Max < 0:
		return nil, errors.New("the timeout, the grace period and the maximum of the output cannot be negative")
	}
	if err := checkEnv(&c); err != nil {
		return nil, err
	}
	c.Grace, c.Output.Max = cmp.Or(c.Grace, defaultGrace), cmp.Or(c.Output.Max, defaultMax)
	c.Run, c.Args, c.Env, c.Secrets = slices.Clone(c.Run), maps.Clone(c.Args), maps.Clone(c.Env), maps.Clone(c.Secrets)
	t := &command{config: c}
	var err error
	if c.Free != nil {
		t.free, err = newFree(&c)
	} else {
		err = t.parse()
	}
	if err != nil {
		return nil, err
	}
	if t.schema, err = t.newSchema(); err != nil {
		return nil, err
	}
	if t.compiled, err = tool.CompileSchema(t.schema); err != nil {
		return nil, err
	}
	return t, nil
}

func checkEnv(c *Config) error {
	for _, names := range [][]string{slices.Sorted(maps.Keys(c.Env)), slices.Sorted(maps.Keys(c.Secrets))} {
		for _, name := range names {
			if name == "" || strings.ContainsAny(name, "=\x00") {
				return fmt.Errorf("%s is not the name of an environment variable", visible.Quote(name, maxShown))
			}
			if strings.ContainsRune(c.Env[name], 0) {
				return fmt.Errorf("the environment variable %s contains a NUL character", name)
			}
		}
	}
	for name, secret := range c.Secrets {
		if _, twice := c.Env[name]; twice {
			return fmt.Errorf("the environment variable %s has both a value and a secret", name)
		}
		if secret == nil {
			return fmt.Errorf("the secret of the environment variable %s cannot be read: there is no function", name)
		}
	}
	return nil
}

// parse reads the templates of a command.
func (t *command) parse() error {
	c := &t.config
	used := map[string]bool{}
	for i, element := range c.Run {
		parsed, err := parseTemplate(element, c.Args, used)
		if err != nil {
			return fmt.Errorf("element %d of the command: %w", i+1, err)
		}
		if strings.ContainsRune(element, 0) {
			return fmt.Errorf("element %d of the command contains a NUL character", i+1)
		}
		t.run = append(t.run, parsed)
	}
	switch {
	case c.Run[0] == "":
		return errors.New("the name of the program is empty")
	case !t.run[0].fixed():
		return errors.New("the first element of the command is the program, which cannot depend on the call")
	}
	var err error
	if t.stdin, err = parseTemplate(c.Stdin, c.Args, used); err != nil {
		return fmt.Errorf("the input: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Args)) {
		arg := c.Args[name]
		switch {
		case !argumentName.MatchString(name):
			return fmt.Errorf("%s is not a name for an argument: use at most 64 letters, digits, _, - and dots", visible.Quote(name, maxShown))
		case !used[name]:
			return fmt.Errorf("the argument %s is not used: write {%s} in the command or its input, or remove it", name, name)
		case arg.Type == file && c.Dir == "":
			return fmt.Errorf("the argument %s is a file, so the tool needs a folder in which files must be", name)
		}
		if err := arg.check(); err != nil {
			return fmt.Errorf("the argument %s: %w", name, err)
		}
	}
	return nil
}
