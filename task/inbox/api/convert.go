package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/sight"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// PrincipalOf returns p as the API has it.
func PrincipalOf(p auth.Principal) client.Principal {
	return client.Principal{Tenant: p.Tenant, Subject: p.Subject, Person: p.Person, Kind: string(p.Kind), Roles: p.Roles, Through: p.Chain, Method: p.Method}
}

// somebody returns p for the API, nil for the zero principal.
func somebody(p auth.Principal) *client.Principal {
	if p.IsZero() {
		return nil
	}
	one := PrincipalOf(p)
	return &one
}

// gateOf returns the name of the gate that asked.
func gateOf(a *approval.Approval) string { return strings.TrimPrefix(a.Terms.Gate, "gate:") }

// whole returns an approval with all its arguments.
func (s *Service) whole(a *approval.Approval) client.Approval {
	out := client.Approval{
		ID: a.ID, Kind: client.Kind(a.Kind), State: client.State(a.State), Task: a.Task, Context: a.Context, Call: a.Call, Agent: a.Agent, Tool: a.Tool,
		Arguments: a.Args, Digest: a.Digest, Hint: a.Question(), Words: a.Words(), Payload: a.Payload, Question: a.AskKind, Schema: a.Schema,
		Gate: gateOf(a), Risk: string(a.Risk()), Destructive: a.Terms.Destructive, FourEyes: a.Terms.FourEyes, Approvers: approversOf(a.Approvers()),
		Grants: grantTermsOf(a), Decisions: []client.DecisionType{}, Requester: PrincipalOf(a.Requester), RequesterRevoked: s.cfg.Revoked(a.Requester),
		Votes: votesOf(a), Human: a.Terms.Human, Requested: a.Asked, Deadline: a.Deadline, Reminded: a.Reminded, Escalated: a.Escalated, Supersedes: a.Supersedes,
	}
	if a.Escalated != nil {
		out.EscalatedTo = a.Terms.Escalate.AddRoles
	}
	if a.About != nil {
		out.Description, out.Declared, out.Claimed = a.About.Description, a.About.Declared, a.About.Claimed
	}
	for _, v := range a.Decisions() {
		out.Decisions = append(out.Decisions, client.DecisionType(v))
	}
	if a.Deadline != nil {
		out.OnDeadline = string(a.Terms.OnExpiry)
		if out.OnDeadline == "" {
			out.OnDeadline = string(approval.ExpiryRejects)
		}
	}
	if r := a.Resolution; r != nil {
		out.Resolution = &client.Resolution{Decision: client.DecisionType(r.Decision), By: somebody(r.By), Via: r.Via, At: r.At, Reason: r.Reason, Arguments: r.Args, Response: r.Response}
		if r.Grant != nil {
			out.Resolution.Grant = r.Grant.ID
		}
	}
	return out
}

// seen returns an approval as a surface shows it to c.
func (s *Service) seen(c Caller, list *engine.Approvals, a *approval.Approval, on sight.Surface) client.Approval {
	sees := sight.Of(list.Reader(c.By, a), on)
	out := s.whole(a.For(sees))
	out.Masked = len(a.Terms.Mask) > 0 && sees.Arguments != sight.Whole
	return out
}

// listed returns an approval as lists show it.
func (s *Service) listed(c Caller, list *engine.Approvals, a *approval.Approval, same equals) client.Approval {
	out := s.seen(c, list, a, sight.List)
	if a.State == approval.Pending {
		out.EqualTo = same.to(a)
		may := s.may(list, c, a)
		out.May = &may
	}
	cut(&out)
	return out
}

// maxEqual is how many equal approvals are named.
const maxEqual = 20

// equals returns the approvals that wait and ask the same, and looks for each only once.
type equals func(a *approval.Approval) (ids []string)

// equals returns those that c may compare: equality tells masked values to a reader of a digest only.
func (s *Service) equals(ctx context.Context, c Caller, list *engine.Approvals) equals {
	found := map[string][]string{}
	sees := func(a *approval.Approval) bool { return a.For(sight.Of(list.Reader(c.By, a), sight.List)).Digest != "" }
	return func(a *approval.Approval) []string {
		if a.State != approval.Pending || !sees(a) {
			return nil
		}
		call := fmt.Sprintln(a.Hides(), a.Digest, a.Tool)
		ids, known := found[call]
		if !known {
			var err error
			if ids, err = list.Equal(ctx, c.By, a, maxEqual+1, sees); err != nil {
				s.cfg.Log.Warn().Err(err).Str("approval_id", a.ID).Msg("equal approvals cannot be listed")
			}
			found[call] = ids
		}
		return ids
	}
}

// to returns the ids of the other approvals that ask the same as a.
func (e equals) to(a *approval.Approval) (ids []string) {
	for _, id := range e(a) {
		if id != a.ID && len(ids) < maxEqual {
			ids = append(ids, id)
		}
	}
	return ids
}

func approversOf(who *approval.Approvers) *client.Approvers {
	if who == nil {
		return nil
	}
	return &client.Approvers{Roles: who.Roles, Subjects: who.Subjects, When: who.When}
}

// votesOf returns the votes of an approval; nil: it needs none.
func votesOf(a *approval.Approval) *client.Votes {
	t := a.Tally()
	if t == nil {
		return nil
	}
	out := &client.Votes{Have: t.Have, Need: t.Need, Missing: t.Missing, Given: []client.Vote{}, Needs: []client.Need{}}
	for _, v := range t.Votes {
		out.Given = append(out.Given, client.Vote{By: PrincipalOf(v.By), Via: v.Via, At: v.At, Reason: v.Reason})
	}
	for i, n := range a.Needs() {
		out.Needs = append(out.Needs, client.Need{Gate: strings.TrimPrefix(n.Gate, "gate:"), People: n.People, Missing: t.Open[i], Approvers: approversOf(n.Approvers)})
	}
	return out
}

// statusOf returns the HTTP status of a decision: 202 if its effect needs another approval, or
// other votes.
func statusOf(d *client.Decided) int {
	if d.Approval != nil && (d.Approval.State == client.Superseded || d.Approval.State == client.Pending) {
		return http.StatusAccepted
	}
	return http.StatusOK
}

// maxResult is how many bytes of a result are shown.
const maxResult = 64 << 10

func callOf(c *task.CallStatus, sees sight.Sight) client.Call {
	out := client.Call{ID: c.ID, Tool: c.Tool, Arguments: c.Args, State: c.State, Attempt: c.Attempt, Outcome: string(c.Outcome), Result: c.Result, Error: c.Error, Canceled: c.Canceled, Approvals: c.Approvals}
	if sees.Arguments != sight.Whole {
		out.Arguments, out.Result = approval.MaskArgs(c.Args, c.Mask), approval.MaskJSON(c.Result, c.Mask)
	}
	if len(out.Result) > maxResult {
		out.Result, _ = json.Marshal(fmt.Sprintf("[%d bytes, not shown]", len(c.Result)))
	}
	return out
}

func (s *Service) taskOf(h *engine.Header) client.Task {
	tenant, owner := h.Owner.TenantName(), h.Owner.Subject()
	return client.Task{
		ID: h.Task.String(), Context: h.Context, State: string(task.StateName(h.State)), Since: h.StatusTime.Time(), Created: h.Task.Created().Time(), Tenant: tenant, Owner: owner,
		Pending: int(h.Pending), Bytes: h.Bytes, Damaged: h.Damaged, OwnerRevoked: s.cfg.Revoked(auth.Principal{Tenant: tenant, Subject: owner}),
	}
}

func entryOf(e *engine.AuditEntry) client.AuditEntry {
	return client.AuditEntry{
		N: e.N, At: e.At, What: string(e.What), Task: e.Task, Tenant: e.Tenant, Owner: e.Owner, Call: e.Call, Tool: e.Tool, Approval: e.Approval,
		Digest: e.Digest, Gate: strings.TrimPrefix(e.Gate, "gate:"), State: client.State(e.State), By: somebody(e.By), Via: e.Via, Reason: e.Reason,
		Outcome: e.Outcome, Attempt: e.Attempt, Deadline: e.Deadline, Webhook: e.Webhook, Grant: e.Grant,
	}
}
