package approval

import (
	"time"

	"a2a-server/auth"
)

// AuditVersion is the V of the entries that are written now.
const AuditVersion = 1

// AuditEvent says what an [Audit] entry is about.
type AuditEvent string

// What is audited.
const (
	AuditAsked    AuditEvent = "asked"
	AuditResolved AuditEvent = "resolved" // State says how
	AuditStarted  AuditEvent = "started"
	AuditFinished AuditEvent = "finished"
	AuditLate     AuditEvent = "finished_late"   // after its turn had been cut off
	AuditUnknown  AuditEvent = "unknown"         // started, and no result is known
	AuditCanceled AuditEvent = "canceled"        // the whole task
	AuditKept     AuditEvent = "kept"            // its deadline has passed, and it stays pending
	AuditDeleting AuditEvent = "deleting"        // somebody deletes the whole task
	AuditWebhook  AuditEvent = "webhook_deleted" // by somebody who oversees the task
)

// An Audit is one entry of the audit log: who did what, when, and under which rule. It is
// written in the batch that makes it true. It holds digests, never arguments. Its
// JSON is stored forever: a change of meaning is a new V.
type Audit struct {
	V        int            `json:"v"` // AuditVersion
	At       time.Time      `json:"at"`
	What     AuditEvent     `json:"what"`
	Task     string         `json:"task"`
	Call     string         `json:"call,omitempty"`
	Tool     string         `json:"tool,omitempty"`
	Approval string         `json:"approval,omitempty"`
	Digest   string         `json:"digest,omitempty"` // of the arguments that run
	Rule     string         `json:"rule,omitempty"`
	State    State          `json:"state,omitempty"`
	By       auth.Principal `json:"by,omitzero"` // zero: nobody, as at a deadline
	Via      string         `json:"via,omitempty"`
	Reason   string         `json:"reason,omitempty"`  // as the decider gave it
	Outcome  string         `json:"outcome,omitempty"` // of a call
	Attempt  int            `json:"attempt,omitempty"`
	Webhook  string         `json:"webhook,omitempty"` // its id
}
