package openapitoolset

import (
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"a2a-server/internal/visible"
)

// form is how the body of a request is written.
type form struct {
	mediaType string // of JSON
	fields    bool   // the members of the body are the fields of a form
	multipart bool
	nested    []string // fields with a key in brackets for each value in them
}

// bodyArgument returns the argument for the body of a request, and how it is written.
func bodyArgument(body *openapi3.RequestBody, given value, schemas *converter) (*argument, form, error) {
	m, err := given.object("a request body")
	if err != nil {
		return nil, form{}, err
	}
	at := value{m["content"], given.below("content")}
	content, err := at.object("content")
	if err != nil {
		return nil, form{}, err
	}
	kind, how := formOf(sorted(content))
	if kind == "" {
		return nil, how, fmt.Errorf("%s: the body is neither JSON nor a form, but %s", quote(at.at), visible.Clip(strings.Join(sorted(content), ", "), 200))
	}
	media := value{content[kind], at.below(kind)}
	object, err := media.object("a media type")
	if err != nil {
		return nil, how, err
	}
	a := &argument{name: "body", in: "body", schema: true, required: body.Required}
	schema := value{object["schema"], media.below("schema")}
	switch {
	case how.fields:
		a.schema, err = how.fieldsOf(media, object, schema, schemas)
	case schema.v != nil:
		a.schema, err = schemas.convert(schema, 0)
	}
	a.schema = described(a.schema, body.Description)
	return a, how, err
}

// formOf returns the media type to use for a body, and how the body is written; "" if none is
// supported. Any type of JSON comes before forms.
func formOf(kinds []string) (key string, how form) {
	best := 0
	for _, candidate := range kinds {
		kind, params, err := mime.ParseMediaType(candidate)
		if err != nil {
			continue
		}
		rank, made := 0, form{}
		switch {
		case kind == "application/json":
			rank, made.mediaType = 7, kind
		case kind == "application/merge-patch+json":
			rank, made.mediaType = 6, kind
		case kind == "application/json-patch+json":
			// Beside other types in practice: its schema is the same as theirs.
			rank, made.mediaType = 4, kind
		case strings.HasSuffix(kind, "+json"):
			rank, made.mediaType = 5, mime.FormatMediaType(kind, params)
		case kind == "*/*":
			rank, made.mediaType = 3, "application/json"
		case kind == "application/x-www-form-urlencoded":
			rank, made.fields = 2, true
		case kind == "multipart/form-data":
			rank, made.fields, made.multipart = 1, true, true
		}
		if rank > best {
			best, key, how = rank, candidate, made
		}
	}
	return key, how
}

// fieldsOf returns the schema of the object whose members are the fields of a form. Optional
// files are left out.
func (f *form) fieldsOf(media value, object map[string]any, schema value, schemas *converter) (any, error) {
	encodings, err := f.encodings(media, object)
	if err != nil {
		return nil, err
	}
	if schema.v == nil {
		return map[string]any{"type": "object"}, nil
	}
	// The schema itself instead of a reference to it: fields of it may be left out.
	if schema, err = schemas.doc.resolve(schema); err != nil {
		return nil, err
	}
	from, err := schema.object("the schema of a form")
	if err != nil {
		return nil, err
	}
	if kind, has := from["type"]; has && !isType(kind, "object") {
		return nil, fmt.Errorf("%s: the body is a form, and its schema is not that of an object", quote(schema.at))
	}
	converted, err := schemas.convert(schema, 0)
	if err != nil {
		return nil, err
	}
	to, _ := converted.(map[string]any)
	properties, err := f.properties(schema, schemas.doc, 0)
	if err != nil {
		return nil, err
	}
	for _, p := range properties {
		encoding := encodings[p.name]
		delete(encodings, p.name)
		switch file, err := f.isFile(p.value, encoding.contentType, schemas.doc); {
		case err != nil:
			return nil, err
		case !file && encoding.style == openapi3.SerializationForm && schemas.doc.isObject(p.value):
			return nil, fmt.Errorf("%s: the field is an object with the style form, which is not supported; deepObject is", quote(p.at))
		case !file:
			continue
		}
		own, ok := to["properties"].(map[string]any)
		if p.required || !p.own || !ok {
			return nil, fmt.Errorf("%s: the field is a file, which is not supported", quote(p.at))
		}
		delete(own, p.name)
	}
	return converted, nil
}

// encoding is how a document has a field sent.
type encoding struct{ style, contentType string }

// encodings returns the encodings of fields by name, and sets which are nested.
func (f *form) encodings(media value, object map[string]any) (map[string]encoding, error) {
	all := map[string]encoding{}
	if object["encoding"] == nil {
		return all, nil
	}
	at := value{object["encoding"], media.below("encoding")}
	given, err := at.object("encoding")
	if err != nil {
		return nil, err
	}
	for _, name := range sorted(given) {
		one := value{given[name], at.below(name)}
		m, err := one.object("an encoding")
		if err != nil {
			return nil, err
		}
		var e encoding
		if e.contentType, err = one.text(m, "contentType"); err != nil {
			return nil, err
		}
		if e.style, err = one.text(m, "style"); err != nil {
			return nil, err
		}
		if f.multipart {
			e.style = "" // it is for the other kind of form (OpenAPI 3.0.3, Encoding Object)
		}
		switch {
		case e.style == openapi3.SerializationDeepObject:
			f.nested = append(f.nested, name)
		case e.style != "" && e.style != openapi3.SerializationForm:
			return nil, fmt.Errorf("%s: the style %s is not supported; form and deepObject are", quote(one.at), visible.Quote(e.style, 40))
		case m["explode"] == false && !f.multipart:
			return nil, fmt.Errorf("%s: elements joined by commas are not supported; a field for each element is", quote(one.at))
		}
		all[name] = e
	}
	return all, nil
}

// property is a property of the object that a form is.
type property struct {
	value

	name     string
	required bool
	own      bool // of the schema itself, not of a schema within it
}

// maxComposed is how deep the schemas of a form may be composed.
const maxComposed = 8

// properties returns the properties that the schema of a form has itself, or through allOf,
// anyOf and oneOf.
func (f *form) properties(schema value, d *document, depth int) ([]property, error) {
	if depth > maxComposed {
		return nil, fmt.Errorf("%s: the schema of a form is composed deeper than %d levels", quote(schema.at), maxComposed)
	}
	schema, err := d.resolve(schema)
	if err != nil {
		return nil, err
	}
	m, ok := schema.v.(map[string]any)
	if !ok {
		return nil, nil
	}
	required, _ := m["required"].([]any)
	own, _ := m["properties"].(map[string]any)
	var all []property
	for _, name := range sorted(own) {
		below := value{own[name], schema.below("properties") + value{}.below(name)}
		all = append(all, property{below, name, slices.Contains(required, any(name)), depth == 0})
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := m[keyword].([]any)
		for i, one := range list {
			below, err := f.properties(value{one, fmt.Sprintf("%s/%d", schema.below(keyword), i)}, d, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
	}
	return all, nil
}

// isFile reports whether a field, or an element of it, is a file: binary data, which JSON
// arguments do not have.
func (f *form) isFile(v value, contentType string, d *document) (bool, error) {
	v, err := d.resolve(v)
	if err != nil {
		return false, err
	}
	m, ok := v.v.(map[string]any)
	if !ok {
		return false, nil
	}
	if m["items"] != nil && !isType(m["type"], "object") {
		return f.isFile(value{m["items"], v.below("items")}, contentType, d)
	}
	if m["format"] == "binary" || m["contentMediaType"] != nil && m["contentEncoding"] == nil {
		return true, nil
	}
	kind, _, _ := mime.ParseMediaType(contentType) // a list, or a range such as image/*, is not read: a file, too
	known := contentType == "" || kind == "text/plain" || kind == "application/json" || kind == "application/x-www-form-urlencoded"
	return f.multipart && !known, nil
}

// isType reports whether the value of the keyword type allows values of a type.
func isType(kind any, want string) bool {
	list, ok := kind.([]any)
	return kind == want || ok && slices.Contains(list, any(want))
}
