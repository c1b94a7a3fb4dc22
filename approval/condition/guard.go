package condition

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// Limits of patterns.
const (
	maxProgram = 1000    // instructions of a pattern
	maxMatch   = 2 << 20 // instructions times bytes of the text: at most some ten milliseconds
)

// longText is the text of the error for a text that a pattern takes too long for.
const longText = "a text is too long for its pattern"

// guards makes the steps of a program that may be slow look at the deadline.
type guards struct {
	matchers map[int64]matcher // by the id of their call
}

// decorate returns the step to use in place of another.
func (g *guards) decorate(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, is := i.(interpreter.InterpretableCall)
	if !is {
		return i, nil
	}
	switch call.Function() {
	case overloads.Matches:
		m, known := g.matchers[call.ID()]
		if !known {
			return nil, errors.New("a pattern is not compiled")
		}
		m.InterpretableV2, m.text = call, call.Args()[0]
		return &m, nil
	case operators.In, operators.Equals, operators.NotEquals, overloads.Contains, overloads.Size:
		return &timed{call}, nil
	case operators.NotStrictlyFalse: // asked before each element
		return &counted{call}, nil
	}
	return i, nil
}

// factsOf returns the facts of an evaluation.
func factsOf(frame *interpreter.ExecutionFrame) *Facts {
	v, _ := frame.ResolveName(itself)
	f, is := v.(*Facts)
	if !is {
		panic("an evaluation without facts")
	}
	return f
}

// stop ends the evaluation if the time of its call is over.
func stop(f *Facts) {
	if f.over() {
		panic(interpreter.EvalCancelledError{Cause: interpreter.ContextCancelled})
	}
}

// counted is the step before each element of all and exists.
type counted struct{ interpreter.InterpretableCall }

// Exec implements [interpreter.InterpretableV2].
func (c *counted) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	f := factsOf(frame)
	if f.elements++; f.elements > maxElements {
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded})
	}
	if f.elements%16 == 0 {
		stop(f)
	}
	return c.InterpretableCall.Exec(frame)
}

// timed is a call that looks at the deadline first.
type timed struct{ interpreter.InterpretableCall }

// Exec implements [interpreter.InterpretableV2].
func (t *timed) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	stop(factsOf(frame))
	return t.InterpretableCall.Exec(frame)
}

// matcher is a call of matches with its pattern.
type matcher struct {
	interpreter.InterpretableV2 // the call
	text                        interpreter.InterpretableV2
	pattern                     *regexp.Regexp
	size                        int // instructions
}

// newMatcher compiles a pattern, which has to be a literal.
func newMatcher(e ast.Expr) (m matcher, _ error) {
	if e.Kind() != ast.LiteralKind {
		return m, errors.New("the pattern of matches is not a literal; write it in quotes, because a pattern of a call could be slow")
	}
	text, is := e.AsLiteral().(types.String)
	if !is {
		return m, errors.New("the pattern of matches is not a text")
	}
	parsed, err := syntax.Parse(string(text), syntax.Perl)
	if err != nil {
		return m, fmt.Errorf("the pattern is not valid: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return m, fmt.Errorf("the pattern is not valid: %w", err)
	}
	if m.size = len(program.Inst); m.size > maxProgram {
		return m, errors.New("the pattern is too large; repeat less in it")
	}
	m.pattern, err = regexp.Compile(string(text))
	return m, err
}

// Exec implements [interpreter.InterpretableV2].
func (m *matcher) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	stop(factsOf(frame))
	v := m.text.Exec(frame)
	switch text := v.(type) {
	case types.String:
		if len(text)*m.size > maxMatch {
			return types.NewErrWithNodeID(m.ID(), longText)
		}
		return types.Bool(m.pattern.MatchString(string(text)))
	case *types.Err, *types.Unknown:
		return v
	}
	return types.NewErrWithNodeID(m.ID(), "no such overload")
}
