package openapitoolset

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"a2a-server/internal/visible"
	"a2a-server/tool"
	"a2a-server/tool/httptool"
)

// operation is an operation of a document.
type operation struct {
	name   string // its operationId, or else made of its method and path
	method string
	path   string
	self   value
	item   value // the path item
}

// String names the operation for messages.
func (o *operation) String() string {
	return fmt.Sprintf("operation %s (%s %s)", visible.Quote(o.name, 80), o.method, visible.Clip(o.path, 200))
}

// methods are the methods of operations that can be tools. OPTIONS and TRACE cannot.
func methods() []string {
	return []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
}

// operations returns the operations of the document in the order of their paths. broken has
// the problems of operations that cannot be read.
func (d *document) operations() (all []*operation, broken []string, err error) {
	paths := d.root.member("paths")
	if paths.v == nil {
		return nil, nil, nil // a document of 3.1 may have webhooks only
	}
	items, err := paths.object("paths")
	if err != nil {
		return nil, nil, err
	}
	for _, path := range sorted(items) {
		if strings.HasPrefix(path, "x-") || items[path] == nil {
			continue
		}
		item, err := d.resolved(paths.member(path), "a path item")
		if err != nil {
			broken = append(broken, err.Error())
			continue
		}
		for _, method := range methods() {
			self := item.member(strings.ToLower(method))
			if self.v == nil {
				continue
			}
			o, err := newOperation(method, path, item, self)
			if err != nil {
				broken = append(broken, err.Error())
				continue
			}
			all = append(all, o)
		}
	}
	return all, broken, nil
}

// newOperation returns the operation self of a path item.
func newOperation(method, path string, item, self value) (*operation, error) {
	if _, err := self.object("an operation"); err != nil {
		return nil, err
	}
	name, err := self.text("operationId")
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = toolName(strings.ToLower(method) + "_" + strings.Trim(notInToolName.ReplaceAllString(path, "_"), "_"))
	}
	return &operation{name: name, method: method, path: path, self: self, item: item}, nil
}

// sorted returns the keys of m in their order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

const maxName = 64

var notInToolName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// toolName returns the name of the tool for an operation's name.
func toolName(name string) string {
	return shorten(notInToolName.ReplaceAllString(name, "_"), name)
}

// argument is an argument of an operation, and where its value belongs.
type argument struct {
	name     string // in the tool
	in       string // path, query, header or body
	wire     string // its name there
	schema   any
	required bool
	suffix   string // of its placeholder in a query: * or []
}

// tool returns the tool of an operation, and how many bytes the schema of its arguments has.
func (d *document) tool(c *Config, o *operation, name, server string) (_ tool.Tool, size int, err error) {
	if err := o.checkServers(server); err != nil {
		return nil, 0, err
	}
	schemas := &converter{doc: d, defs: map[string]any{}, names: map[string]string{}}
	arguments, body, err := d.arguments(c, o, schemas)
	if err != nil {
		return nil, 0, err
	}
	if err := schemas.finish(); err != nil {
		return nil, 0, err
	}
	if err := rename(arguments); err != nil {
		return nil, 0, err
	}
	description, err := o.description()
	if err != nil {
		return nil, 0, err
	}
	h := httptool.Config{
		Name: name, Description: description, Method: o.method,
		Header: maps.Clone(c.Header), Secrets: c.Secrets,
		Approve: c.approve(o), Timeout: c.Timeout, Client: c.Client,
		Parameters: parameters(arguments, schemas.defs),
	}
	if h.Header == nil {
		h.Header = map[string]string{}
	}
	for _, a := range arguments {
		switch a.in {
		case "header":
			h.Header[a.wire] = "{" + a.name + "}"
		case "body":
			if body.fields {
				h.Fields = &httptool.Fields{Argument: a.name, Multipart: body.multipart, Nested: body.nested}
				continue
			}
			h.JSON = "{" + a.name + "}"
			if body.mediaType != "application/json" {
				h.Header["Content-Type"] = body.mediaType
			}
		}
	}
	if h.URL, err = requestURL(server, o.path, arguments); err != nil {
		return nil, 0, err
	}
	if size, err = sizeOf(h.Parameters); err != nil {
		return nil, 0, err
	}
	t, err := httptool.New(h)
	return t, size, err
}

// checkServers refuses an operation with servers of its own, unless server is among them.
func (o *operation) checkServers(server string) error {
	for _, v := range []value{o.self, o.item} {
		servers, err := v.member("servers").list("servers")
		if err != nil {
			return err
		}
		if len(servers) == 0 {
			continue
		}
		if !slices.ContainsFunc(servers, func(one value) bool {
			s, _ := one.text("url")
			return strings.TrimRight(s, "/") == server
		}) {
			return fmt.Errorf("%s: it has servers of its own; select it in a toolset of its own with one of them as server", quote(v.below("servers")))
		}
		return nil // the operation's servers come before its path's
	}
	return nil
}

// description returns the summary and the description of an operation.
func (o *operation) description() (string, error) {
	summary, err := o.self.text("summary")
	if err != nil {
		return "", err
	}
	text, err := o.self.text("description")
	if err != nil {
		return "", err
	}
	if text == summary {
		text = ""
	}
	return clipText(summary + "\n\n" + text), nil
}

// rename gives the arguments names that are unique: the rule is in the package comment.
func rename(arguments []*argument) error {
	count := map[string]int{}
	for _, a := range arguments {
		count[a.name]++
	}
	taken := map[string]*argument{}
	for _, a := range arguments {
		if count[a.name] > 1 && a.in != "body" {
			a.name = a.in + "_" + a.name
			a.name = shorten(a.name, a.name)
		}
		if other := taken[a.name]; other != nil {
			return fmt.Errorf("its parameters %s (%s) and %s (%s) would both be the argument %q", visible.Quote(other.wire, 80), other.in, visible.Quote(a.wire, 80), a.in, a.name)
		}
		taken[a.name] = a
	}
	return nil
}

// argumentName returns the name of the argument for a parameter.
func argumentName(wire string) string {
	name := notInName.ReplaceAllString(wire, "_")
	if name == "" || name[0] == '.' || name[0] == '-' {
		name = "_" + name
	}
	return shorten(name, name)
}

// parameters returns the schema of the arguments.
func parameters(arguments []*argument, defs map[string]any) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, a := range arguments {
		properties[a.name] = a.schema
		if a.required {
			required = append(required, a.name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	if len(defs) > 0 {
		schema["$defs"] = defs
	}
	return schema
}

var pathParameter = regexp.MustCompile(`\{([^{}]*)\}`)

// requestURL returns the template of the URL of a request.
func requestURL(server, path string, arguments []*argument) (string, error) {
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#") {
		return "", fmt.Errorf("%s is not a path; it must begin with /, and have neither ? nor #", visible.Quote(path, 200))
	}
	named := map[string]*argument{}
	var query []string
	for _, a := range arguments {
		switch a.in {
		case "path":
			named[a.wire] = a
		case "query":
			query = append(query, httptool.Escape(a.wire)+"={"+a.name+a.suffix+"}")
		}
	}
	var missing string
	expanded := pathParameter.ReplaceAllStringFunc(path, func(braced string) string {
		wire := braced[1 : len(braced)-1]
		if a := named[wire]; a != nil {
			return "{" + a.name + "}"
		}
		missing = wire
		return ""
	})
	if missing != "" { // such as {name*}, which the library takes for {name}
		return "", fmt.Errorf("the path has {%s}, which is not declared as a parameter in the path", visible.Clip(missing, 80))
	}
	if len(query) > 0 {
		expanded += "?" + strings.Join(query, "&")
	}
	return server + expanded, nil
}
