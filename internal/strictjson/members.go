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
