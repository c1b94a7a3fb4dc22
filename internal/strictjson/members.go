package strictjson

import "slices"

// Member is a member of an object. Value is the JSON of its value, a slice of the input.
type Member struct {
	Name  string
	Value []byte
}

// Members returns the members of the object raw in their order. It refuses the same input as
// [Validate], and values other than objects, with an *[Error] and the members before it. The
// values of the names in verbatim may have numbers of any size, for callers that only copy
// them.
func Members(raw []byte, verbatim ...string) ([]Member, error) {
	d := decoder{raw: raw, check: true, seen: 1}
	if c := d.peek(); c != '{' {
		if err := Validate(raw); err != nil {
			return nil, err
		}
		_, err := DecodeObject(raw)
		return nil, err
	}
	d.pos++
	d.depth++
	members := make([]Member, 0, 4)
	var names nameSet
	err := d.members(names.add, func(name []byte) *Error {
		d.any = slices.Contains(verbatim, string(name))
		d.space()
		start := d.pos
		_, err := d.value()
		d.any = false
		if err == nil {
			members = append(members, Member{string(name), raw[start:d.pos:d.pos]})
		}
		return err
	})
	if err == nil {
		if d.space(); d.pos < len(raw) {
			err = d.syntax("unexpected data after the end of the value")
		}
	}
	if err != nil {
		return members, err
	}
	return members, nil
}

// Elements returns the number of elements of the array at path in the object raw, or 0 if
// there is no array. path names a member on each level. raw must have passed [Validate] or
// [Members].
func Elements(raw []byte, path ...string) int {
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
	d := decoder{raw: raw, check: true}
	if d.peek() != '[' {
		return 0
	}
	d.pos++
	n := 0
	err := d.elements(func() *Error {
		n++
		_, err := d.value()
		return err
	})
	if err != nil {
		return 0
	}
	return n
}

// checkObject is like object, but builds nothing.
func (d *decoder) checkObject() (any, *Error) {
	var names nameSet
	return nil, d.members(names.add, func([]byte) *Error {
		_, err := d.value()
		return err
	})
}

// checkArray is like array, but builds nothing.
func (d *decoder) checkArray() (any, *Error) {
	return nil, d.elements(func() *Error {
		_, err := d.value()
		return err
	})
}

// members reads an object after its brace. isNew reports whether a name was not there before, and
// value reads a member's value. The names must not be changed.
func (d *decoder) members(isNew func(name []byte) bool, value func(name []byte) *Error) *Error {
	if d.peek() == '}' {
		d.pos++
		return nil
	}
	for {
		if d.peek() != '"' {
			return d.unexpected("a name in quotes")
		}
		name, err := d.str(false)
		if err != nil {
			return err
		}
		if !isNew(name) {
			return (&Error{Reason: "duplicate name in an object"}).below(string(name))
		}
		if d.peek() != ':' {
			return d.unexpected("a colon").below(string(name))
		}
		d.pos++
		if err := value(name); err != nil {
			return err.below(string(name))
		}
		switch d.peek() {
		case ',':
			d.pos++
		case '}':
			d.pos++
			return nil
		default:
			return d.unexpected("a comma or a closing brace")
		}
	}
}
