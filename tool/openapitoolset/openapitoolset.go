package openapitoolset

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"a2a-server/internal/suggest"
	"a2a-server/internal/visible"
	"a2a-server/tool"
	"a2a-server/tool/httptool"
)

// Config says which operations of a document become tools.
type Config struct {
	Name string // of the toolset, for messages to people. Required.

	// Spec is the document, in JSON or YAML. Either Spec or Path is required.
	Spec []byte
	// Path is the path of a file with the document. It is read once.
	Path string
	// Server is the absolute URL before the paths of operations, such as
	// https://api.example/v1. Defaults to the only server of the document, if that is
	// absolute and has no variables.
	Server string
	// Only lists the operations by operationId or, for an operation without it, by the name of
	// its tool. Required; "*" is all of them.
	Only []string
	// Prefix is put before the names of tools. Defaults to none.
	Prefix string

	// Approve lists the operations that must be approved, named as in Only; "*" is all of them,
	// and an empty list none. Defaults to all except GET and HEAD.
	Approve []string

	// Header has values of headers for all requests, with {secret:name} for secrets; see
	// [httptool.Config].
	Header map[string]string
	// Secrets returns the values of secrets; see [httptool.Config].
	Secrets func(ctx context.Context, name string) (string, error)
	// Timeout bounds each call. Defaults to 30 s.
	Timeout time.Duration
	// Client sends the requests; see [httptool.Config].
	Client *httptool.Client
}

// approve returns [httptool.Config].Approve for an operation.
func (c *Config) approve(o *operation) *bool {
	if c.Approve == nil {
		return nil
	}
	must := slices.Contains(c.Approve, "*") || slices.Contains(c.Approve, o.name)
	return &must
}

// The limits of a selection.
const (
	maxTools    = 2000     // operations of a toolset
	maxSelected = 16 << 20 // bytes of the JSON Schemas of their arguments
)

// New returns the tools of the operations that c lists, in the order of paths and methods. It
// reads the document once: the toolset never changes. Each problem names a selected operation
// that is not offered, the reason, and its place in the document. The error lists everything
// else that is wrong with c or the document.
func New(c Config) (set tool.Toolset, problems []string, err error) {
	set, problems, err = build(&c)
	if err != nil {
		return nil, nil, fmt.Errorf("openapi %s: %w", visible.Quote(c.Name, 80), err)
	}
	return set, problems, nil
}

func build(c *Config) (_ tool.Toolset, problems []string, err error) {
	if c.Name == "" {
		return nil, nil, errors.New("name: it is missing")
	}
	raw, err := read(c)
	if err != nil {
		return nil, nil, err
	}
	d, err := parse(raw)
	if err != nil {
		return nil, nil, err
	}
	server, err := d.server(c.Server)
	if err != nil {
		return nil, nil, err
	}
	operations, problems, err := d.selected(c)
	if err != nil {
		return nil, nil, err
	}
	if err := c.check(server); err != nil {
		return nil, nil, err
	}
	byName := map[string][]*operation{}
	for _, o := range operations {
		name := c.toolName(o)
		byName[name] = append(byName[name], o)
	}
	var tools []tool.Tool
	size := 0
	for _, o := range operations {
		name := c.toolName(o)
		t, bytes, err := d.tool(c, o, name, server)
		if same := byName[name]; len(same) > 1 {
			other := same[0]
			if other == o {
				other = same[1]
			}
			err = fmt.Errorf("%s would be the tool %s, too, and neither is; give them different operationIds", other, name)
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s is not offered: %s", o, strings.ReplaceAll(err.Error(), "\n", "; ")))
			continue
		}
		if size += bytes; size > maxSelected {
			return nil, nil, fmt.Errorf("only: the arguments of the operations that it selects have more than %d MiB; select fewer", maxSelected>>20)
		}
		tools = append(tools, t)
	}
	return tool.NewToolset(c.Name, tools...), problems, nil
}

// check reports the faults of the settings that all operations share.
func (c *Config) check(server string) error {
	_, err := httptool.New(httptool.Config{
		Name: "all", Method: http.MethodPost, URL: server, Header: c.Header, Secrets: c.Secrets,
		Timeout: c.Timeout, Client: c.Client,
		Parameters: map[string]any{"properties": map[string]any{}},
	})
	return err
}

// toolName returns the name of the tool of an operation.
func (c *Config) toolName(o *operation) string {
	return shorten(c.Prefix+toolName(o.name), o.name)
}

// server returns the URL before the paths of operations, without a slash at its end.
func (d *document) server(configured string) (string, error) {
	s := configured
	if s == "" {
		servers, err := d.root.member("servers").list("servers")
		if err != nil {
			return "", fmt.Errorf("spec: %w", err)
		}
		if len(servers) != 1 {
			return "", fmt.Errorf("server: it is missing, and the document has %d servers; write the server to use", len(servers))
		}
		if s, err = servers[0].text("url"); err != nil {
			return "", fmt.Errorf("spec: %w", err)
		}
		if !isAbsolute(s) {
			return "", fmt.Errorf("server: it is missing, and the document's own, %s, is not an absolute URL without variables; write the server to use", visible.Quote(s, 200))
		}
	}
	if !isAbsolute(s) {
		return "", errors.New("server: it is not an absolute URL; write one such as https://api.example/v1, without variables, query and user name")
	}
	return strings.TrimRight(s, "/"), nil
}

// isAbsolute reports whether s can be followed by the path of an operation.
func isAbsolute(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && !strings.ContainsAny(s, "{}?#")
}

// selected returns the operations that the configuration lists, and the problems of paths
// that may have some of them.
func (d *document) selected(c *Config) (_ []*operation, problems []string, _ error) {
	all, broken, err := d.operations()
	if err != nil {
		return nil, nil, fmt.Errorf("spec: %w", err)
	}
	if len(c.Only) == 0 {
		return nil, nil, errors.New(`only: it is missing; list the operations to offer, or write "*" for all of them`)
	}
	var names []string
	for _, o := range all {
		names = append(names, o.name)
	}
	chosen := map[string]bool{}
	var errs []error
	for _, name := range c.Only {
		switch {
		case name == "*":
			for _, known := range names {
				chosen[known] = true
			}
			problems = broken
		case slices.Contains(names, name):
			chosen[name] = true
		case len(broken) > 0:
			errs = append(errs, fmt.Errorf("only: %s; it may be in a part that cannot be read: %s", unknown(name, names), broken[0]))
		default:
			errs = append(errs, fmt.Errorf("only: %s", unknown(name, names)))
		}
	}
	operations := slices.DeleteFunc(all, func(o *operation) bool { return !chosen[o.name] })
	if len(operations) > maxTools {
		errs = append(errs, fmt.Errorf("only: it selects %d operations; at most %d are possible", len(operations), maxTools))
	}
	for _, name := range c.Approve {
		if name != "*" && !chosen[name] {
			errs = append(errs, fmt.Errorf("approve: %s", unknown(name, sorted(chosen))))
		}
	}
	if len(errs) == 0 && len(operations) == 0 && len(problems) == 0 {
		errs = append(errs, errors.New("spec: it has no operations"))
	}
	return operations, problems, errors.Join(errs...)
}

func unknown(name string, names []string) string {
	return fmt.Sprintf("unknown operation %s%s", visible.Quote(name, 80), suggest.DidYouMean(name, "", names))
}
