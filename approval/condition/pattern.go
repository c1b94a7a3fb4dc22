package condition

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// Limits of patterns.
const (
	maxProgram = 1000    // instructions of a pattern
	maxMatch   = 2 << 20 // instructions times bytes of the text: at most some ten milliseconds
)

// longText is the text of the error for a text that a pattern takes too long for.
const longText = "a text is too long for its pattern"

// matcher is a compiled pattern. It stands in the program in place of the pattern's text, as a literal that is
// null to CEL.
type matcher struct {
	types.Null

	pattern *regexp.Regexp
	size    int // instructions
}

// newMatcher compiles a pattern, which has to be a literal.
func newMatcher(e ast.Expr) (*matcher, error) {
	if e.Kind() != ast.LiteralKind {
		return nil, errors.New("the pattern of matches is not a literal; write it in quotes, because a pattern of a call could be slow")
	}
	text, is := e.AsLiteral().(types.String)
	if !is {
		return nil, errors.New("the pattern of matches is not a text")
	}
	parsed, err := syntax.Parse(string(text), syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not valid: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("the pattern is not valid: %w", err)
	}
	if len(program.Inst) > maxProgram {
		return nil, errors.New("the pattern is too large; repeat less in it")
	}
	pattern, err := regexp.Compile(string(text))
	return &matcher{pattern: pattern, size: len(program.Inst)}, err
}

// matches reports whether the text has the pattern.
func matches(text, pattern ref.Val) ref.Val {
	s, isText := text.(types.String)
	m, isPattern := pattern.(*matcher)
	switch {
	case !isText || !isPattern:
		return types.NewErr(otherType)
	case len(s)*m.size > maxMatch:
		return types.NewErr(longText)
	}
	return types.Bool(m.pattern.MatchString(string(s)))
}
