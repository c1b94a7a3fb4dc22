package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"a2a-server/internal/app/config"
	"a2a-server/internal/strictjson"
	"a2a-server/tool"
	"a2a-server/tool/approvaltool"
	"a2a-server/tool/builtin"
	"a2a-server/tool/commandtool"
	"a2a-server/tool/httptool"
	"a2a-server/tool/mcptoolset"
	"a2a-server/tool/openapitoolset"
)

// command makes the tool of an entry of the kind command.
func (w *workshop) command(e *entry) (key string, err error) {
	c := &e.config
	args, err := commandArgs(c)
	if err != nil {
		return "args", err
	}
	env, secrets := w.environment(c.Env)
	out := commandtool.Config{
		Name: c.Name, Description: c.Description, Run: c.Argv, Args: args, Dir: c.Dir, Stdin: c.Stdin,
		Env: env, Secrets: map[string]func(context.Context) (string, error){},
		Timeout: c.Timeout, Output: commandtool.Output{Max: int(c.Output.Max)}, Approve: w.approval(c),
	}
	// The variables of every command are left out: another PATH or LANG of the server does not
	// ask for approval again.
	identity, err := json.Marshal(c.Env)
	if err != nil {
		return "env", err
	}
	out.Identity = string(identity)
	if c.Output.As == "bytes" {
		out.Output.As = commandtool.Bytes
	}
	for name, secret := range secrets {
		out.Secrets[name] = func(context.Context) (string, error) { return w.secrets.read(secret) }
	}
	t, err := commandtool.New(out)
	if err != nil {
		return "run", err
	}
	e.made = tool.NewToolset(e.name(), t)
	e.program, _ = t.(startable)
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

// http makes the tool of an entry of the kind http.
func (w *workshop) http(e *entry) (key string, err error) {
	c := &e.config
	client, err := w.httpClient(c)
	if err != nil {
		return "networks", err
	}
	method, url, _ := strings.Cut(c.Request, " ")
	t, err := httptool.New(httptool.Config{
		Name: c.Name, Description: c.Description, Method: method, URL: url, Header: c.Header, JSON: strictjson.Clone(c.Body), Form: c.Form,
		Parameters: parameters(c), Secrets: w.secrets.named,
		Result: c.Result, Approve: w.approval(c), Timeout: c.Timeout, Client: client,
	})
	if err != nil {
		return "request", err
	}
	e.made = tool.NewToolset(e.name(), t)
	return "", nil
}

func (w *workshop) httpClient(c *config.Tool) (*httptool.Client, error) {
	return httptool.NewClient(httptool.ClientConfig{Allow: c.Networks, Own: w.own, Log: w.log})
}

// builtin makes the tools of an entry of the kind builtin.
func (w *workshop) builtin(e *entry) (key string, err error) {
	var tools []tool.Tool
	var t tool.Tool
	switch e.config.Name {
	case "demo":
		var set tool.Toolset
		if set, err = builtin.New(builtin.Config{Ledger: ledger(w.conf)}); err == nil {
			tools, err = set.Tools(nil)
		}
	case approvaltool.AskUserName:
		t, err = approvaltool.NewAskUser()
		tools = []tool.Tool{t}
	case approvaltool.RequestName:
		t, err = approvaltool.NewRequest()
		tools = []tool.Tool{t}
	default:
		err = fmt.Errorf("there is no built-in tool %s", e.config.Name)
	}
	if err != nil {
		return "builtin", err
	}
	e.made = tool.NewToolset(e.name(), tools...)
	return "", nil
}

// mcp makes the toolset of an entry of the kind mcp. It does not connect.
func (w *workshop) mcp(e *entry) (key string, err error) {
	c := &e.config
	out := mcptoolset.Config{
		Name: e.name(), Prefix: c.Name + "_", Only: c.Only, Trust: c.Trust, Pins: c.Pins, Elicit: mcptoolset.Elicit(c.Elicit), Protocol: mcptoolset.Protocol(c.Protocol),
		CallTimeout: c.Timeout, Logger: w.log,
	}
	identity, err := json.Marshal([]any{c.Env, c.Header})
	if err != nil {
		return "env", err
	}
	out.Identity = string(identity)
	switch {
	case !c.Approve.Given: // see gated
	case c.Approve.All:
		out.Approve = mcptoolset.All()
	default:
		out.Approve = mcptoolset.Named(c.Approve.Names...)
	}
	if c.URL != "" {
		key = "url"
		out.HTTP = &mcptoolset.HTTP{URL: c.URL, Header: map[string]func() (string, error){}, Allow: c.Networks, Own: w.own}
		for name, template := range c.Header {
			out.HTTP.Header[name] = w.secrets.filled(template)
		}
	} else {
		key = "command"
		out.Command = &mcptoolset.Command{Argv: c.Argv, Dir: c.Dir, Secrets: map[string]func() (string, error){}}
		env, secrets := w.environment(c.Env)
		for name, secret := range secrets {
			out.Command.Secrets[name] = func() (string, error) { return w.secrets.read(secret) }
		}
		for _, name := range slices.Sorted(maps.Keys(env)) {
			out.Command.Env = append(out.Command.Env, name+"="+env[name])
		}
	}
	out.CacheFile = w.cacheFile(c)
	set, err := mcptoolset.New(out)
	if err != nil {
		return key, err
	}
	e.made, e.server, e.program = set, mcpServer{set}, set
	return "", nil
}

// mcpServer is an MCP server that is in use.
type mcpServer struct{ *mcptoolset.Toolset }

func (s mcpServer) Busy() bool { return s.Status().Calls > 0 }

// openapi makes the tools of an entry of the kind openapi.
func (w *workshop) openapi(e *entry) (key string, err error) {
	c := &e.config
	client, err := w.httpClient(c)
	if err != nil {
		return "networks", err
	}
	out := openapitoolset.Config{
		Name: e.name(), Prefix: c.Name + "_", Path: c.Spec, Server: c.URL, Only: c.Only, Header: c.Header, Timeout: c.Timeout, Client: client,
		Secrets: w.secrets.named,
	}
	switch {
	case c.Approve.Given && c.Approve.All:
		out.Approve = openapitoolset.ApproveAll()
	case c.Approve.Given && len(c.Approve.Names) > 0:
		out.Approve = openapitoolset.ApproveNamed(c.Approve.Names...)
	case c.Approve.Given:
		out.Approve = openapitoolset.ApproveNone()
	}
	exempts := !c.Approve.Given && len(w.conf.NoApproveTools) > 0
	if exempts {
		out.Approve = openapitoolset.ApproveNone()
	}
	if e.made, e.problems, err = openapitoolset.New(out); err != nil || !exempts {
		return "spec", err
	}
	// Tools that no_approve_tools names go without their default, and other tools keep it.
	tools, err := e.made.Tools(nil)
	if err != nil {
		return "spec", err
	}
	asks := map[string]bool{}
	for _, t := range tools {
		asks[t.Name()] = !tool.AnnotationsOf(t).ReadOnly && !w.conf.Exempt(t.Name())
	}
	e.made = tool.WithConfirmation(e.made, tool.ConfirmMatching(func(name string) bool {
		ask, known := asks[name]
		return ask || !known
	}))
	return "", nil
}
