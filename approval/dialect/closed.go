package dialect

import (
	"fmt"
	"math"
	"slices"

	"a2a-server/approval"
	"a2a-server/internal/visible"
)

// maxName is how much of a member's name an error repeats, in characters.
const maxName = 64

// closed reads an object that may only have known members, and collects its violations. An
// unknown member could contradict the decision, which would then not be the sender's. A null
// member counts as missing.
type closed struct {
	field      string
	object     map[string]any
	violations []approval.Violation
}

func (c *closed) bad(name, description string) {
	c.violations = append(c.violations, approval.Violation{Field: c.field + "." + name, Description: description})
}

// has returns the value of a member, and whether it is present.
func (c *closed) has(name string) (any, bool) {
	v := c.object[name]
	return v, v != nil
}

// only refuses all members except names.
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

// text returns a string member; a required member must not be empty.
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

// flag returns a boolean member, false when it is missing.
func (c *closed) flag(name string) bool {
	v, ok := c.has(name)
	yes, isFlag := v.(bool)
	if ok && !isFlag {
		c.bad(name, "must be true or false")
	}
	return yes
}

// maxWhole bounds the numbers of [closed.whole]: as seconds, it is a time of 31 years.
const maxWhole = 1e9

// whole returns an integer member, 0 when it is missing.
func (c *closed) whole(name string) int {
	v, ok := c.has(name)
	n, isNumber := v.(float64)
	if ok && (!isNumber || n != math.Trunc(n) || math.Abs(n) > maxWhole) {
		c.bad(name, fmt.Sprintf("must be a whole number up to %d", int(maxWhole)))
		return 0
	}
	return int(n)
}
