package script

import (
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxDepth is how deep data, arguments and metadata may be nested.
const maxDepth = 64

// value reads any value that JSON has too. Numbers become int64 or float64.
func (r *report) value(n *yaml.Node, key string) any { return r.nested(n, key, 0) }

func (r *report) nested(n *yaml.Node, key string, depth int) any {
	if depth > maxDepth {
		r.add(n, key, "nested deeper than %d", maxDepth)
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		all := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			at := join(key, clip(k.Value))
			if k.Kind != yaml.ScalarNode {
				r.add(k, key, "a key must be a word, found %s", kindOf(k))
				continue
			}
			if k.ShortTag() == "!!merge" {
				r.add(k, at, "merge keys are not supported here; write the members out")
				continue
			}
			if _, twice := all[k.Value]; twice {
				r.add(k, at, "given twice; remove one")
				continue
			}
			all[k.Value] = r.nested(n.Content[i+1], at, depth+1)
		}
		return all
	case yaml.SequenceNode:
		all := make([]any, 0, len(n.Content))
		for i, e := range n.Content {
			all = append(all, r.nested(e, fmt.Sprintf("%s[%d]", key, i), depth+1))
		}
		return all
	case yaml.ScalarNode:
		return r.scalar(n, key)
	case yaml.AliasNode, yaml.DocumentNode, yaml.StreamNode:
	}
	r.add(n, key, "expected a value, found %s", kindOf(n))
	return nil
}

func (r *report) scalar(n *yaml.Node, key string) any {
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return n.Value
	case "!!null":
		return nil
	case "!!bool":
		return r.boolean(n, key)
	case "!!int":
		if digits := strings.TrimLeft(n.Value, "+-"); len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
			// To YAML 1.1 it is octal, to 1.2 and to people it is not.
			r.add(n, key, "%s can be read in two ways; remove the zero, or put quotes around it if a text is meant", clip(n.Value))
			return nil
		}
		var i int64
		if n.Decode(&i) == nil {
			return i
		}
		r.add(n, key, "the number is too large; put quotes around it if a text is meant")
		return nil
	case "!!float":
		var f float64
		if n.Decode(&f) == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f
		}
		r.add(n, key, "%s is not a number that JSON has; put quotes around it if a text is meant", clip(n.Value))
		return nil
	}
	r.add(n, key, "the tag %s is not supported; write a text, a number, true, false or null", clip(n.ShortTag()))
	return nil
}

// object reads a mapping of any values; nil when n is nil.
func (r *report) object(n *yaml.Node, key string) map[string]any {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.add(n, key, "expected a mapping, found %s", kindOf(n))
		return nil
	}
	m, _ := r.value(n, key).(map[string]any)
	return m
}
