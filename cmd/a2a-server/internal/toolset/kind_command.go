package toolset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/strictjson"
	"a2a-server/tool"
	"a2a-server/tool/commandtool"
)

// buildCommand makes the tool of an entry.
func buildCommand(w *maker, e *entry) (key string, err error) {
	c := &e.config
	args, err := commandArgs(c)
	if err != nil {
		return "args", err
	}
	env, secrets := w.environment(c.Env)
	out := commandtool.Config{
		Name: c.Name, Description: c.Description, Run: c.Run, Args: args, Dir: c.Dir, Stdin: c.Stdin,
		Env: env, Secrets: map[string]func(context.Context) (string, error){},
		Timeout: c.Timeout, Output: commandtool.Output{Max: int(c.OutputMax), Bytes: c.OutputAs == "bytes"}, Approve: w.approval(c),
	}
	// The variables of every command are left out: another PATH or LANG of the server does not
	// ask for approval again.
	out.Identity = identity(c.Env)
	for name, read := range secrets {
		out.Secrets[name] = func(context.Context) (string, error) { return read() }
	}
	t, err := commandtool.New(out)
	if err != nil {
		return "run", err
	}
	e.made = tool.NewToolset(e.name(), t)
	if program, ok := t.(interface{ Startable() error }); ok {
		e.startable, e.programKey = program.Startable, "run"
	}
	return "", nil
}

// commandArgs returns the arguments of a command.
func commandArgs(c *config.Tool) (map[string]commandtool.Arg, error) {
	args := map[string]commandtool.Arg{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Args)) {
		schema, _ := strictjson.Clone(c.Args[name]).(map[string]any)
		a, err := commandtool.ArgFrom(schema)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		a.Optional = slices.Contains(c.Optional, name)
		args[name] = a
	}
	return args, errors.Join(errs...)
}
