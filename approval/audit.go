package approval

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"a2a-server/auth"
)

// AuditEvent is the subject of an [Audit] entry.
type AuditEvent string

// The audited events.
const (
	AuditAsked        AuditEvent = "asked"
	AuditVoted        AuditEvent = "voted"    // a person has approved, beside others who have to
	AuditResolved     AuditEvent = "resolved" // State says how
	AuditStarted      AuditEvent = "started"
	AuditFinished     AuditEvent = "finished"
	AuditLate         AuditEvent = "finished_late"   // after its turn had been cut off
	AuditUnknown      AuditEvent = "unknown"         // started, and no result is known
	AuditCanceled     AuditEvent = "canceled"        // the whole task
	AuditKept         AuditEvent = "kept"            // its deadline has passed, and it stays pending
	AuditReminded     AuditEvent = "reminded"        // its routes were told again that it is pending
	AuditEscalated    AuditEvent = "escalated"       // others are asked, too, after a while
	AuditExtended     AuditEvent = "extended"        // a person has moved its deadline, to Deadline
	AuditDeleting     AuditEvent = "deleting"        // an operator deletes the whole task
	AuditGrantRevoked AuditEvent = "grant_revoked"   // by By; without a task
	AuditWebhook      AuditEvent = "webhook_deleted" // by an operator

	// These are about the whole store, so they have no task.
	AuditRestored AuditEvent = "restored" // from a backup
	AuditResumed  AuditEvent = "resumed"  // by an operator, after it was restored
	AuditSweep    AuditEvent = "sweep"    // of the pending approvals, by gates that deny
)

// An Audit is an entry of the audit log: the principal, the event, the time and the gate. It
// is written in the batch that makes it true. It holds digests, never arguments. Its JSON is
// stored: a change of meaning is a new V.
type Audit struct {
	V        int            `json:"v"` // Version
	At       time.Time      `json:"at"`
	What     AuditEvent     `json:"what"`
	Task     string         `json:"task"`
	Tenant   string         `json:"tenant,omitempty"` // of the task's owner
	Owner    string         `json:"owner,omitempty"`  // subject of the task's owner
	Call     string         `json:"call,omitempty"`
	Tool     string         `json:"tool,omitempty"`
	Approval string         `json:"approval,omitempty"`
	Digest   string         `json:"digest,omitempty"` // of the arguments that run: see KeyedDigest
	Gate     string         `json:"gate,omitempty"`
	State    State          `json:"state,omitempty"`
	By       auth.Principal `json:"by,omitzero"` // zero: no principal, as at a deadline
	Via      string         `json:"via,omitempty"`
	Reason   string         `json:"reason,omitempty"`  // as the decider gave it
	Outcome  string         `json:"outcome,omitempty"` // of a call
	Attempt  int            `json:"attempt,omitempty"`
	Deadline *time.Time     `json:"deadline,omitempty"` // of an approval that is asked, extended, kept or expired
	Webhook  string         `json:"webhook,omitempty"`  // its id
	Grant    string         `json:"grant,omitempty"`    // id of a grant that is made, used or revoked
}

// DecodeAudit decodes an entry.
func DecodeAudit(data []byte) (Audit, error) {
	var a Audit
	if err := json.Unmarshal(data, &a); err != nil {
		return Audit{}, err
	}
	if a.V != Version {
		return Audit{}, fmt.Errorf("the audit entry has version %d, and this program reads version %d: use the program that wrote it", a.V, Version)
	}
	return a, nil
}

// KeyedDigest returns a digest as an audit entry stores it: "hmac-sha256:" and the HMAC-SHA-256 of
// its text in hexadecimal. Without the key, which is deleted with its task, the digest confirms no
// guess at the arguments and matches no digest of another task.
func KeyedDigest(key []byte, digest string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(digest))
	return "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil))
}
