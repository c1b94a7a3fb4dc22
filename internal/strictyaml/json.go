package strictyaml

import (
	"math"
	"strings"

	"go.yaml.in/yaml/v4"
)

// MaxDepth is how deep values for JSON may be nested.
const MaxDepth = 64

// JSON returns n as a JSON value: nil, bool, int64, float64, string, []any or
// map[string]any. Anything else is a problem.
func (n Node) JSON() any { return n.nested(0) }

func (n Node) nested(depth int) any {
	switch {
	case depth > MaxDepth:
		n.Add("nested deeper than %d", MaxDepth)
	case n.is(yaml.MappingNode):
		members, _ := n.Members("", "")
		all := make(map[string]any, len(members))
		for _, m := range members {
			all[m.Name] = m.Value.nested(depth + 1)
		}
		return all
	case n.is(yaml.SequenceNode):
		items, _ := n.Items("", "")
		all := make([]any, len(items))
		for i, item := range items {
			all[i] = item.nested(depth + 1)
		}
		return all
	case n.is(yaml.ScalarNode):
		return n.scalar()
	default:
		n.Expected("a value", "")
	}
	return nil
}

func (n Node) scalar() any {
	switch n.yaml.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return n.Bool()
	case "!!int", "!!float":
		digits := strings.TrimLeft(n.yaml.Value, "+-")
		whole := strings.Trim(digits, "0123456789_") == ""
		var i int64
		var f float64
		switch {
		case whole && len(digits) > 1 && digits[0] == '0':
			// In YAML 1.1 it is octal; in 1.2, and to people, it is decimal.
			n.Add("%s can be read in two ways; remove the zero, or put quotes around it if a string is meant", clip(n.yaml.Value))
			return nil
		case n.yaml.ShortTag() == "!!int" && n.yaml.Decode(&i) == nil:
			return i
		case whole || n.yaml.ShortTag() == "!!int":
			n.Add("the number is too large; put quotes around it if a string is meant")
			return nil
		case n.yaml.Decode(&f) == nil && !math.IsNaN(f) && !math.IsInf(f, 0):
			return f
		}
		n.Add("%s is not a number that JSON has; put quotes around it if a string is meant", clip(n.yaml.Value))
		return nil
	}
	return n.yaml.Value // a string, or a date in YAML
}
