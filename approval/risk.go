package approval

import "slices"

// Risk is how much a wrong decision about a call may cost. It orders and marks approvals for
// people; it decides nothing.
type Risk string

// The risks.
const (
	RiskLow    Risk = "low"
	RiskMedium Risk = "medium"
	RiskHigh   Risk = "high"
)

// Risk returns the risk that the terms set. If they set none, it is high for a destructive call
// and medium for any other.
func (a *Approval) Risk() Risk { return a.Terms.risk() }

func (t *Terms) risk() Risk {
	switch {
	case t.Risk != "":
		return t.Risk
	case t.Destructive:
		return RiskHigh
	}
	return RiskMedium
}

// rank orders risks; 0 is none, and -1 is unknown.
func (r Risk) rank() int { return slices.Index([]Risk{"", RiskLow, RiskMedium, RiskHigh}, r) }

// higher returns the higher of two risks.
func higher(a, b Risk) Risk {
	if b.rank() > a.rank() {
		return b
	}
	return a
}
