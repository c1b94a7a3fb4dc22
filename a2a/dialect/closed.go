package dialect

import (
	"slices"

	"a2a-server/approval"
	"a2a-server/internal/visible"
)

// maxName is how much of a member's name an error repeats, in characters.
const maxName = 64

// closed reads an object whose members are all known, and collects what is wrong with
// it. A member that nobody knows may say something else than the decision beside it, so
// that the decision would not be what its sender meant. A member that is null says
// nothing, and counts as one that is not there.
type closed struct {
	field      string
	object     map[string]any
	violations []approval.Violation
}

func (c *closed) bad(name, description string) {
	c.violations = append(c.violations, approval.Violation{Field: c.field + "." + name, Description: description})
}

// has reports whether the member is there, and what it is.
func (c *closed) has(name string) (any, bool) {
	v := c.object[name]
	return v, v != nil
}

// only refuses all members but these.
func (c *closed) only(description string, names ...string) {
	var extra []string
	for name, v := range c.object {
		if v != nil && !slices.Contains(names, name) {
			extra = append(extra, name)
		}
	}
	slices.Sort(extra)
	for _, name := range extra {
		c.bad(visible.Shorten(visible.Line(name), maxName), description)
	}
}

// text returns a string, which may only be empty when it is not required.
func (c *closed) text(name string, required bool) string {
	v, ok := c.has(name)
	text, isText := v.(string)
	switch {
	case required && text == "":
		c.bad(name, "must be a string that is not empty")
	case ok && !isText:
		c.bad(name, "must be a string")
	}
	return text
}

// flag returns a boolean, false when it is not there.
func (c *closed) flag(name string) bool {
	v, ok := c.has(name)
	yes, isFlag := v.(bool)
	if ok && !isFlag {
		c.bad(name, "must be true or false")
	}
	return yes
}
