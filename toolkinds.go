package a2aserver

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
)

// command makes the tool of an entry of the kind command.
func (w *workshop) command(e *entry) (key string, err error) {
	c := &e.config
	args, err := commandArgs(c)
	if err != nil {
		return "args", err
	}
	out := commandtool.Config{
		Name: c.Name, Description: c.Description, Run: c.Argv, Args: args, Dir: c.Dir, Stdin: c.Stdin,
		Env: environment(w.env, c.Env), Secrets: map[string]func(context.Context) (string, error){},
		Timeout: c.Timeout, Output: commandtool.Output{Max: int(c.Output.Max)}, Approve: w.approval(c),
	}
	if c.Output.As == "bytes" {
		out.Output.As = commandtool.Bytes
	}
	for name, v := range c.Env {
		if v.Secret != "" {
			out.Secrets[name] = w.secrets.reader(v.Secret)
		} else {
			out.Env[name] = v.Text
		}
	}
	t, err := commandtool.New(out)
	if err != nil {
		return "run", err
	}
	e.made = tool.NewToolset(e.name(), t)
	return "", nil
}

// commandArgs returns the arguments of a command. Of JSON Schema they have what a text on a
// command line can have; there are two more types of keywords, for files.
func commandArgs(c *config.Tool) (map[string]commandtool.Arg, error) {
	args := map[string]commandtool.Arg{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Args)) {
		raw, err := json.Marshal(c.Args[name])
		if err != nil {
			return nil, err
		}
		var a struct {
			Type        commandtool.Type `json:"type"`
			Description string           `json:"description"`
			Enum        []any            `json:"enum"`
			Pattern     string           `json:"pattern"`
			MaxLength   int              `json:"maxLength"`
			Minimum     *float64         `json:"minimum"`
			Maximum     *float64         `json:"maximum"`
			Default     any              `json:"default"`
			Open        bool             `json:"open"`
			Missing     bool             `json:"missing"`
		}
		known := []string{"type", "description", "enum", "pattern", "maxLength", "minimum", "maximum", "default", "open", "missing"}
		keywords, _ := c.Args[name].(map[string]any)
		for keyword := range keywords {
			if !slices.Contains(known, keyword) {
				errs = append(errs, fmt.Errorf("%s: %q is not known for arguments of a command; known are %s", name, keyword, strings.Join(known, ", ")))
			}
		}
		if err := json.Unmarshal(raw, &a); err != nil {
			var wrong *json.UnmarshalTypeError
			if errors.As(err, &wrong) {
				err = fmt.Errorf("%s cannot be a %s", wrong.Field, wrong.Value)
			}
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		args[name] = commandtool.Arg{
			Type: a.Type, Description: a.Description, Enum: a.Enum, Pattern: a.Pattern, MaxLength: a.MaxLength, Minimum: a.Minimum, Maximum: a.Maximum,
			Default: a.Default, Open: a.Open, MayBeMissing: a.Missing, Optional: slices.Contains(c.Optional, name),
		}
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
		Parameters: parameters(c), Secrets: func(_ context.Context, name string) (string, error) { return w.secrets.read(name) },
		Result: c.Result, Approve: w.approval(c), Timeout: c.Timeout, Client: client,
	})
	if err != nil {
		return "request", err
	}
	e.made = tool.NewToolset(e.name(), t)
	return "", nil
}

func (w *workshop) httpClient(c *config.Tool) (*httptool.Client, error) {
	return httptool.NewClient(httptool.ClientConfig{Allow: c.Networks, Own: w.own})
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

// mcp and openapi have no tools yet: their entries are refused.
func (w *workshop) mcp(*entry) (key string, err error) {
	return "mcp", errors.New("tools of the kind mcp come later; remove the entry")
}

func (w *workshop) openapi(*entry) (key string, err error) {
	return "openapi", errors.New("tools of the kind openapi come later; remove the entry")
}
