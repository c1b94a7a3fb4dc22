package approvals

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/visible"
)

// Text returns all facts about an approval that its decider needs, for a screen with
// so many columns: first the call, then why it is asked, then the requester. Each fact is
// there once.
func Text(d *client.ApprovalDetail, columns int, now time.Time) string {
	a, f := &d.Approval, display.Facts{Columns: columns}
	f.Add("approval", a.ID)
	f.Add("state", string(a.State))
	asks := map[client.Kind]string{
		client.KindCall:     "whether this call may run",
		client.KindOutcome:  "whether this call, which may have run or not, is run again",
		client.KindQuestion: "a question of the tool; its answer is for the A2A client",
	}[a.Kind]
	if a.Kind == client.KindOutcome && a.Question != "" {
		asks = "whether a call that the tool has started elsewhere, which may have run or not, is run again"
	}
	f.Add("asks", asks)
	f.Add("tool", visible.Line(a.Tool))
	if agent, tool, _ := a.AtAgent(); agent != "" {
		f.Add("at agent", visible.Line(agent+", "+tool))
	}
	f.Add("arguments", visible.Line(string(a.Arguments)))
	f.Add("hint", a.Words)
	f.Add("with", visible.Line(string(a.Payload)))
	f.Add("described", visible.Line(a.Description))
	if a.Destructive {
		f.Add("effects", "it is destructive")
	}
	f.Add("risk", visible.Line(a.Risk))
	declared := slices.DeleteFunc(slices.Clone(a.Declared), func(says string) bool { return a.Destructive && says == "destructive" })
	f.Add("declared", visible.Line(strings.Join(declared, ", ")))
	if len(a.Claimed) > 0 {
		f.Add("claimed", visible.Line(strings.Join(a.Claimed, ", "))+" (not verified)")
	}
	f.Add("gate", visible.Line(a.Gate))
	if a.FourEyes {
		f.Add("four eyes", "the requester, principals that it acts for, and principals that act for any of these may not decide")
	}
	if v := a.Votes; v != nil {
		f.Add("votes", visible.Line(votesText(v)))
	} else if a.Approvers != nil {
		f.Add("approvers", visible.Line(a.Approvers.String()))
	}
	if a.Human {
		f.Add("human", "no program may decide")
	}
	if g := a.Grants; g != nil && a.State == client.Pending {
		f.Add("may grant", visible.Line(strings.Join(g.Scopes, ", ")+"; see approvals approve --grant"))
	}
	f.Add("requester", PrincipalText(&a.Requester))
	if a.RequesterRevoked {
		f.Add("caution", "the credential of the requester is no longer valid: the key was removed or revoked, or has expired")
	}
	f.Add("requested", display.Exactly(a.Requested, now))
	if a.Reminded != nil {
		f.Add("reminded", display.Exactly(*a.Reminded, now))
	}
	if a.Escalated != nil {
		to := ""
		if len(a.EscalatedTo) > 0 {
			to = "to " + strings.Join(a.EscalatedTo, ", ") + ", "
		}
		f.Add("escalated", visible.Line(to+display.Exactly(*a.Escalated, now)))
	}
	if a.State == client.Pending {
		f.Add("deadline", display.Exactly(deadline(a), now)+deadlineText(a))
	}
	f.Add("before", beforeText(d, now))
	f.Add("task", a.Task)
	f.Add("digest", a.Digest)
	f.Add("replaces", a.Supersedes)
	f.Add("equal to", equalText(a.EqualTo))
	if r := a.Resolution; r != nil {
		f.Add("decided", visible.Line(fmt.Sprintf("%s by %s, %s, %s", a.State, byText(r.By), cmp.Or(viaTexts[r.Via], "by itself"), display.Exactly(r.At, now))))
		f.Add("runs with", visible.Line(string(r.Arguments)))
		f.Add("reason", r.Reason)
		f.Add("response", visible.Line(string(r.Response)))
		f.Add("grant", r.Grant)
	}
	if run := d.Run; run != nil && (run.State == "started" || run.State == "finished" || run.State == "unknown") {
		f.Add("call", visible.Line(strings.TrimSpace(run.State+" "+run.Outcome)))
		f.Add("error", run.Error)
	}
	switch {
	case a.State != client.Pending:
	case !d.May.Decide:
		f.Add("you", d.May.WhyNot)
	case d.May.Voted:
		f.Add("you", "you have approved, and may still reject")
	}
	return f.String()
}

// equalText names other approvals that wait and ask the same.
func equalText(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return visible.Line(display.Count(len(ids), "other waiting call")+": "+strings.Join(ids, ", ")) + "; each approval runs its own"
}

func deadlineText(a *client.Approval) string {
	if a.Deadline == nil {
		return ""
	}
	then := map[string]string{"cancel": "the task is canceled", "keep": "it still waits"}[a.OnDeadline]
	return "; then " + cmp.Or(then, "it counts as rejected")
}

// beforeText describes earlier decisions about the same call.
func beforeText(d *client.ApprovalDetail, now time.Time) string {
	if len(d.Before) == 0 {
		return ""
	}
	last := &d.Before[0]
	text := fmt.Sprintf("the same call was %s", last.State)
	if r := last.Resolution; r != nil {
		text += " by " + byText(r.By) + " " + display.Ago(r.At, now)
	}
	if more := len(d.Before) - 1; more > 0 {
		text += "; and " + display.Count(more, "more time") + " before"
	}
	return text
}

var viaTexts = map[string]string{"a2a": "in a message", "api": "as an approver", "provider": "by the program"}

// byText returns the principal that decided.
func byText(by *client.Principal) string {
	if by == nil {
		return "the server"
	}
	return PrincipalText(by)
}

// WaitsText says that a task waits for an approval: for whose votes, or else, unless the caller only
// watches, for whose decision. 'approvals show' tells why the caller may not decide it.
func WaitsText(d *client.ApprovalDetail, watches bool) string {
	a := &d.Approval
	text := "it waits for approval " + remote.ShortID(a.ID) + " of " + visible.Line(a.Tool)
	switch {
	case a.Votes != nil:
		return text + ": " + visible.Line(votesText(a.Votes))
	case watches:
		return text
	}
	text += " by another person"
	if names := a.Approvers.String(); names != "" {
		text += " (" + visible.Line(names) + ")"
	}
	return text + "; the result follows by itself"
}

// votesText returns how far the votes of an approval are.
func votesText(v *client.Votes) string {
	text := fmt.Sprintf("%d of %d", v.Have, v.Need)
	for i := range v.Given {
		text += display.After(map[bool]string{true: ": ", false: "; "}[i == 0], PrincipalText(&v.Given[i].By)) + display.After(", who says: ", v.Given[i].Reason)
	}
	return text + display.After("; missing: ", v.Missing)
}

// PrincipalText describes a principal: the name, and the other known facts.
func PrincipalText(p *client.Principal) string {
	text := visible.Line(p.Subject)
	if p.Person != "" && p.Person != p.Subject {
		text += ", who is " + visible.Line(p.Person)
	}
	if p.Kind != "" {
		text += ", a " + visible.Line(p.Kind)
	}
	if len(p.Through) > 0 {
		text += ", through " + visible.Line(strings.Join(p.Through, ", "))
	}
	if p.Tenant != "" {
		text += " in " + visible.Line(p.Tenant)
	}
	return text
}
