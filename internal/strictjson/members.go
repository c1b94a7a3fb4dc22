package strictjson

// Member is a member of an object. Value is the JSON of its value, a slice of the input.
type Member struct {
	Name  string
	Value []byte
}

// Members returns the members of the object raw in their order. It refuses the same input as
// [Validate], and values other than objects, with an *[Error].
func Members(raw []byte) ([]Member, error) {
	members := make([]Member, 0, 4)
	err := ReadObject(raw, func(r Reader, name []byte) bool {
		m := Member{Name: string(name)}
		value, ok := r.Raw(false /* any number */)
		m.Value = value
		members = append(members, m)
		return ok
	})
	if err != nil {
		return nil, err
	}
	return members, nil
}

// Elements returns the number of elements of the array at path in the object raw, or 0 if
// there is no array. path names a member on each level. raw must have passed [Validate] or
// [Members].
func Elements(raw []byte, path ...string) (n int) {
	_ = Read(raw, func(r Reader) bool { return r.elements(path, &n) })
	return n
}

func (r Reader) elements(path []string, n *int) bool {
	if len(path) == 0 {
		return r.Array(func() bool {
			*n++
			_, ok := r.Raw(false /* any number */)
			return ok
		})
	}
	return r.Object(func(name []byte) bool {
		if string(name) == path[0] {
			return r.elements(path[1:], n)
		}
		_, ok := r.Raw(false /* any number */)
		return ok
	})
}
