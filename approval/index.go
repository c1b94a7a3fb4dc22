package approval

import (
	"fmt"
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
	text string
	gate *gate
}

// add adds a gate for the tools that it names. Gates are added in their order.
func (x *index) add(g *gate, tools []string) {
	for i, name := range tools {
		first, _, wild := strings.Cut(name, "*")
		switch {
		case slices.Contains(tools[:i], name):
			continue
		case !wild:
			x.exact[name] = append(x.exact[name], g)
			continue
		}
		x.patterns[first] = append(x.patterns[first], pattern{name, g})
		if at, found := slices.BinarySearch(x.lengths, len(first)); !found {
			x.lengths = slices.Insert(x.lengths, at, len(first))
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
			if matches(p.text, name) && !slices.Contains(exact, p.gate) {
				others = append(others, p.gate)
			}
		}
	}
	slices.SortFunc(others, func(a, b *gate) int { return a.at - b.at })
	return exact, slices.Compact(others) // two patterns of a gate may match
}

// Crowded returns an error if more than [maxConditions] gates with a Condition are about the tool of this
// name: those beyond count as failed, and deny or ask.
func (p *Policy) Crowded(tool string) error {
	if p == nil {
		return nil
	}
	exact, others := p.index.of(tool)
	n := 0
	for _, g := range slices.Concat(exact, others) {
		if g.Condition != nil {
			n++
		}
	}
	if n > maxConditions {
		return fmt.Errorf("%d gates with when are about the tool %s; at most %d may be: join conditions with ||, or name fewer tools", n, quote(tool), maxConditions)
	}
	return nil
}

// crowded returns the tools that too many gates with conditions are about, as far as they are
// known by the names in gates. A pattern stands for the shortest name that it matches.
func (p *Policy) crowded() (problems []error) {
	conditional := slices.DeleteFunc(slices.Clone(p.gates), func(g Gate) bool { return g.Condition == nil })
	if len(conditional) <= maxConditions {
		return nil
	}
	seen := map[string]bool{}
	for i := range p.gates {
		for _, name := range p.gates[i].Patterns() {
			name = strings.ReplaceAll(name, "*", "")
			if seen[name] {
				continue
			}
			seen[name] = true
			if err := p.Crowded(name); err != nil {
				problems = append(problems, fmt.Errorf("gate %s: %w", quote(p.gates[i].Named()), err))
			}
		}
	}
	return problems
}
