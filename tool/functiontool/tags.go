package functiontool

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
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

// checkTags returns the errors of the tags of a struct's fields, embedded structs included.
func checkTags(t reflect.Type) error {
	if t.Kind() != reflect.Struct {
		return nil
	}
	var errs []error
	for i := range t.NumField() {
		f := t.Field(i)
		_, err := plainTag(f)
		errs = append(errs, err)
		if f.Anonymous {
			errs = append(errs, checkTags(f.Type))
		}
	}
	return errors.Join(errs...)
}
