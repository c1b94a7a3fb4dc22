package task

import (
	"encoding/json"

	"a2a-server/approval"
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

// Calls returns every call of the task, in the order in which they were planned. They share
// memory with the fold and must not be changed.
func (f *Fold) Calls() []CallStatus {
	var all []CallStatus
	at := map[string]int{}
	for _, s := range f.Steps {
		for _, c := range s.Progress {
			at[c.ID] = len(all)
			all = append(all, CallStatus{
				ID: c.ID, Tool: c.Tool, Args: c.Args, State: string(c.State), Attempt: c.Attempt,
				Outcome: c.Outcome, Result: c.Result, Error: c.Error, Canceled: c.Canceled,
			})
		}
	}
	for _, a := range f.Approvals {
		if i, ok := at[a.Call]; ok {
			all[i].Approvals = append(all[i].Approvals, a.ID)
			all[i].Mask = approval.Union(all[i].Mask, a.Terms.Mask)
		}
	}
	return all
}
