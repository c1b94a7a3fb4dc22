package condition

import (
	"fmt"
	"regexp"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"

	"a2a-server/internal/visible"
)

// Error is what is wrong with the text of a condition.
type Error struct {
	Line, Column int    // from 1 in the text; 0: the whole text, or line
	Message      string // the fault, and the next step
}

// Error returns the message, with the place in a text of several lines.
func (e *Error) Error() string {
	if e.Line > 1 {
		return fmt.Sprintf("line %d: %s", e.Line, e.Message)
	}
	return e.Message
}

// names are the variables, as messages list them.
const names = "args, tool, agent, caller.subject, caller.tenant, caller.roles and caller.chain"

var (
	undeclared = regexp.MustCompile(`^undeclared reference to '([^']*)'`)
	overload   = regexp.MustCompile(`^found no matching overload for '([^']*)' applied to '([^']*)'`)
	lacks      = regexp.MustCompile(`^Syntax error: missing '(.)'`)
	token      = regexp.MustCompile(`^(?:\w+|'[^']*'?|"[^"]*"?|&&|\|\||[=!<>]+|\S)`)
)

// problemOf returns a problem of the compiler in words for the authors of conditions, who may use
// these names.
func problemOf(p *cel.Error, text, names string) *Error {
	e := &Error{Line: p.Location.Line(), Column: p.Location.Column() + 1, Message: visible.Line(p.Message)}
	if e.Line < 1 {
		e.Line, e.Column = 0, 0
	}
	if m := undeclared.FindStringSubmatch(p.Message); m != nil {
		e.Message = fmt.Sprintf("there is no %s here; known are %s", visible.Quote(m[1], 60), names)
		if strings.Contains(text, m[1]+"(") {
			e.Message = fmt.Sprintf("there is no function %s; known are size, startsWith, endsWith, contains, matches, int, double, has, all and exists", visible.Quote(m[1], 60))
		}
	}
	if m := overload.FindStringSubmatch(p.Message); m != nil {
		e.Message = fmt.Sprintf("%s does not take %s", visible.Quote(strings.Trim(strings.TrimPrefix(m[1], "@"), "_"), 60), visible.Line(m[2]))
		switch m[1] {
		case operators.Modulo:
			e.Message += "; write it as in int(args.n) % 2"
		case operators.In:
			e.Message += "; of an object write has(args.name)"
		}
	}
	if strings.HasPrefix(p.Message, "Syntax error: ") {
		e.Message = misread(p, text) + "; write a condition such as args.amount > 100"
	}
	if strings.Contains(p.Message, "nesting limit") {
		e.Message = "all and exists cannot be within another; write a gate for each"
	}
	return e
}

// maxBefore is how many characters of a text a message shows before a mistake.
const maxBefore = 40

// misread returns a syntax error in words: what was found in text, and after what.
func misread(p *cel.Error, text string) string {
	lines := strings.Split(text, "\n")
	n := min(max(p.Location.Line(), 1), len(lines))
	line := []rune(lines[n-1])
	at := min(max(p.Location.Column(), 0), len(line))
	found, where := token.FindString(string(line[at:])), "at its start"
	before := []rune(strings.Join(strings.Fields(strings.Join(lines[:n-1], " ")+" "+string(line[:at])), " "))
	if cut := len(before) - maxBefore; cut > 0 {
		before = append([]rune("…"), before[cut:]...)
	}
	if len(before) > 0 {
		where = `after "` + visible.Line(string(before)) + `"`
	}
	switch m := lacks.FindStringSubmatch(p.Message); {
	case m != nil:
		return fmt.Sprintf("has no %s %s", m[1], where)
	case found == "":
		return "ends too early, " + where
	}
	return fmt.Sprintf("unexpected %s %s", visible.Quote(found, maxBefore), where)
}

// typeWords names a type.
func typeWords(t *cel.Type) string {
	if t.IsExactType(cel.DynType) {
		return "an argument of any type"
	}
	if t.IsExactType(cel.IntType) {
		return "an int"
	}
	return "a " + t.String()
}
