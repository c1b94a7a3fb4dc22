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

func sameType(a, b any) bool { return a == nil || b == nil || kind(a) == kind(b) }

func equalValues(a, b any) bool {
	switch a := a.(type) {
	case []any:
		list, is := b.([]any)
		if !is || len(a) != len(list) {
			return false
		}
		for i := range a {
			if !equalValues(a[i], list[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		o, is := b.(map[string]any)
		if !is || len(a) != len(o) {
			return false
		}
		for name := range a {
			if other, found := o[name]; !found || !equalValues(a[name], other) {
				return false
			}
		}
		return true
	}
	x, isX := double(a)
	y, isY := double(b)
	if isX || isY {
		return isX && isY && x == y
	}
	return kind(a) == kind(b) && a == b
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

func contained(a any, list []any, literal bool) (any, bool) {
	anyAlike, allAlike := false, true
	for _, e := range list {
		if equalValues(a, e) {
			return true, true
		}
		anyAlike, allAlike = anyAlike || sameType(a, e), allAlike && sameType(a, e)
	}
	return false, allAlike || literal && anyAlike
}
