package event

// Outcome is how a call ended. Its values are on disk.
type Outcome string

// The outcomes of a call.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeResponded Outcome = "responded" // a person gave the result
	OutcomeError     Outcome = "error"     // of the tool, or of its arguments
	OutcomeInvalid   Outcome = "invalid"   // there is no such tool any more, or its arguments are wrong
	OutcomeDenied    Outcome = "denied"    // by a policy
	OutcomeRejected  Outcome = "rejected"  // by a person
	OutcomeExpired   Outcome = "expired"   // nobody answered in time
	OutcomeCanceled  Outcome = "canceled"  // with its task; no planner sees it
)
