package httptool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"
	"unicode/utf8"
)

// Fields is a body whose fields are the members of an argument, an object: a form for an API
// that takes the fields of its own schema. A string, a number or a boolean is sent as text, an
// array as a field for each element, and an object as JSON. A member that is null or an empty
// array is left out. Files cannot be sent.
type Fields struct {
	Argument  string // the object; if the call leaves it out, there is no body
	Multipart bool   // multipart/form-data instead of application/x-www-form-urlencoded
	// Nested lists the members that are sent as {name[]} is in a template, with a field for
	// each value in them.
	Nested []string
}

// check returns the mistakes in f.
func (f *Fields) check(d *declared) {
	if _, has := d.properties[f.Argument]; !has {
		d.problem("fields: unknown argument %q; declare it", f.Argument)
	}
	d.used[f.Argument] = true
}

// field is a field of a form.
type field struct {
	name, text string
	json       bool
}

// of returns the fields for arguments, in the order of their names; has is false if there is
// no body.
func (f *Fields) of(args map[string]any) (all []field, has bool, err error) {
	if args[f.Argument] == nil {
		return nil, false, nil
	}
	object, ok := args[f.Argument].(map[string]any)
	if !ok {
		return nil, false, invalid(f.Argument, "is not an object, and its members are the fields of a form")
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !utf8.ValidString(name) || isControl(name) {
			return nil, false, invalid(f.Argument, "has a member whose name has a control character or is not valid UTF-8; a field cannot have that name")
		}
		if before, _, has := strings.Cut(name, "["); has && slices.Contains(f.Nested, before) {
			return nil, false, invalid(f.Argument, "has a member %q, which has the same name as a value in %q; put the value there", name, before)
		}
		if slices.Contains(f.Nested, name) {
			err = nested(f.Argument, name, object[name], func(key, text string) { all = append(all, field{name: key, text: text}) })
		} else {
			all, err = f.flat(all, name, object[name])
		}
		if err != nil {
			return nil, false, err
		}
	}
	return all, true, nil
}

// flat appends the fields for a member that is not nested.
func (f *Fields) flat(all []field, name string, v any) ([]field, error) {
	switch v := v.(type) {
	case nil:
		return all, nil
	case []any:
		for _, element := range v {
			if _, ok := element.([]any); ok {
				return nil, invalid(f.Argument, "has an array within the array %q, which a form has no way to send", name)
			}
			var err error
			if all, err = f.flat(all, name, element); err != nil {
				return nil, err
			}
		}
		return all, nil
	case map[string]any:
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, invalid(f.Argument, "has a member %q that is not JSON", name)
		}
		return append(all, field{name: name, text: string(raw), json: true}), nil
	default:
		s, err := text(f.Argument, v)
		return append(all, field{name: name, text: s}), err
	}
}

// encode is the [body] of the fields. The same fields have the same multipart boundary.
func (f *Fields) encode(args map[string]any) (data []byte, mediaType string, err error) {
	all, has, err := f.of(args)
	if err != nil || !has {
		return nil, "", err
	}
	if !f.Multipart {
		pairs := make([]string, len(all))
		for i, one := range all {
			pairs[i] = Escape(one.name) + "=" + Escape(one.text)
		}
		return []byte(strings.Join(pairs, "&")), formType, nil
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v", all))
	err = w.SetBoundary(hex.EncodeToString(sum[:]))
	for _, one := range all {
		h := textproto.MIMEHeader{}
		h.Set("Content-Disposition", `form-data; name="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(one.name)+`"`)
		if one.json {
			h.Set("Content-Type", "application/json")
		}
		part, failed := w.CreatePart(h)
		if failed == nil {
			_, failed = part.Write([]byte(one.text))
		}
		err = errors.Join(err, failed)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, "", fmt.Errorf("encode the body of the request: %w", err)
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// nested calls add with the key and the text of each value in v, in the order of the keys.
// Null and empty values are left out. The brackets of a key are added unescaped.
func nested(argument, key string, v any, add func(key, text string)) error {
	switch v := v.(type) {
	case nil:
		return nil
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if strings.ContainsAny(name, "[]") || isControl(name) || !utf8.ValidString(name) {
				return invalid(argument, "has a member %q; a key in brackets cannot have brackets, control characters, or what is not UTF-8", name)
			}
			if err := nested(argument, key+"["+name+"]", v[name], add); err != nil {
				return err
			}
		}
		return nil
	case []any:
		for i, element := range v {
			if err := nested(argument, fmt.Sprintf("%s[%d]", key, i), element, add); err != nil {
				return err
			}
		}
		return nil
	default:
		s, err := text(argument, v)
		if err == nil {
			add(key, s)
		}
		return err
	}
}
