package condition_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The meaning of operators, as docs/policy.md has it.

func calculate(operator string, a, b any) (any, bool) {
	x, isX := double(a)
	y, isY := double(b)
	i, isI := a.(int64)
	j, isJ := b.(int64)
	result := map[string]float64{"+": x + y, "-": x - y, "*": x * y, "/": x / y}[operator]
	switch {
	case !isX || !isY || math.IsNaN(result) || math.IsInf(result, 0):
		return nil, false
	case !isI || !isJ:
		return result, true
	case math.Abs(result) >= 1<<62:
		return nil, false
	case operator == "/":
		return i / j, true
	}
	return map[string]int64{"+": i + j, "-": i - j, "*": i * j}[operator], true
}

func double(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// kind names the type of a value.
func kind(v any) string {
	if _, is := double(v); is {
		return "number"
	}
	return fmt.Sprintf("%T", v)
}

// compared reports whether values are equal, and whether they can be compared: not if they, or values at the same
// place in them, have different types. Null has any.
func compared(a, b any) (same, can bool) {
	if a == nil || b == nil {
		return a == nil && b == nil, true
	}
	if kind(a) != kind(b) {
		return false, false
	}
	same, can = true, true
	also := func(a, b any) {
		equal, ok := compared(a, b)
		same, can = same && equal, can && ok
	}
	switch a := a.(type) {
	case []any:
		list, _ := b.([]any) // of the same kind
		if len(a) != len(list) {
			return false, true
		}
		for i := range a {
			also(a[i], list[i])
		}
	case map[string]any:
		o, _ := b.(map[string]any)
		if len(a) != len(o) {
			return false, true
		}
		for name := range a {
			if other, found := o[name]; found {
				also(a[name], other)
			} else {
				same = false
			}
		}
	default:
		x, isNumber := double(a)
		y, _ := double(b)
		return isNumber && x == y || !isNumber && a == b, true
	}
	return same && can, can
}

func order(a, b any) (int, bool) {
	x, isX := double(a)
	y, isY := double(b)
	switch a := a.(type) {
	case string:
		b, is := b.(string)
		return strings.Compare(a, b), is
	case bool:
		b, is := b.(bool)
		return strings.Compare(strconv.FormatBool(a), strconv.FormatBool(b)), is
	}
	return int(math.Copysign(1, x-y)) * map[bool]int{true: 0, false: 1}[x == y], isX && isY
}

func contained(a any, list []any) (any, bool) {
	all := true
	for _, e := range list {
		same, can := compared(a, e)
		if same {
			return true, true
		}
		all = all && can
	}
	return false, all
}
