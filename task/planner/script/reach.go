package script

import (
	"slices"
	"strings"

	"a2a-server/internal/strictyaml"
)

// reach reports the scenarios that no message can ever play. nodes are their places in
// the file.
func reach(all []scenario, nodes []strictyaml.Node) {
	asks := slices.ContainsFunc(all, func(s scenario) bool { return !s.when.followUp && s.asks() })
	for i := range all {
		s, n := &all[i], nodes[i]
		if c := s.when; c.text != nil && !strings.Contains(*c.text, c.textContains) {
			n.Add("never plays: its text is %s, which does not contain %s; remove one of the two", quote(*c.text), quote(c.textContains))
			continue
		}
		if s.when.followUp && !asks {
			n.Add("never plays: it is for the answer to an ask, and no scenario for a first message asks; remove follow_up, or let one ask")
			continue
		}
		if j := slices.IndexFunc(all[:i], func(before scenario) bool { return before.when.covers(s.when) }); j >= 0 {
			n.Add("never plays: every message that fits it fits %s in line %d, which comes first; move it up, or say more in the when of the other", quote(all[j].name), nodes[j].Place().Line)
		}
	}
}

// asks reports whether the scenario waits for an answer.
func (s *scenario) asks() bool {
	return slices.ContainsFunc(s.steps, func(s *step) bool { return s.kind == asking })
}

// covers reports whether c matches every message that other matches.
func (c condition) covers(other condition) bool {
	contains := strings.Contains(other.textContains, c.textContains) || other.text != nil && strings.Contains(*other.text, c.textContains)
	return c.followUp == other.followUp &&
		strings.HasPrefix(other.messagePrefix, c.messagePrefix) &&
		(c.text == nil || other.text != nil && *c.text == *other.text) &&
		contains &&
		(c.data == nil || other.data != nil && has(other.data, c.data))
}
