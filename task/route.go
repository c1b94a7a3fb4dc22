package task

import "slices"

// Route says which approvals are announced under a name. Package task/notify sends its messages.
type Route struct {
	Name     string // as in approval.Terms.Notify
	All      bool   // also of approvals whose terms do not name the route
	Asked    bool   // new approvals
	Resolved bool   // approvals that have ended
	// Reminded and Escalated are approvals that are pending for a while. Requesters, who cannot
	// hurry a decision, are not told.
	Reminded, Escalated bool
	// Requester sends to the requester of the task alone, if their mail address is known: see
	// package task/notify.
	Requester bool
}

// Takes reports whether a route announces an event of an approval whose terms have these names.
func (r *Route) Takes(event string, names []string) bool {
	takes := event == NotifyAsked && r.Asked || event == NotifyResolved && r.Resolved ||
		!r.Requester && (event == NotifyReminded && r.Reminded || event == NotifyEscalated && r.Escalated)
	return takes && (r.All || slices.Contains(names, r.Name))
}

// The events of an approval that routes announce.
const (
	NotifyAsked     = "asked"
	NotifyReminded  = "reminded"
	NotifyEscalated = "escalated"
	NotifyResolved  = "resolved"
)
