package event

// Outcome is how a call ended. Its values are on disk.
type Outcome string

// The outcomes of a call.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeResponded Outcome = "responded" // a person supplied the result
	OutcomeError     Outcome = "error"     // of the tool, or of its arguments
	OutcomeInvalid   Outcome = "invalid"   // the tool no longer exists, or the arguments are invalid
	OutcomeDenied    Outcome = "denied"    // by a policy
	OutcomeRejected  Outcome = "rejected"  // by a person
	OutcomeExpired   Outcome = "expired"   // no decision before the deadline
	OutcomeUnknown   Outcome = "unknown"   // it was started, and may or may not have had its effect
	OutcomeCanceled  Outcome = "canceled"  // by a person, before it had any effect; or together with its task
)
