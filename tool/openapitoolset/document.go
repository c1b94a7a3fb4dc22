package openapitoolset

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"

	"a2a-server/internal/privatefile"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/visible"
)

// maxSpec is the maximum size of a document, in bytes. It only bounds the cost of reading it:
// GitHub's has 13 MiB. Only the selected operations are kept.
const maxSpec = 64 << 20

// document is an OpenAPI document as a JSON value.
type document struct {
	root    value
	version string // 3.0.x or 3.1.x
}

func (d *document) is30() bool { return strings.HasPrefix(d.version, "3.0.") }

// value is a value in a document, and where it is.
type value struct {
	v  any
	at string // JSON Pointer
}

func (v value) below(name string) string { return v.at + "/" + strictjson.EscapePointer(name) }

// member returns a member of an object, nil if it is missing, or if the value is no object.
func (v value) member(name string) value {
	m, _ := v.v.(map[string]any)
	return value{m[name], v.below(name)}
}

// object returns the value as an object. what is its name in OpenAPI.
func (v value) object(what string) (map[string]any, error) {
	m, ok := v.v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: %s is %s; it must be an object", quote(v.at), what, kindOf(v.v))
	}
	return m, nil
}

// list returns the elements of an array, none for a missing value.
func (v value) list(what string) ([]value, error) {
	l, ok := v.v.([]any)
	if !ok && v.v != nil {
		return nil, fmt.Errorf("%s: %s is %s; it must be an array", quote(v.at), what, kindOf(v.v))
	}
	all := make([]value, len(l))
	for i, element := range l {
		all[i] = value{element, fmt.Sprintf("%s/%d", v.at, i)}
	}
	return all, nil
}

// text returns a member that is a string, "" if it is missing.
func (v value) text(name string) (string, error) {
	member := v.member(name)
	s, ok := member.v.(string)
	if !ok && member.v != nil {
		return "", fmt.Errorf("%s: it is %s; it must be a string", quote(member.at), kindOf(member.v))
	}
	return s, nil
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

func quote(pointer string) string {
	if pointer == "" {
		return "the document"
	}
	return visible.Clip(pointer, 300)
}

// read returns the bytes of a document.
func read(c *Config) ([]byte, error) {
	if (c.Spec == nil) == (c.Path == "") {
		return nil, errors.New("spec: give either the document or the path of its file")
	}
	raw := c.Spec
	if c.Path != "" {
		var err error
		if raw, err = privatefile.ReadAny(c.Path, maxSpec); err != nil {
			return nil, fmt.Errorf("spec: %w", err)
		}
	}
	if len(raw) > maxSpec {
		return nil, fmt.Errorf("spec: it is larger than %d MiB; remove paths that are not used", maxSpec>>20)
	}
	return raw, nil
}

// parse reads a document in JSON or YAML.
func parse(raw []byte) (*document, error) {
	var v any
	var err error
	if begins := bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))); len(begins) > 0 && begins[0] == '{' {
		v, err = parseJSON(begins)
	} else {
		v, err = parseYAML(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	root, err := value{v, ""}.object("an OpenAPI document")
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	d := &document{root: value{root, ""}}
	d.version, _ = root["openapi"].(string)
	switch {
	case root["swagger"] != nil:
		return nil, errors.New("spec: it is in the format Swagger 2.0; convert it to OpenAPI 3")
	case root["openapi"] == nil:
		return nil, errors.New(`spec: it is not an OpenAPI document: "openapi" with the version is missing`)
	case !d.is30() && !strings.HasPrefix(d.version, "3.1."):
		return nil, fmt.Errorf("spec: the version of OpenAPI is %s; only 3.0 and 3.1 can be read", visible.Quote(fmt.Sprint(root["openapi"]), 40))
	}
	if dialect, has := root["jsonSchemaDialect"]; has && !isKnownDialect(dialect) {
		return nil, fmt.Errorf("spec: /jsonSchemaDialect: %s cannot be read; only JSON Schema 2020-12 can", visible.Quote(fmt.Sprint(dialect), 200))
	}
	return d, nil
}

func isKnownDialect(dialect any) bool {
	s, _ := dialect.(string)
	return strings.HasPrefix(s, "https://spec.openapis.org/oas/3.1/dialect/") || s == "https://json-schema.org/draft/2020-12/schema"
}

// parseJSON decodes JSON. Numbers stay as they are written. Duplicate keys, which readers understand differently,
// are refused.
func parseJSON(raw []byte) (any, error) {
	v, more, err := strictjson.Numbers(raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("it is not JSON: %w", err)
	case more:
		return nil, errors.New("unexpected second value after the first; remove it: a file has one document")
	}
	if name, at, twice := strictjson.Duplicate(raw); twice {
		return nil, fmt.Errorf("at byte %d: duplicate key %s; remove the second", at, visible.Quote(name, 80))
	}
	return v, nil
}

// parseYAML decodes YAML that has only a single meaning.
func parseYAML(raw []byte) (any, error) {
	r := &strictyaml.Report{}
	root, ok := r.Parse(raw)
	var v any
	if ok {
		v = root.JSON()
	}
	problems := r.Problems()
	if len(problems) == 0 {
		return v, nil
	}
	var errs []error
	for _, p := range problems[:min(len(problems), 5)] {
		where := "line " + strconv.Itoa(p.Line)
		if p.Key != "" {
			where += ": " + visible.Clip(p.Key, 200)
		}
		errs = append(errs, fmt.Errorf("%s: %s", where, p.Problem))
	}
	if more := len(problems) - len(errs); more > 0 {
		errs = append(errs, fmt.Errorf("and %d more problems", more))
	}
	return nil, errors.Join(errs...)
}

// resolved is [document.resolve] for an object.
func (d *document) resolved(v value, what string) (value, error) {
	v, err := d.resolve(v)
	if err != nil {
		return v, err
	}
	_, err = v.object(what)
	return v, err
}

// maxReferences is how many references may follow each other.
const maxReferences = 32

// resolve follows the references of v within the document, if v is a reference.
func (d *document) resolve(v value) (value, error) {
	for range maxReferences {
		m, ok := v.v.(map[string]any)
		if !ok {
			return v, nil
		}
		ref, has := m["$ref"]
		if !has {
			return v, nil
		}
		target, err := d.target(ref, v.at)
		if err != nil {
			return v, err
		}
		v = target
	}
	return v, fmt.Errorf("%s: its references lead in a circle, or more than %d follow each other", quote(v.at), maxReferences)
}

// target returns the value that a reference at the pointer from names.
func (d *document) target(ref any, from string) (value, error) {
	s, ok := ref.(string)
	if !ok {
		return value{}, fmt.Errorf("%s/$ref: it is %s; it must be a string", quote(from), kindOf(ref))
	}
	fragment, local := strings.CutPrefix(s, "#")
	if !local {
		return value{}, fmt.Errorf("%s/$ref: %s is outside the document, and nothing else is loaded; put all into one document, as bundlers do", quote(from), visible.Quote(s, 200))
	}
	at, err := url.PathUnescape(fragment)
	var pointer jsonpointer.Pointer
	if err == nil {
		pointer, err = jsonpointer.New(at)
	}
	if err != nil {
		return value{}, fmt.Errorf("%s/$ref: %s is not a place in the document; write one such as #/components/schemas/Pet", quote(from), visible.Quote(s, 200))
	}
	v, _, err := pointer.Get(d.root.v)
	if err != nil {
		return value{}, fmt.Errorf("%s/$ref: the document has nothing at %s", quote(from), visible.Quote(s, 200))
	}
	return value{v, at}, nil
}
