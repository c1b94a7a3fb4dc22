package httptool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-openapi/jsonpointer"

	"a2a-server/internal/visible"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// defaultTimeout is the default of [Config].Timeout.
const defaultTimeout = 30 * time.Second

// Config is a request with placeholders, and the tool's declarations. The package comment
// describes the templates.
type Config struct {
	Name        string // required; letters, digits, _ and -, at most 64
	Description string // for models and people

	// Method is GET, HEAD, POST, PUT, PATCH or DELETE. Required.
	Method string
	// URL is absolute. Its scheme is https or http. Required.
	URL string
	// Header has the values of the request's headers by name.
	Header map[string]string
	// JSON is a value of JSON with templates as its strings. At most one of JSON, Form and Fields
	// is the body.
	JSON any
	// Form has the values of the parameters of an application/x-www-form-urlencoded body.
	Form map[string]string
	// Fields is a form with the members of an argument as its fields.
	Fields *Fields

	// Parameters is the JSON Schema of the arguments, an object with properties. Names
	// that it does not list are refused unless it has additionalProperties. Each property
	// must have a placeholder. It must not be changed afterwards. Defaults to a required
	// string for each placeholder.
	Parameters map[string]any
	// Secrets returns the value of a secret, each time that a request needs it. Its error
	// is shown to the caller of the tool, so it must contain neither the value nor where
	// it is. Required if a header has a secret.
	Secrets func(ctx context.Context, name string) (string, error)

	// Result is a JSON Pointer (RFC 6901) into the answer. Defaults to the whole answer.
	Result string
	// Approve says whether each call must be approved. Defaults to true unless Method is
	// GET or HEAD.
	Approve *bool
	// Timeout bounds a call, from resolving the host to the end of the answer. Defaults to
	// 30 s.
	Timeout time.Duration
	// Client sends the requests. Defaults to a new client that allows only the public
	// internet.
	Client *Client
}

// request is the tool.
type request struct {
	config     Config
	approve    bool
	parameters map[string]any
	schema     *tool.Schema
	url        *urlTemplate
	headers    []header
	body       body
	result     jsonpointer.Pointer
}

// toolName matches valid names of tools.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// New returns a tool for c. The error lists all problems of c.
//
// The tool yields a single result: the response as a JSON value, as a string if it is text, or
// as an [agent.Part] with a file. A response without a body is an object with its status. It
// is a streaming tool only because streaming tools can return text and files.
func New(c Config) (tool.StreamingTool, error) {
	t := &request{config: c, approve: !isSafe(c.Method)}
	d := newDeclared(c.Parameters)
	t.declare(d)
	t.parse(d)
	t.setParameters(d)
	t.check(d)
	if t.config.Client == nil {
		var err error
		if t.config.Client, err = NewClient(ClientConfig{}); err != nil {
			d.problems = append(d.problems, err)
		}
	}
	if len(d.problems) > 0 {
		return nil, fmt.Errorf("http tool %q: %w", c.Name, errors.Join(d.problems...))
	}
	return t, nil
}

// declare sets everything that does not depend on the templates.
func (t *request) declare(d *declared) {
	c := &t.config
	if !toolName.MatchString(c.Name) {
		d.problem("name: %s is not the name of a tool; write 1 to 64 letters, digits, _ and -", visible.Quote(c.Name, 80))
	}
	switch c.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		d.problem("method: %s is not one of GET, HEAD, POST, PUT, PATCH and DELETE", visible.Quote(c.Method, 80))
	}
	if c.Approve != nil {
		t.approve = *c.Approve
	}
	if c.Timeout < 0 {
		d.problem("timeout: %s is out of range; write a duration such as 30s", c.Timeout)
	}
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	var err error
	if t.result, err = parsePointer(c.Result); err != nil {
		d.problem("result: %w", err)
	}
}

// setParameters sets the schema of the arguments.
func (t *request) setParameters(d *declared) {
	schema := maps.Clone(t.config.Parameters)
	if schema == nil {
		schema = d.strings()
	}
	if kind, has := schema["type"]; has && kind != "object" {
		d.problem("parameters: type is %v; it must be object", kind)
	}
	schema["type"] = "object"
	if _, has := schema["additionalProperties"]; !has {
		schema["additionalProperties"] = false
	}
	// The definition of the tool, which an approval is bound to, thereby includes the request.
	// It is hidden in a digest, because addresses are not the model's business.
	schema["$comment"] = "request " + t.digest()
	var err error
	if t.schema, err = tool.CompileSchema(schema); err != nil {
		d.problem("parameters: %w", err)
	}
	t.parameters = schema
}

// digest returns the digest of the request's templates. They name secrets, but do not
// contain them.
func (t *request) digest() string {
	c := &t.config
	raw, err := json.Marshal([]any{c.Method, c.URL, c.Header, c.JSON, c.Form, c.Fields})
	if err != nil {
		return "" // the body is no JSON, which is reported when it is parsed
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// parse parses the templates.
func (t *request) parse(d *declared) {
	c := &t.config
	t.url = parseURL(c.URL, d)
	t.headers = parseHeaders(c.Header, d)
	t.body = parseBody(c, d)
	if t.body != nil && isSafe(c.Method) {
		d.problem("body: a request with %s has none; use another method, or put the arguments into the query", c.Method)
	}
}

// check returns the mistakes in the templates together.
func (t *request) check(d *declared) {
	c := &t.config
	for _, name := range slices.Sorted(maps.Keys(d.properties)) {
		if !d.used[name] {
			d.problem("parameters: argument %q is used nowhere; write {%[1]s} where it belongs, or remove it", name)
		}
	}
	if len(d.secrets) > 0 && c.Secrets == nil {
		d.problem("header: {secret:%s} needs secrets, and none are configured", slices.Sorted(maps.Keys(d.secrets))[0])
	}
}

func (t *request) Name() string           { return t.config.Name }
func (t *request) Description() string    { return t.config.Description }
func (t *request) IsLongRunning() bool    { return false }
func (t *request) RequiresApproval() bool { return t.approve }
func (t *request) Schema() map[string]any { return t.parameters }

// Annotations implements [tool.Annotated]. No method counts as idempotent, although PUT and DELETE
// should be (RFC 9110 §9.2.2): only the server's operator knows.
func (t *request) Annotations() tool.Annotations {
	m := t.config.Method
	return tool.Annotations{ReadOnly: isSafe(m), Destructive: m == http.MethodPut || m == http.MethodDelete}
}

// Timeout implements [tool.Timed]. It leaves the tool time to report the outcome itself.
func (t *request) Timeout() time.Duration { return t.config.Timeout + 5*time.Second }

// maxHint bounds the URL, the headers and the body that an approver sees, in characters each.
// The arguments are shown beside them, whole.
const maxHint = 500

// Hint implements [tool.Hinter]. It shows an approver the request as it would be sent.
func (t *request) Hint(_ agent.ReadonlyContext, args map[string]any) (string, error) {
	u, err := t.url.expand(args)
	if err != nil {
		return "", err
	}
	hint := visible.Clip(t.config.Method+" "+u.String(), maxHint)
	headers, err := t.headerHint(args)
	if err != nil {
		return "", err
	}
	body, err := t.bodyHint(args)
	if err != nil {
		return "", err
	}
	mask := tool.Masked{}.String()
	return strings.ReplaceAll(hint+headers+body, Escape(mask), mask), nil
}

// headerHint shows the configured headers, with the names of secrets.
func (t *request) headerHint(args map[string]any) (string, error) {
	byName := &secrets{resolve: func(_ context.Context, name string) (string, error) {
		return "{secret:" + name + "}", nil
	}}
	set := http.Header{}
	if err := expandHeaders(t.headers, args, byName, set); err != nil {
		return "", err
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		lines = append(lines, name+": "+set.Get(name))
	}
	if len(lines) == 0 {
		return "", nil
	}
	return " with the headers " + visible.Clip(strings.Join(lines, ", "), maxHint), nil
}

// bodyHint shows the body.
func (t *request) bodyHint(args map[string]any) (string, error) {
	if t.body == nil {
		return "", nil
	}
	data, _, err := t.body(args)
	if err != nil || data == nil {
		return "", err
	}
	if f := t.config.Fields; f != nil && f.Multipart {
		fields, err := json.Marshal(args[f.Argument])
		return " with the fields " + visible.Clip(string(fields), maxHint) + " as multipart/form-data", err
	}
	return " with the body " + visible.Clip(string(data), maxHint), nil
}

// CallStreaming implements [tool.StreamingTool].
func (t *request) CallStreaming(ctx tool.Context, args map[string]any) iter.Seq2[*tool.Result, error] {
	return func(yield func(*tool.Result, error) bool) { yield(t.call(ctx, args)) }
}
