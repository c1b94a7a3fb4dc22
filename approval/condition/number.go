package condition

import (
	"math"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// unusable is the text of the error for a calculation whose result makes every comparison
// false, as that of 0 / 0 would.
const unusable = "a calculation has no finite result"

// calculations returns + - * / of numbers. Unlike those of CEL they also take a double with a whole number,
// because args.amount * 2 would always fail, and refuse results that are not finite.
func calculations() []cel.EnvOption {
	double := func(of func(a, b float64) float64) func(a, b types.Double) ref.Val {
		return func(a, b types.Double) ref.Val {
			if v := of(float64(a), float64(b)); !math.IsNaN(v) && !math.IsInf(v, 0) {
				return types.Double(v)
			}
			return types.NewErr(unusable)
		}
	}
	var all []cel.EnvOption
	for name, of := range map[string]struct {
		doubles func(a, b types.Double) ref.Val
		ints    func(a, b types.Int) ref.Val
	}{
		operators.Add:      {double(func(a, b float64) float64 { return a + b }), func(a, b types.Int) ref.Val { return a.Add(b) }},
		operators.Subtract: {double(func(a, b float64) float64 { return a - b }), func(a, b types.Int) ref.Val { return a.Subtract(b) }},
		operators.Multiply: {double(func(a, b float64) float64 { return a * b }), func(a, b types.Int) ref.Val { return a.Multiply(b) }},
		operators.Divide:   {double(func(a, b float64) float64 { return a / b }), func(a, b types.Int) ref.Val { return a.Divide(b) }},
	} {
		run := func(a, b ref.Val) ref.Val {
			x, isX := a.(types.Int)
			y, isY := b.(types.Int)
			if isX && isY {
				return of.ints(x, y)
			}
			p, isP := doubleOf(a)
			q, isQ := doubleOf(b)
			if !isP || !isQ {
				return types.MaybeNoSuchOverloadErr(b)
			}
			return of.doubles(p, q)
		}
		takes := func(a, b *cel.Type, gives *cel.Type) cel.FunctionOpt {
			return cel.Overload(name+a.String()+b.String(), []*cel.Type{a, b}, gives)
		}
		all = append(all, cel.Function(name, cel.SingletonBinaryBinding(run),
			takes(cel.IntType, cel.IntType, cel.IntType), takes(cel.DoubleType, cel.DoubleType, cel.DoubleType),
			takes(cel.DoubleType, cel.IntType, cel.DoubleType), takes(cel.IntType, cel.DoubleType, cel.DoubleType)))
	}
	return all
}

// doubleOf returns a number as a double.
func doubleOf(v ref.Val) (types.Double, bool) {
	switch v := v.(type) {
	case types.Double:
		return v, true
	case types.Int:
		return types.Double(v), true
	}
	return 0, false
}
