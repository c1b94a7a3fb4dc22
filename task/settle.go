package task

import (
	"encoding/json"
	"fmt"
	"time"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/tool"
)

// settleRun writes what came of a run: its last chunks, and its result, error,
// suspension, or that nobody knows.
func (t *turn) settleRun(d *draft, h held) error {
	c := d.f.call(h.run.call)
	if c == nil || c.State != callRunning {
		return fmt.Errorf("call %s has an outcome and is not running", h.run.call)
	}
	o := h.outcome
	last := o.err == nil && o.suspension == nil && len(o.asks) == 0 && o.unknown == ""
	if err := d.chunks(h.events, last); err != nil {
		return err
	}
	switch {
	case o.suspension != nil || len(o.asks) > 0:
		return t.suspend(d, c, o)
	case o.unknown != "":
		if err := d.private(kindUnknown, &callUnknown{Call: c.ID, Why: o.unknown}); err != nil {
			return err
		}
		return d.record(approval.Audit{What: approval.AuditUnknown, Call: c.ID, Tool: c.Tool, Reason: o.unknown, Attempt: c.Attempt})
	case o.rejected:
		return d.finish(c, OutcomeRejected, nil, o.err.Error(), o.delta)
	case o.err != nil:
		return d.finish(c, OutcomeError, nil, o.err.Error(), o.delta)
	}
	if limit := t.e.cfg.Limits.Event - 64<<10; len(o.result) > limit {
		return d.finish(c, OutcomeError, nil, fmt.Sprintf("the result of %s has %d bytes; at most %d are allowed: stream it", c.Tool, len(o.result), limit), o.delta)
	}
	switch {
	case h.run.chunks == 0:
		d.artifact(&artifactUpdate{ID: artifactID(c), Name: c.Tool, Parts: resultPart(o.result), Last: true})
	case len(h.events) == 0: // the last chunk went out unmarked
		d.artifact(&artifactUpdate{ID: artifactID(c), Parts: json.RawMessage(closing), Append: true, Last: true})
	}
	return d.finish(c, OutcomeOK, o.result, "", o.delta)
}

// chunks adds the last chunks of a run; the very last is marked when the run ended
// well.
func (d *draft) chunks(events []store.Event, last bool) error {
	for i := range events {
		e := events[i]
		if last && i == len(events)-1 {
			if u, ok := parseArtifact(e.Data); ok {
				u.Last = true
				e.Data = encodeArtifact(d.f.view.ids, &u)
				d.f.view.addArtifact(&u)
				d.events = append(d.events, e)
				continue
			}
		}
		if err := d.f.apply(&e); err != nil {
			return err
		}
		d.events = append(d.events, e)
	}
	return nil
}

// suspend parks a call on what its tool asks, on its timer, or both. What the tool
// returned beside undecided questions is discarded.
func (t *turn) suspend(d *draft, c *call, o *outcome) error {
	asks, e := o.asks, &callSuspended{Call: c.ID, N: c.Suspended + 1}
	if s := o.suspension; s != nil {
		if len(s.State) > tool.MaxSuspensionState {
			return d.finish(c, OutcomeError, nil, fmt.Sprintf("the tool wants to keep %d bytes over its suspension; at most %d are allowed", len(s.State), tool.MaxSuspensionState), nil)
		}
		e.State = s.State
		if s.State != nil && !json.Valid(s.State) {
			return d.finish(c, OutcomeError, nil, "the state that the tool wants to keep over its suspension is no JSON", nil)
		}
		if !s.Wake.IsZero() {
			wake := s.Wake.UTC().Truncate(time.Millisecond)
			e.Wake = &wake
		}
		if len(asks) == 0 {
			for i, a := range s.Asks {
				asks = append(asks, ask{id: fmt.Sprintf("s%d.%d", e.N, i+1), Ask: a})
			}
		}
	}
	if len(asks) == 0 && e.Wake == nil {
		return d.finish(c, OutcomeError, nil, "the tool suspended its call without a question and without a time to wake it", nil)
	}
	for _, q := range asks {
		a, err := t.askOf(d, c, q)
		if err == nil {
			err = t.fits(d, a)
		}
		if err != nil {
			return d.finish(c, OutcomeError, nil, err.Error(), nil)
		}
		if err := d.ask(a); err != nil {
			return err
		}
		e.Asks = append(e.Asks, suspendedAsk{Ask: q.id, Approval: a.ID})
	}
	if e.Wake != nil {
		d.due = append(d.due, store.DueChange{Time: store.MillisOf(*e.Wake), Kind: dueWake, Key: []byte(c.ID)})
	}
	return d.private(kindSuspended, e)
}

// askOf makes the approval of a question that a running tool has put.
func (t *turn) askOf(d *draft, c *call, q ask) (*approval.Approval, error) {
	a := &approval.Approval{Kind: approval.KindQuestion, Args: c.Args, Hint: q.Hint, Ask: q.id, AskKind: string(q.Kind)}
	switch q.Kind {
	case tool.AskConfirm:
		a.Kind = approval.KindCall
	case tool.AskQuestion, tool.AskAuth:
	case tool.AskForm:
		if q.Schema == nil {
			return nil, fmt.Errorf("the tool asks for a form without a schema")
		}
	default:
		return nil, fmt.Errorf("the tool asks a question of kind %q; use confirm, question, form or auth", q.Kind)
	}
	var err error
	if q.Payload != nil {
		if a.Payload, err = json.Marshal(q.Payload); err != nil {
			return nil, fmt.Errorf("the payload of the tool's question is no JSON: %w", err)
		}
	}
	if q.Schema != nil {
		if _, err := tool.CompileSchema(q.Schema); err != nil {
			return nil, fmt.Errorf("the schema of the tool's question: %w", err)
		}
		if a.Schema, err = json.Marshal(q.Schema); err != nil {
			return nil, fmt.Errorf("the schema of the tool's question: %w", err)
		}
	}
	if a.Definition, a.Digest, err = t.e.bind(t.readonly(d.f), c); err != nil {
		return nil, err
	}
	a.Terms = t.e.policy.AskTerms()
	t.fill(d, c, a)
	return a, nil
}
