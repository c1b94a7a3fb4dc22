package approval

import (
	"slices"
	"strings"
)

// index finds the gates of a policy by the name of a tool. Its cost grows with the gates that
// are about the tool, and with the lengths of the texts before the first * of patterns, but not
// with the number of gates.
type index struct {
	exact    map[string][]*gate // by tool
	patterns map[string][]pattern
	lengths  []int // of the keys of patterns, each once, ascending
}

// pattern is a tool of a gate with a *. The index has it under its text before the first *.
type pattern struct {
	texts []string // between the *s
	gate  *gate
}

// add adds a gate for the tools that it names. Gates are added in their order.
func (x *index) add(g *gate, tools []string) {
	for i, name := range tools {
		if slices.Contains(tools[:i], name) {
			continue
		}
		texts := strings.Split(name, "*")
		if len(texts) == 1 {
			x.exact[name] = append(x.exact[name], g)
			continue
		}
		x.patterns[texts[0]] = append(x.patterns[texts[0]], pattern{texts, g})
		if at, found := slices.BinarySearch(x.lengths, len(texts[0])); !found {
			x.lengths = slices.Insert(x.lengths, at, len(texts[0]))
		}
	}
}

// of returns the gates that name a tool exactly, and the others that are about it, both in
// the order of the policy.
func (x *index) of(name string) (exact, others []*gate) {
	exact = x.exact[name]
	for _, n := range x.lengths {
		if n > len(name) {
			break
		}
		for _, p := range x.patterns[name[:n]] {
			if matches(p.texts, name) && !slices.Contains(exact, p.gate) {
				others = append(others, p.gate)
			}
		}
	}
	slices.SortFunc(others, func(a, b *gate) int { return a.at - b.at })
	return exact, slices.Compact(others) // two patterns of a gate may match
}
