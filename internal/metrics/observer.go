package metrics

import (
	"cmp"
	"time"

	"a2a-server/approval"
	"a2a-server/task/engine"
)

// kinds are the kinds of decisions that did not count, by the reason that an engine reports.
var kinds = map[string]string{
	string(approval.ReasonConflict):   "already",
	string(approval.ReasonDecided):    "already",
	string(approval.ReasonExpired):    "expired",
	string(approval.ReasonChanged):    "digest",
	string(approval.ReasonUnknown):    "unknown",
	string(approval.ReasonMalformed):  "malformed",
	string(approval.ReasonNotAllowed): "not_allowed",
	approval.BarredFourEyes:           "self",
	approval.BarredApprovers:          "approvers",
	approval.BarredRole:               "role",
	approval.BarredDelegated:          "delegated",
	approval.BarredWay:                "way",
	approval.BarredHuman:              "human",
	approval.BarredPerson:             "person",
	approval.BarredUnknown:            "unauthenticated",
}

// outcomes are the outcomes of calls without a result, by their audit event.
var outcomes = map[approval.AuditEvent]string{
	approval.AuditLate:     "late",
	approval.AuditUnknown:  "unknown",
	approval.AuditCanceled: "canceled",
}

// Observer returns the observer of an engine that counts its events.
func (m *Metrics) Observer() engine.Observer {
	return engine.Observer{
		Asked: m.requested, Decided: m.resolved,
		Started: m.started, Ended: m.ended,
		Committed: func(engine.ID) { m.changes.Inc() },
		Queued:    func(engine.ID) { m.queued.Inc() },
		Refused:   func(_ engine.ID, why string) { m.conflicts.WithLabelValues(cmp.Or(kinds[why], other)).Inc() },
	}
}

func (m *Metrics) gate(name string) string { return m.label(name, m.gates, m.cfg.Gate) }

// judged counts the verdict of the policy that an entry follows.
func (m *Metrics) judged(a *engine.Audited) {
	if v := a.Verdict; v.Gate != "" {
		m.verdicts.WithLabelValues(m.gate(v.Gate), string(v.Action)).Inc()
	}
}

// requested counts an approval that was requested.
func (m *Metrics) requested(a *engine.Audited) {
	m.judged(a)
	m.asked.WithLabelValues(m.gate(a.Gate)).Inc()
}

// resolved counts a resolved approval.
func (m *Metrics) resolved(a *engine.Audited) {
	if a.What != approval.AuditResolved {
		return
	}
	gate, outcome := m.gate(a.Gate), string(a.State)
	m.decided.WithLabelValues(gate, outcome, a.Via).Inc()
	if !a.Asked.IsZero() {
		m.waitTime.WithLabelValues(gate, outcome).Observe(max(0, a.At.Sub(a.Asked)).Seconds())
	}
}

// started notes when a call has started.
func (m *Metrics) started(a *engine.Audited) {
	m.judged(a)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.running) < maxRunning {
		m.running[call{a.Task, a.Call}] = a.At
	}
}

// ended counts a call that has ended. A canceled task is no call.
func (m *Metrics) ended(a *engine.Audited) {
	if a.Call == "" {
		return
	}
	m.judged(a)
	began := m.end(call{a.Task, a.Call})
	tool := m.label(a.Tool, m.tools, m.cfg.Tool)
	m.calls.WithLabelValues(tool, cmp.Or(outcomes[a.What], a.Outcome, other)).Inc()
	if a.What == approval.AuditUnknown {
		m.unknown.Inc()
	}
	if !began.IsZero() {
		m.callTime.WithLabelValues(tool).Observe(max(0, a.At.Sub(began)).Seconds())
	}
}

// end returns when a call has started, and forgets it; zero: that is not known.
func (m *Metrics) end(of call) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	began := m.running[of]
	delete(m.running, of)
	return began
}
