package approval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// together returns the combined terms of all gates that ask about a call, and with own the
// gate of its tool. The defaults complete each gate before the merge, and are the terms of the
// tool's own gate, which beside other gates sets no deadline. Gate stays empty, and so do Mask and
// MaskTask, which are of the tool: see [Policy.Mask].
func together(gates []*gate, own bool, defaults Terms) Terms {
	var all []Terms
	var asked []Need
	ends := -1 // rank of OnExpiry
	end := defaults.OnExpiry
	for _, g := range gates {
		x := g.Terms.Completed(defaults)
		all, asked = append(all, x), append(asked, Need{g.Name, max(x.People, 1), x.Approvers})
		if (x.Expires > 0 || g.Terms.OnExpiry != "") && x.OnExpiry.rank() > ends {
			end, ends = x.OnExpiry, x.OnExpiry.rank()
		}
	}
	if own {
		x := Terms{}.Completed(defaults)
		if len(gates) > 0 {
			x.Expires = 0
		}
		all, asked = append(all, x), append(asked, Need{GateTool, max(x.People, 1), x.Approvers})
	}
	t := Terms{OnExpiry: end, Escalate: escalation(all, asked)}
	for i, x := range all[:len(gates)] { // the tool's own gate allows none, and has no say beside others: see Verdict.Own
		if t.Grants = t.Grants.both(x.Grants); i == 0 {
			t.Grants = x.Grants
		}
	}
	for _, x := range all {
		t.FourEyes = t.FourEyes || x.FourEyes
		t.Elsewhere = t.Elsewhere || x.Elsewhere
		t.AuthRequired = t.AuthRequired || x.AuthRequired
		t.Destructive = t.Destructive || x.Destructive
		t.NoText = t.NoText || x.NoText
		t.CancelsTask = t.CancelsTask || x.CancelsTask
		t.Human = t.Human || x.Human
		t.Allowed = common(t.Allowed, x.Allowed)
		t.Expires = sooner(t.Expires, x.Expires)
		t.Remind = sooner(t.Remind, x.Remind)
		t.Risk = higher(t.Risk, x.Risk)
		t.Notify = Union(t.Notify, x.Notify)
	}
	if asked = needs(asked); len(asked) == 1 {
		t.Approvers = asked[0].Approvers
	}
	if len(asked) > 1 || len(asked) == 1 && asked[0].People > 1 {
		t.Needs = asked
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
	return slices.DeleteFunc(a, func(v DecisionType) bool { return !slices.Contains(b, v) })
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
// same.
func (t Terms) Same(u Terms) bool {
	x, errX := json.Marshal(t)
	y, errY := json.Marshal(u)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
