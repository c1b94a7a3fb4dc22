package task

import (
	"encoding/json"
)

// CallStatus is the current state of a call, for display.
type CallStatus struct {
	ID, Tool  string
	Args      json.RawMessage // that it runs with, as far as that is known
	Mask      []string        // places in Args and Result that lists do not show; see [approval.Terms]
	State     string          // "planned", "asked", "decided", "started", "suspended", "unknown" or "finished"
	Attempt   int
	Outcome   Outcome         // of a finished call
	Result    json.RawMessage // of OutcomeOK
	Error     string          // of any other outcome
	Canceled  bool            // a cancel was requested
	Approvals []string        // ids, oldest first
}
