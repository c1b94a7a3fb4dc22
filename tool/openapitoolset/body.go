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
	at := given.member("content")
	content, err := at.object("content")
	if err != nil {
		return nil, form{}, err
	}
	kind, how := formOf(sorted(content))
	if kind == "" {
		return nil, how, fmt.Errorf("%s: the body is neither JSON nor a form, but %s", quote(at.at), visible.Clip(strings.Join(sorted(content), ", "), 200))
	}
	media := at.member(kind)
	if _, err := media.object("a media type"); err != nil {
		return nil, how, err
	}
	a := &argument{name: "body", in: "body", schema: true, required: body.Required}
	schema := media.member("schema")
	switch {
	case how.fields:
		a.schema, err = how.fieldsOf(media, schemas)
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
func (f *form) fieldsOf(media value, schemas *converter) (any, error) {
	encodings, err := f.encodings(media.member("encoding"))
	if err != nil {
		return nil, err
	}
	schema := media.member("schema")
	if schema.v == nil {
		return map[string]any{"type": "object"}, nil
	}
	// The schema itself instead of a reference to it: fields of it may be left out.
	if schema, err = schemas.doc.resolved(schema, "the schema of a form"); err != nil {
		return nil, err
	}
	if kind := schema.member("type").v; kind != nil && !isType(kind, "object") {
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
func (f *form) encodings(at value) (map[string]encoding, error) {
	all := map[string]encoding{}
	if at.v == nil {
		return all, nil
	}
	given, err := at.object("encoding")
	if err != nil {
		return nil, err
	}
	for _, name := range sorted(given) {
		one := at.member(name)
		if _, err := one.object("an encoding"); err != nil {
			return nil, err
		}
		var e encoding
		if e.contentType, err = one.text("contentType"); err != nil {
			return nil, err
		}
		if e.style, err = one.text("style"); err != nil {
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
		case one.member("explode").v == false && !f.multipart:
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
	required, _ := schema.member("required").v.([]any)
	own := schema.member("properties")
	names, _ := own.v.(map[string]any)
	var all []property
	for _, name := range sorted(names) {
		all = append(all, property{own.member(name), name, slices.Contains(required, any(name)), depth == 0})
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema.member(keyword).list(keyword) // the conversion reports other types
		for _, one := range list {
			below, err := f.properties(one, d, depth+1)
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
	if items := v.member("items"); items.v != nil && !isType(v.member("type").v, "object") {
		return f.isFile(items, contentType, d)
	}
	if v.member("format").v == "binary" || v.member("contentMediaType").v != nil && v.member("contentEncoding").v == nil {
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
