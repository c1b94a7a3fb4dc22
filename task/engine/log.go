package engine

import (
	"strings"

	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task/engine/internal/turn"
	"a2a-server/task/internal/rules"
)

// maxName is the maximum length of text from outside in a log line, in characters.
const maxName = 100

// logObserver logs a line for each audit entry: principal, action and rule. It leaves out
// arguments, results and the reasons of people and tools: only readers of the task may see them.
func logObserver(log *zerolog.Logger) Observer {
	line := func(a *rules.Audited) {
		level, message := lineOf(a)
		log.WithLevel(level).EmbedObject(auditLine{a}).Msg(message)
	}
	return Observer{Asked: line, Decided: line, Started: line, Ended: line, Deleted: line}
}

// auditLine is an audit entry as a log line. Its digest is that of the audit, which is keyed and
// confirms no guess at the arguments.
type auditLine struct{ *rules.Audited }

// MarshalZerologObject implements [zerolog.LogObjectMarshaler].
func (a auditLine) MarshalZerologObject(l *zerolog.Event) {
	addFields(l, [][2]string{
		{"task_id", a.Task}, {"call_id", a.Call}, {"tool", a.Tool}, {"approval_id", a.Approval}, {"digest", a.Digest},
		{"gate", a.Gate}, {"state", string(a.State)}, {"outcome", a.Outcome}, {"via", a.Via}, {"webhook", a.Webhook}, {"grant", a.Grant},
	})
	principalLine{&a.By}.MarshalZerologObject(l)
	if a.Attempt > 1 {
		l.Int("attempt", a.Attempt)
	}
}

// principalLine adds a principal, and the proof of its identity.
type principalLine struct{ *auth.Principal }

// MarshalZerologObject implements [zerolog.LogObjectMarshaler].
func (p principalLine) MarshalZerologObject(l *zerolog.Event) {
	method := p.Method
	if p.IsAnonymous() {
		method = ""
	}
	addFields(l, [][2]string{
		{"tenant", p.Tenant}, {"by", p.Subject}, {"person", p.Person}, {"kind", string(p.Kind)},
		{"acting", strings.Join(p.Chain, " ")}, {"method", method},
	})
}

// addFields adds the fields that are not empty, each a key and a value.
func addFields(l *zerolog.Event, fields [][2]string) {
	for _, field := range fields {
		if field[1] != "" {
			l.Str(field[0], visible.Clip(field[1], maxName))
		}
	}
}

// logRefused logs a refused decision. It adds nothing to the log of the task or to the audit:
// a caller without the right to decide must not fill them.
func logRefused(log *zerolog.Logger, who turn.Sender, id store.TaskID, approvalID, why string) {
	line := log.Warn().Str("task_id", id.String())
	if approvalID != "" {
		line.Str("approval_id", approvalID)
	}
	line.Str("via", who.Via).Str("why", approval.BarredText(why)).EmbedObject(principalLine{&who.By}).Msg("decision refused")
}

// messages are the log messages of audit entries.
var messages = map[approval.AuditEvent]string{
	approval.AuditAsked:     "approval asked",
	approval.AuditVoted:     "vote for an approval",
	approval.AuditResolved:  "approval decided",
	approval.AuditKept:      "approval stays pending after its deadline",
	approval.AuditReminded:  "approval still pending",
	approval.AuditEscalated: "approval escalated",
	approval.AuditExtended:  "deadline of an approval extended",
	approval.AuditStarted:   "call started",
	approval.AuditFinished:  "call finished",
	approval.AuditLate:      "call finished late",
	approval.AuditUnknown:   "call has an unknown outcome",
	approval.AuditCanceled:  "task canceled",
	approval.AuditDeleting:  "task is being deleted",
	approval.AuditWebhook:   "webhook deleted",

	approval.AuditGrantRevoked: "grant revoked",
}

func lineOf(a *rules.Audited) (level zerolog.Level, message string) {
	level, message = zerolog.InfoLevel, messages[a.What]
	if a.Routine {
		level = zerolog.DebugLevel
	}
	switch {
	case a.What == approval.AuditResolved && a.Via == approval.ViaSystem:
		message = "approval ended without a decision"
	case a.What == approval.AuditResolved && a.Via == approval.ViaPolicy:
		message = "approval ended by the policy"
	case a.What == approval.AuditUnknown:
		level = zerolog.ErrorLevel
	case a.What == approval.AuditCanceled && a.Via != "":
		message = "call canceled"
	case a.What == approval.AuditCanceled && a.Call != "":
		message = "call canceled where it runs"
	}
	return level, message
}
