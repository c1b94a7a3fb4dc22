package openapitoolset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-openapi/jsonpointer"

	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// The limits of the arguments of an operation.
const (
	maxSchemas = 10_000    // including nested schemas
	maxSchema  = 256 << 10 // bytes of its JSON
	maxText    = 1 << 10   // bytes of a description
)

// converter converts the schemas of an operation to JSON Schema 2020-12.
type converter struct {
	doc   *document
	defs  map[string]any
	names map[string]string // of a definition, by the pointer of its schema
	queue []value           // to be converted
	seen  int
}

// finish converts the referenced schemas.
func (c *converter) finish() error {
	for len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		schema, err := c.convert(next, 0)
		if err != nil {
			return err
		}
		c.defs[c.names[next.at]] = schema
	}
	return nil
}

// How the values of keywords contain schemas.
const (
	asSchema = iota + 1
	asList
	asMap
)

// applicators are the keywords with schemas in them.
func applicators() map[string]int {
	return map[string]int{
		"items": asSchema, "not": asSchema, "additionalProperties": asSchema, "contains": asSchema,
		"propertyNames": asSchema, "if": asSchema, "then": asSchema, "else": asSchema,
		"unevaluatedItems": asSchema, "unevaluatedProperties": asSchema, "contentSchema": asSchema,
		"allOf": asList, "anyOf": asList, "oneOf": asList, "prefixItems": asList,
		"properties": asMap, "patternProperties": asMap, "dependentSchemas": asMap, "$defs": asMap,
	}
}

// convert returns the schema v in JSON Schema 2020-12.
func (c *converter) convert(v value, depth int) (any, error) {
	if c.seen++; c.seen > maxSchemas {
		return nil, fmt.Errorf("%s: the operation has more than %d schemas", quote(v.at), maxSchemas)
	}
	if depth > strictjson.MaxDepth/2 {
		return nil, fmt.Errorf("%s: its schema is nested too deep", quote(v.at))
	}
	if b, ok := v.v.(bool); ok {
		return b, nil
	}
	from, err := v.object("a schema")
	if err != nil {
		return nil, err
	}
	to := map[string]any{}
	if ref, has := from["$ref"]; has {
		if to["$ref"], err = c.reference(ref, v.at); err != nil || c.doc.is30() {
			return to, err // in 3.0 nothing else counts
		}
	}
	kinds := applicators()
	for _, keyword := range slices.Sorted(maps.Keys(from)) {
		member := v.member(keyword)
		switch {
		case keyword == "$ref":
		case kinds[keyword] != 0:
			converted, err := c.nested(member, kinds[keyword], keyword, depth+1)
			if err != nil {
				return nil, err
			}
			to[keyword] = converted
		default:
			if err := c.keyword(to, keyword, member); err != nil {
				return nil, err
			}
		}
	}
	if err := c.dropReadOnly(to, v); err != nil {
		return nil, err
	}
	if c.doc.is30() {
		return from30(to, from), nil
	}
	return to, nil
}

// nested converts the schemas in the value of a keyword.
func (c *converter) nested(v value, kind int, keyword string, depth int) (any, error) {
	switch kind {
	case asList:
		list, err := v.list(keyword)
		if err != nil {
			return nil, err
		}
		all := make([]any, len(list))
		for i, schema := range list {
			if all[i], err = c.convert(schema, depth); err != nil {
				return nil, err
			}
		}
		return all, nil
	case asMap:
		object, err := v.object(keyword)
		if err != nil {
			return nil, err
		}
		all := make(map[string]any, len(object))
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if all[name], err = c.convert(v.member(name), depth); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return c.convert(v, depth)
}

// keyword converts a keyword without schemas in it.
func (c *converter) keyword(to map[string]any, keyword string, v value) error {
	switch keyword {
	case "example", "discriminator", "xml", "externalDocs", "deprecated", "readOnly", "writeOnly", "$comment", "$schema":
		return nil // they say nothing about which values are valid
	case "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary":
		return fmt.Errorf("%s: the keyword %s is not supported; write references as #/components/schemas/…", quote(v.at), keyword)
	case "nullable":
		if c.doc.is30() {
			return nil // see from30
		}
	case "exclusiveMinimum", "exclusiveMaximum":
		if _, ok := v.v.(bool); ok && c.doc.is30() {
			return nil // see from30
		}
	case "description", "title":
		s, ok := v.v.(string)
		if !ok {
			return fmt.Errorf("%s: it is %s; it must be a string", quote(v.at), kindOf(v.v))
		}
		to[keyword] = clipText(s)
		return nil
	case "pattern":
		if s, ok := v.v.(string); ok {
			if _, err := regexp.Compile(s); err != nil {
				return nil //nolint:nilerr // the server checks it
			}
		}
	}
	if !strings.HasPrefix(keyword, "x-") {
		to[keyword] = v.v
	}
	return nil
}

// dropReadOnly removes the properties that a request does not have.
func (c *converter) dropReadOnly(to map[string]any, v value) error {
	properties, _ := to["properties"].(map[string]any)
	for _, name := range sorted(properties) {
		property := v.member("properties").member(name)
		resolved, err := c.doc.resolve(property)
		if err != nil {
			return err
		}
		if resolved.member("readOnly").v != true && property.member("readOnly").v != true {
			continue
		}
		delete(properties, name)
		if required, ok := to["required"].([]any); ok {
			to["required"] = slices.DeleteFunc(slices.Clone(required), func(one any) bool { return one == name })
		}
	}
	return nil
}

// from30 converts the differences between the schemas of OpenAPI 3.0 and JSON Schema.
func from30(to, from map[string]any) any {
	for _, bound := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		if limit, has := to[bound[1]]; has && from[bound[0]] == true {
			to[bound[0]] = limit
			delete(to, bound[1])
		}
	}
	if from["nullable"] != true {
		return to
	}
	kind, ok := to["type"].(string)
	if !ok {
		return map[string]any{"anyOf": []any{to, map[string]any{"type": "null"}}}
	}
	to["type"] = []any{kind, "null"}
	if enum, ok := to["enum"].([]any); ok && !slices.Contains(enum, nil) {
		to["enum"] = append(slices.Clone(enum), nil)
	}
	return to
}

// reference returns the reference to the definition of a schema of the document.
func (c *converter) reference(ref any, at string) (string, error) {
	target, err := c.doc.target(ref, at)
	if err != nil {
		return "", err
	}
	if _, err := c.doc.resolve(target); err != nil {
		return "", err // it leads in a circle, without anything in between
	}
	name, known := c.names[target.at]
	if !known {
		name = c.nameOf(target.at)
		c.names[target.at] = name
		c.defs[name] = true // taken
		c.queue = append(c.queue, target)
	}
	return "#/$defs/" + name, nil
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// nameOf returns a name for the definition of the schema at a pointer.
func (c *converter) nameOf(pointer string) string {
	token := jsonpointer.Unescape(pointer[strings.LastIndexByte(pointer, '/')+1:])
	name := notInName.ReplaceAllString(token, "_")
	if _, taken := c.defs[name]; taken || name == "" {
		return digested(name, pointer)
	}
	return shorten(name, pointer)
}

// shorten returns a name as it is or, if it has more than maxName bytes, as digested returns it.
func shorten(name, of string) string {
	if len(name) <= maxName {
		return name
	}
	return digested(name, of)
}

// digested returns a name of at most maxName bytes that ends in a digest of the text of.
func digested(name, of string) string {
	sum := sha256.Sum256([]byte(of))
	return name[:min(len(name), 55)] + "_" + hex.EncodeToString(sum[:4])
}

// clipText returns the text of a document as people and models may see it.
func clipText(s string) string {
	s = visible.Text(strings.ReplaceAll(strings.ToValidUTF8(strings.TrimSpace(s), "\uFFFD"), "\r\n", "\n"))
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText-len("…")], "") + "…"
}

// sizeOf returns the bytes of the schema of arguments, and refuses a schema that is too large
// to be shown to a model.
func sizeOf(schema map[string]any) (int, error) {
	raw, err := json.Marshal(schema)
	if err != nil {
		return 0, fmt.Errorf("encode the schema of the arguments: %w", err)
	}
	if len(raw) > maxSchema {
		return 0, fmt.Errorf("the schema of its arguments has %d KiB, more than %d", len(raw)>>10, maxSchema>>10)
	}
	return len(raw), nil
}
