package functiontool

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// keyword matches the beginning of an element of a tag with keywords.
var keyword = regexp.MustCompile(`^[A-Za-z_]+=`)

// plainTag returns the text of a jsonschema tag without keywords, which is the description, as
// in the MCP SDK; "" for a tag with keywords. It is an error if some elements of a tag have a
// keyword and others are text, such as the text after a comma in a description: they would be
// lost.
func plainTag(f reflect.StructField) (string, error) {
	tag := f.Tag.Get("jsonschema")
	if tag == "" {
		return "", nil
	}
	var keywords, text bool
	// A comma after a backslash separates nothing.
	for element := range strings.SplitSeq(strings.ReplaceAll(tag, `\,`, ""), ",") {
		switch {
		case keyword.MatchString(element):
			keywords = true
		case element != "required" && element != "nullable" && element != "-":
			text = true
		}
	}
	switch {
	case keywords && text:
		return "", fmt.Errorf("field %s: jsonschema:%q has keywords and text without one: put the text into the tag jsonschema_description, or \\\\ before a comma in a value", f.Name, tag)
	case text:
		return tag, nil
	}
	return "", nil
}

// checkKeywords returns an error for a keyword of a field's tag that is lost: it is unknown, its value
// cannot be read, or the field has another type. The library drops it without a word.
func checkKeywords(f reflect.StructField) error {
	var errs []error
	schema := func(tag string) string {
		f := reflect.StructField{Name: "F", Type: f.Type, Tag: reflect.StructTag(`json:"f" jsonschema:` + strconv.Quote(tag))}
		raw, _ := json.Marshal((&jsonschema.Reflector{Anonymous: true, Mapper: numbers}).ReflectFromType(reflect.StructOf([]reflect.StructField{f}))) // "" if it cannot be encoded: the schema of all says so
		return string(raw)
	}
	tag := strings.ReplaceAll(f.Tag.Get("jsonschema"), `\,`, "\x00")
	for part := range strings.SplitSeq(tag, ",") {
		part = strings.ReplaceAll(part, "\x00", `\,`)
		name, value, _ := strings.Cut(part, "=")
		if !keyword.MatchString(part) || value == "false" || slices.Contains(unseen, name) {
			continue
		}
		if schema(part) == schema("") {
			errs = append(errs, fmt.Errorf("field %s: jsonschema:%q: %s has no effect on a %v: correct the keyword or its value", f.Name, f.Tag.Get("jsonschema"), part, f.Type))
		}
	}
	return errors.Join(errs...)
}

// unseen are keywords that may repeat the type.
var unseen = []string{"type", "anchor"}

// numbers is the schema of json.Number, which the library treats as the string that it is in Go.
func numbers(t reflect.Type) *jsonschema.Schema {
	if t == reflect.TypeFor[json.Number]() {
		return &jsonschema.Schema{Type: "number"}
	}
	return nil
}

// checkTags returns the errors of the tags of a struct's fields, embedded structs included.
func checkTags(t reflect.Type) error {
	if t.Kind() != reflect.Struct {
		return nil
	}
	var errs []error
	for i := range t.NumField() {
		f := t.Field(i)
		_, err := plainTag(f)
		errs = append(errs, err, checkKeywords(f))
		if f.Anonymous {
			errs = append(errs, checkTags(f.Type))
		}
	}
	return errors.Join(errs...)
}
