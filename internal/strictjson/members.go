package strictjson

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is a member of an object. Value is the JSON of its value, a slice of the input.
type Member struct {
	Name  string
	Value []byte
}

// Text returns the value if it is a string, else "".
func (m Member) Text() string {
	if m.Value[0] != '"' {
		return ""
	}
	text, _ := jsontext.AppendUnquote(nil, m.Value) // it is valid
	return string(text)
}

// Members returns the members of the object raw in their order. It refuses the same input as
// [Validate], and values other than objects, with an *[Error] and the members before it. The
// values of the names in verbatim may have numbers of any size, for callers that only copy
// them.
func Members(raw []byte, verbatim ...string) ([]Member, error) {
	d := newDecoder(raw)
	defer d.free()
	d.check, d.seen = true, 1
	if t, err := d.next(); err != nil || t.Kind() != '{' {
		if err := Validate(raw); err != nil {
			return nil, err
		}
		_, err := DecodeObject(raw)
		return nil, err
	}
	members := make([]Member, 0, 4)
	for {
		name, err := d.next()
		if err == nil && name.Kind() == '}' {
			err = d.end()
			return members, err
		}
		if err != nil {
			return members, err
		}
		m, from := Member{Name: name.String()}, d.text.InputOffset()
		d.any = slices.Contains(verbatim, m.Name)
		if _, err := d.value(); err != nil {
			return members, err
		}
		end := d.text.InputOffset()
		m.Value = bytes.TrimLeft(raw[from:end:end], ": \t\r\n")
		members = append(members, m)
	}
}

// Elements returns the number of elements of the array at path in the object raw, or 0 if
// there is no array. path names a member on each level. raw must have passed [Validate] or
// [Members].
func Elements(raw []byte, path ...string) (n int) {
	for _, name := range path {
		members, err := Members(raw)
		if err != nil {
			return 0
		}
		i := slices.IndexFunc(members, func(m Member) bool { return m.Name == name })
		if i < 0 {
			return 0
		}
		raw = members[i].Value
	}
	Read(raw, func(r Reader) bool {
		r.check = true
		return r.Array(func() bool {
			n++
			_, ok := r.Value()
			return ok
		})
	})
	return n
}
