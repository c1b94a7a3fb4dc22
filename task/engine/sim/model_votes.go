package sim

import (
	"slices"

	"a2a-server/approval"
	"a2a-server/auth"
)

// voters are the principals that decide with Decide, where calls need two people.
var voters = []auth.Principal{bob, {Tenant: "acme", Subject: "dora", Roles: []string{auth.RoleApprover}, Method: "sim"}}

// decider returns the principal of a decision that is no message. The choice is in a lane of its own:
// the tapes stay what they are.
func (w *world) decider() auth.Principal {
	if !w.people {
		return bob
	}
	return voters[w.besides(len(voters))]
}

// besides is a choice in a lane of its own.
func (w *world) besides(n int) int {
	before := w.choices.lane[Script]
	w.choices.Lane(Script, w.cfg.Actions+2)
	defer w.choices.Lane(Script, before)
	return w.choices.Choose(Script, n)
}

// voted checks a vote: it is of a pending approval, in time, and the first of its person.
func (m *model) voted(t *modelTask, v *event) {
	a := t.approval(v.ID)
	if a == nil || a.State != approval.Pending || len(a.Terms.Needs) == 0 {
		m.fail(t, "what is pending gets votes", "%s is %s", v.ID, a)
		return
	}
	for _, o := range a.Votes {
		if o.By.Subject == v.Vote.By.Subject && o.Digest == v.Vote.Digest {
			m.fail(t, "a person has one vote", "%s votes again for %s", o.By.Subject, a.ID)
		}
	}
	if a.Deadline != nil && !v.Vote.At.Before(*a.Deadline) {
		m.fail(t, "a vote is in time", "for %s at %s, whose deadline was %s", a.ID, v.Vote.At, a.Deadline)
	}
	a.Votes = append(a.Votes, v.Vote)
	m.tools.coverage.Count("a person votes")
}

// needsVotes checks that an approval that lets a call with a digest run has every vote that it needs,
// of different people.
func (m *model) needsVotes(t *modelTask, a *modelApproval, digest string) {
	for i, n := range a.Terms.Needs {
		people := map[string]bool{}
		for _, v := range a.Votes {
			if v.Digest == digest && slices.Contains(v.Meets, i) {
				people[v.By.Subject] = true
			}
		}
		if len(people) < n.People {
			m.fail(t, "no call runs before everybody has approved it who has to", "%s of %s has the votes of %d, and needs %d: %+v", a.ID, a.Call, len(people), n.People, a.Votes)
		}
		m.tools.coverage.Count("a call runs after several votes")
	}
}

// ackedVote checks an acknowledged approve or edit of an approval that needs votes. It reports
// whether a needs votes.
func (w *world) ackedVote(x *verdict, a *modelApproval, by auth.Principal) bool {
	if len(a.Terms.Needs) == 0 || x.decision != approval.Approve && x.decision != approval.Edit {
		return false
	}
	voted := slices.ContainsFunc(a.Votes, func(v approval.Vote) bool { return v.By.Subject == by.Subject })
	edited := a.State == approval.Superseded && a.Resolution.Decision == approval.Edit && string(mustJSON(x.args)) == string(a.Resolution.Args)
	if a.State != approval.Approved && !voted && !(x.decision == approval.Edit && edited) {
		w.s.Fail("an acknowledged vote is durable", "%s of %s by %s: it is %s, %+v", x.decision, a.ID, by.Subject, a.State, a.Votes)
	}
	return true
}
