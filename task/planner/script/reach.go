package script

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// reach reports the scenarios that no message can ever play. names are the nodes of
// their names.
func (r *report) reach(all []scenario, names []*yaml.Node) {
	asks := slices.ContainsFunc(all, func(s scenario) bool { return !s.when.followUp && s.asks() })
	for i := range all {
		s, n, key := &all[i], names[i], fmt.Sprintf("scenarios[%d]", i)
		if c := s.when; c.text != nil && !strings.Contains(*c.text, c.textContains) {
			r.add(n, key, "never plays: its text is %s, which does not contain %s; remove one of the two", quote(*c.text), quote(c.textContains))
			continue
		}
		if s.when.followUp && !asks {
			r.add(n, key, "never plays: it is for the answer to an ask, and no scenario for a first message asks; remove follow_up, or let one ask")
			continue
		}
		if j := slices.IndexFunc(all[:i], func(before scenario) bool { return before.when.covers(s.when) }); j >= 0 {
			r.add(n, key, "never plays: every message that fits it fits %s in line %d, which comes first; move it up, or say more in the when of the other", quote(all[j].name), names[j].Line)
		}
	}
}

// asks reports whether the scenario waits for an answer.
func (s *scenario) asks() bool {
	return slices.ContainsFunc(s.steps, func(s step) bool { _, is := s.(askStep); return is })
}

// covers reports whether c fits every message that other fits.
func (c condition) covers(other condition) bool {
	contains := strings.Contains(other.textContains, c.textContains) || other.text != nil && strings.Contains(*other.text, c.textContains)
	return c.followUp == other.followUp &&
		strings.HasPrefix(other.messagePrefix, c.messagePrefix) &&
		(c.text == nil || other.text != nil && *c.text == *other.text) &&
		contains &&
		(c.data == nil || other.data != nil && has(other.data, c.data))
}
