package approval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"time"
)

// together returns the combined terms of all gates that ask about a call, and with own the
// gate of its tool. The defaults complete each gate before the merge, and are the terms of the
// tool's own gate, which beside other gates sets no deadline. Gate stays empty, and so do Mask and
// MaskTask, which are of the tool: see [Policy.Mask].
func together(gates []*gate, own bool, defaults Terms) Terms {
	var all []Terms
	var asked [][]Need // of each
	var grants *GrantTerms
	add := func(name string, x Terms) {
		if x.Approvers != nil {
			x.Approvers.Escalated = slices.Clone(x.Escalate.AddRoles)
		}
		all, asked = append(all, x), append(asked, []Need{{name, max(x.People, 1), x.Approvers}})
	}
	for i, g := range gates {
		x := g.Terms.Completed(defaults)
		if x.Expires <= 0 && g.Terms.OnExpiry == "" {
			x.OnExpiry = "" // it has no say
		}
		if grants = grants.both(x.Grants); i == 0 {
			grants = x.Grants
		}
		add(g.Name, x)
	}
	if own {
		x := Terms{}.Completed(defaults)
		if len(gates) > 0 {
			x.Expires, x.OnExpiry = 0, ""
		}
		add(GateTool, x)
	}
	t := mergeTerms(all, asked, defaults.OnExpiry)
	t.Grants = grants // the tool's own gate allows none, and has no say beside others: see Verdict.own
	return t
}

// Both returns what t and u demand together of the approval of a call, with the gate of t: it is no looser
// than either. Demands of u that t has change nothing in it.
func (t Terms) Both(u Terms) Terms {
	t, u = t.clone(), u.clone()
	m := mergeTerms([]Terms{t, u}, [][]Need{t.demands(), u.demands()}, "" /* onExpiry */)
	m.Mask, m.MaskTask = Union(t.Mask, u.Mask), t.MaskTask || u.MaskTask
	m.Gate, m.Grants, m.Risk = t.Gate, t.Grants.both(u.Grants), t.Risk
	if reflect.DeepEqual(m.Grants, t.Grants.both(t.Grants)) {
		m.Grants = t.Grants // in its own form, as what follows
	}
	if m.Expires == 0 {
		m.OnExpiry = t.OnExpiry
	}
	if slices.Equal(AllowedDecisions(KindCall, m), AllowedDecisions(KindCall, t)) {
		m.Allowed = t.Allowed
	}
	if r := higher(t.risk(), u.risk()); r != m.risk() {
		m.Risk = r
	}
	return m
}

// mergeTerms returns the combined terms of all, whose needs are asked, in their places, without a gate, grants and masks.
// onExpiry is the end of a deadline where none of them has one.
func mergeTerms(all []Terms, asked [][]Need, onExpiry OnExpiry) Terms {
	t := Terms{OnExpiry: onExpiry, Escalate: escalation(all, asked)}
	ends := -1 // rank of OnExpiry
	for _, x := range all {
		if (x.Expires > 0 || x.OnExpiry != "") && x.OnExpiry.rank() > ends {
			t.OnExpiry, ends = x.OnExpiry, x.OnExpiry.rank()
		}
		t.AddExclusions(x)
		t.WaitingState = interrupting(t.WaitingState, x.WaitingState)
		t.Destructive = t.Destructive || x.Destructive
		t.CancelsTask = t.CancelsTask || x.CancelsTask
		t.Allowed = common(t.Allowed, x.Allowed)
		t.Expires = sooner(t.Expires, x.Expires)
		t.Remind = sooner(t.Remind, x.Remind)
		t.Risk = higher(t.Risk, x.Risk)
		t.Notify = Union(t.Notify, x.Notify)
	}
	needs := needs(slices.Concat(asked...))
	if len(needs) == 1 {
		t.Approvers = needs[0].Approvers
	}
	if len(needs) > 1 || len(needs) == 1 && needs[0].People > 1 {
		t.Needs = needs
	}
	if t.Allowed != nil && len(AllowedDecisions(KindCall, t)) == 0 {
		t.Allowed = []DecisionType{Reject, Cancel}
	}
	return t
}

// common returns the decisions that both lists have; nil is all of them.
func common(a, b []DecisionType) []DecisionType {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return slices.DeleteFunc(slices.Clone(a), func(v DecisionType) bool { return !slices.Contains(b, v) })
}

// sooner returns the shorter of two times; 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a > 0 && b > 0 {
		return min(a, b)
	}
	return max(a, b)
}

// rank orders the effects of a deadline by strictness.
func (o OnExpiry) rank() int {
	return slices.Index([]OnExpiry{ExpiryKeeps, ExpiryRejects, ExpiryCancels}, cmp.Or(o, ExpiryRejects))
}

// Same reports whether two approvals with these terms demand the same: they are stored as the
// same, apart from the state in which the task waits.
func (t Terms) Same(u Terms) bool {
	t.WaitingState, u.WaitingState = "", ""
	x, errX := json.Marshal(t)
	y, errY := json.Marshal(u)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
