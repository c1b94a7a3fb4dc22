package httptool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"a2a-server/internal/egress"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// maxShown limits the part of a response body in an error, in characters.
const maxShown = 2 << 10

// maxRefused limits the read part of an error response's body.
const maxRefused = 64 << 10

// answer is the response to a request.
type answer struct {
	tool    *request
	status  int
	header  http.Header
	secrets *secrets
	failed  func(what string, err error) error // the error of an answer that breaks off
}

// read reads the body and returns the result of the call.
func (a *answer) read(body io.Reader) (*tool.Result, error) {
	if a.status < 200 || a.status > 299 {
		// How its body ends does not matter: the status is the answer.
		raw, _ := io.ReadAll(io.LimitReader(body, maxRefused))
		return nil, a.refused(raw)
	}
	raw, err := io.ReadAll(body)
	if _, tooLarge := errors.AsType[*egress.TooLargeError](err); tooLarge {
		return nil, fmt.Errorf("%w: the request was answered with status %d, but the answer is larger than the limit", tool.ErrOutcomeUnknown, a.status)
	}
	if err != nil {
		return nil, a.failed(fmt.Sprintf("the answer, with status %d, breaks off", a.status), err)
	}
	content, err := a.content(raw)
	if err != nil {
		return nil, fmt.Errorf("the request was answered with status %d, so it was carried out, but %w", a.status, err)
	}
	return &tool.Result{Content: content, Metadata: map[string]any{"status": a.status}}, nil
}

// refused returns the error for a status that is not a success.
func (a *answer) refused(raw []byte) error {
	text := fmt.Sprintf("the server answered with status %d", a.status)
	if name := http.StatusText(a.status); name != "" {
		text += " (" + name + ")"
	}
	if a.status < 400 {
		text += "; redirects are not followed"
		if to := a.location(); to != "" {
			text += ": put the address it leads to, " + to + ", into the tool's URL"
		}
	}
	if shown := strings.TrimSpace(a.secrets.redact(strings.ToValidUTF8(string(raw), "\uFFFD"))); shown != "" {
		text += ": " + visible.ClipText(shown, maxShown)
	}
	if a.status == http.StatusBadGateway || a.status == http.StatusGatewayTimeout {
		return fmt.Errorf("%w: %s", tool.ErrOutcomeUnknown, text)
	}
	return errors.New(text)
}

// location returns the target of a redirect, without parts that may be confidential.
func (a *answer) location() string {
	u, err := url.Parse(a.header.Get("Location"))
	if err != nil || u.Path == "" && u.Host == "" {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return visible.Clip(a.secrets.redact(u.String()), maxCause)
}

// content returns the content of a complete answer.
func (a *answer) content(raw []byte) (any, error) {
	if coding := a.header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, fmt.Errorf("its body is encoded as %s, which was not asked for", visible.Quote(coding, 80))
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		if !a.tool.result.IsEmpty() {
			return nil, fmt.Errorf("it is empty, and has no value at %s", quote(a.tool.result))
		}
		return a.empty(), nil
	}
	kind, params, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil {
		kind, params = "", nil
	}
	switch {
	case !a.tool.result.IsEmpty() || kind == "application/json" || strings.HasSuffix(kind, "+json"):
		v, err := decode(raw)
		if err == nil {
			v, err = find(a.tool.result, v)
		}
		if err != nil {
			return nil, fmt.Errorf("%w; it begins with %s", err, visible.Quote(a.secrets.redact(string(raw[:min(len(raw), maxRefused)])), maxShown))
		}
		return a.secrets.redactValue(v), nil
	case isText(kind, params["charset"]) && isReadable(raw):
		return a.secrets.redact(string(raw)), nil
	}
	if kind == "" {
		kind = "application/octet-stream"
	}
	return agent.Part{Raw: []byte(a.secrets.redact(string(raw))), MediaType: kind, Filename: a.filename()}, nil
}

// empty returns the content of an answer without a body.
func (a *answer) empty() map[string]any {
	content := map[string]any{"status": a.status}
	if to := a.location(); to != "" {
		content["location"] = to
	}
	if a.tool.config.Method == http.MethodHead {
		for _, name := range []string{"Content-Type", "Content-Length", "ETag", "Last-Modified"} {
			if v := a.header.Get(name); v != "" {
				content[strings.ToLower(name)] = visible.Clip(a.secrets.redact(v), maxCause)
			}
		}
	}
	return content
}

// filename returns the name that the server gives a file, "" if it gives none that is only
// a name.
func (a *answer) filename() string {
	_, params, err := mime.ParseMediaType(a.header.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	name := path.Base(strings.ReplaceAll(params["filename"], `\`, "/"))
	if len(name) > 255 || name == "." || name == ".." || name == "/" || !utf8.ValidString(name) || visible.Line(name) != name {
		return ""
	}
	return a.secrets.redact(name)
}

// decode decodes JSON. Numbers stay as they are written.
func decode(raw []byte) (any, error) {
	if strictjson.Depth(raw) > strictjson.MaxDepth {
		return nil, fmt.Errorf("its JSON is nested deeper than %d levels", strictjson.MaxDepth)
	}
	v, more, err := strictjson.Numbers(raw)
	switch {
	case err != nil:
		return nil, errors.New("its body is not JSON")
	case more:
		return nil, errors.New("its body has more than one JSON value")
	}
	return v, nil
}

// isText reports whether a media type is text that can be passed on as such.
func isText(kind, charset string) bool {
	if !slices.Contains([]string{"", "utf-8", "utf8", "us-ascii"}, strings.ToLower(charset)) {
		return false
	}
	return slices.Contains([]string{
		"", "application/xml", "application/yaml", "application/x-yaml", "application/javascript",
		"application/x-ndjson", "application/x-www-form-urlencoded", "application/graphql", "application/sql", "application/toml",
	}, kind) || strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml")
}

// isReadable reports whether bytes are text in UTF-8.
func isReadable(raw []byte) bool { return utf8.Valid(raw) && !bytes.ContainsRune(raw, 0) }
