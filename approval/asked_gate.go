package approval

import (
	"encoding/json"
	"slices"

	"a2a-server/internal/visible"
)

// An AskedGate is a gate as it was when it asked. Its texts are cut to maxAskedText characters.
type AskedGate struct {
	Name string `json:"name"`           // GateTool: the tool's own
	When string `json:"when,omitempty"` // the condition
	Who  string `json:"who,omitempty"`  // the JSON of its Who
	Hint string `json:"hint,omitempty"` // before arguments are filled in
	More int    `json:"more,omitempty"` // of the last: how many more asked
}

const (
	maxAskedGates = 16
	maxAskedText  = 500
)

// WithGates returns the gates that ask now and those of before that are not among them.
func WithGates(now, before []AskedGate) []AskedGate {
	all := slices.Clone(now)
	for _, g := range before {
		if !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all
}

// askedGates returns the gates that ask and, if it does, the tool's own.
func askedGates(asks []*gate, own bool) (all []AskedGate) {
	for i, g := range asks {
		if i == maxAskedGates {
			all[i-1].More = len(asks) - i
			break
		}
		one := AskedGate{Name: g.Name, When: visible.Shorten(g.Condition.String(), maxAskedText), Hint: visible.Shorten(g.Hint, maxAskedText)}
		if g.When != nil && one.When == "" {
			one.When = "a condition in Go"
		}
		if g.Who != nil {
			who, _ := json.Marshal(g.Who) // it is lists of texts
			one.Who = visible.Shorten(string(who), maxAskedText)
		}
		all = append(all, one)
	}
	if own {
		all = append(all, AskedGate{Name: GateTool})
	}
	return all
}
