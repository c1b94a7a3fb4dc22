package approval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"a2a-server/approval/condition"
	"a2a-server/auth"
	"a2a-server/internal/visible"
)

// MaxPeople is the largest number of people that a gate may ask for.
const MaxPeople = 10

// A Need is the demand of a gate for the votes of several persons.
type Need struct {
	Gate   string `json:"gate"`
	People int    `json:"people"` // from 1
	// Approvers are the principals whose votes count; nil: all who may decide.
	Approvers *Approvers `json:"approvers,omitempty"`
}

// A Vote is the approval of one person while others are needed. It says what was true when it was
// committed: a role that is withdrawn later does not take it back.
type Vote struct {
	By     auth.Principal `json:"by"`
	Via    string         `json:"via"` // a Via constant
	At     time.Time      `json:"at"`
	Digest string         `json:"digest"` // of the call that the person has seen, or has edited
	Reason string         `json:"reason,omitempty"`
	Meets  []int          `json:"meets"` // the places in Terms.Needs for which it counts
}

// open returns the needs of a that its votes for a call with this digest leave open, with People lowered to
// the number that is missing. A person counts once for each need, and votes of principals that are
// not known to be different persons count once together.
func (a *Approval) open(digest string) []Need {
	var open []Need
	for i, n := range a.Needs() {
		if n.People = n.lacks(i, a.Votes, digest); n.People > 0 {
			open = append(open, n)
		}
	}
	return open
}

// lacks returns how many persons the need at a place still lacks.
func (n *Need) lacks(at int, votes []Vote, digest string) int {
	given := persons(votes, digest, func(v *Vote) bool { return slices.Contains(v.Meets, at) })
	return max(max(n.People, 1)-given, 0)
}

// persons returns how many persons have given votes that count for a call with this digest, of those that meet.
func persons(votes []Vote, digest string, meets func(*Vote) bool) int {
	var counted []auth.Principal
	for i := range votes {
		v := &votes[i]
		if v.Digest == digest && meets(v) && !v.By.Doubtful() && !slices.ContainsFunc(counted, func(p auth.Principal) bool { return !p.DistinctFrom(v.By) }) {
			counted = append(counted, v.By)
		}
	}
	return len(counted)
}

// Met reports whether the call with this digest has every vote that a needs.
func (a *Approval) Met(digest string) bool { return len(a.open(digest)) == 0 }

// Voted returns the vote of a principal's person for the call that a shows, nil if there is none.
func (a *Approval) Voted(by auth.Principal) *Vote {
	for i := range a.Votes {
		if v := &a.Votes[i]; v.Digest == a.Digest && v.By.SamePerson(by) {
			return v
		}
	}
	return nil
}

// AddsVote reports whether by meets an open need of a that no vote of the same person has met: another login of
// a person, or a new role, may give the vote that the first could not.
func (a *Approval) AddsVote(by auth.Principal) bool {
	call := a.facts(a.Args)
	for i, n := range a.Needs() {
		met := slices.ContainsFunc(a.Votes, func(v Vote) bool {
			return v.Digest == a.Digest && slices.Contains(v.Meets, i) && v.By.SamePerson(by)
		})
		if !met && n.lacks(i, a.Votes, a.Digest) > 0 && n.Approvers.Include(by, call) {
			return true
		}
	}
	return false
}

// Repeats reports whether ans only repeats the vote of by for the call that a shows.
func (a *Approval) Repeats(ans Decision, by auth.Principal) bool {
	return a.State == Pending && ans.Type == Approve && agree(ans.Digest, a.Digest) && agree(ans.Code, a.Code) && ans.Grant == nil &&
		len(ans.Args)+len(ans.Response)+len(ans.Payload) == 0 && a.Voted(by) != nil && !a.AddsVote(by)
}

// NewVote returns the vote of a principal, whose decision [Approval.Check] has passed, for the call
// with this digest and these arguments.
func (a *Approval) NewVote(d Decider, digest string, args json.RawMessage, reason string, now time.Time) Vote {
	v := Vote{By: d.By, Via: d.Via, At: moment(now), Digest: digest, Reason: reason, Meets: []int{}}
	call := a.facts(args)
	for i, n := range a.Needs() {
		if n.Approvers.Include(d.By, call) {
			v.Meets = append(v.Meets, i)
		}
	}
	return v
}

// checkVote says whether an approve or edit of d counts as a vote.
func (a *Approval) checkVote(t DecisionType, d Decider) *Error {
	if len(a.Terms.Needs) == 0 || t != Approve && t != Edit {
		return nil
	}
	if d.Via == ViaProvider || !d.By.Direct() {
		return barred(a, BarredHuman, "it needs the votes of several persons, and programs have none; have a person answer, or reject it")
	}
	if d.By.Doubtful() {
		return doubtful(a, d.By)
	}
	if t == Edit {
		return nil // its vote is the first for the edited call, and checkPerson knows a need for it
	}
	adds := a.AddsVote(d.By)
	if adds && a.Terms.FourEyes && !a.ofOthers(d.By) { // who has edited the call, whose vote counts for that
		return barred(a, BarredFourEyes, "it has their vote, of their edit, and needs other persons beside the authors of edits; have another person answer")
	}
	for i := range a.Votes {
		if v := &a.Votes[i]; v.Digest == a.Digest && !v.By.DistinctFrom(d.By) && (!adds || !v.By.SamePerson(d.By)) {
			return barred(a, BarredPerson, fmt.Sprintf("%s has voted, who may be the same person or act for them; have another person answer, or have the operator of the server name the persons of both logins (auth.people)",
				quote(v.By.Subject)))
		}
	}
	open, call := a.open(a.Digest), a.facts(a.Args)
	if !slices.ContainsFunc(open, func(n Need) bool { return n.Approvers.Include(d.By, call) }) {
		return barred(a, BarredApprovers, fmt.Sprintf("it has the votes that they can give; missing: %s; have one of these answer, or reject it", missing(open)))
	}
	return nil
}

// includes reports whether the terms let p decide about a call, apart from four eyes and an
// escalation.
func (t *Terms) includes(p auth.Principal, call *condition.Facts) bool {
	if len(t.Needs) > 0 && !slices.ContainsFunc(t.Needs, func(n Need) bool { return n.Approvers.Include(p, call) }) {
		return false
	}
	return t.Approvers.Include(p, call)
}

// Tally is how far the votes of an approval are.
type Tally struct {
	Have, Need int    // persons who have voted, and the fewest who have when all needs are met: one may meet several
	Votes      []Vote // for the call that is shown, in their order
	Open       []int  // for each need, how many are missing
	Missing    string // such as "1 of role finance"; "": nothing
}

// Tally counts the votes for the call that a shows; nil: a needs none.
func (a *Approval) Tally() *Tally {
	if len(a.Terms.Needs) == 0 || a.Kind == KindQuestion { // which one person answers
		return nil
	}
	digest := a.Digest
	if a.State == Edited && a.Resolution != nil {
		digest = cmp.Or(a.Resolution.Digest, digest)
	}
	t := &Tally{Missing: missing(a.open(digest))}
	for _, v := range a.Votes {
		if v.Digest == digest {
			t.Votes = append(t.Votes, v)
		}
	}
	t.Have = persons(a.Votes, digest, func(v *Vote) bool { return len(v.Meets) > 0 })
	t.Need = t.Have
	for i, n := range a.Terms.Needs {
		open := n.lacks(i, a.Votes, digest)
		t.Open = append(t.Open, open)
		t.Need = max(t.Need, t.Have+open)
	}
	return t
}

// Deciders returns the subjects of the persons by whose votes and decision a lets the call with this
// digest run: the voters in their order, then the decider, each once.
func (a *Approval) Deciders(digest string) (subjects []string) {
	for _, v := range a.Votes {
		if v.Digest == digest && !slices.Contains(subjects, v.By.Subject) {
			subjects = append(subjects, v.By.Subject)
		}
	}
	if r := a.Resolution; r != nil && !slices.Contains(subjects, r.By.Subject) {
		subjects = append(subjects, r.By.Subject)
	}
	return subjects
}

// String returns the tally in words, such as "1 of 2: key:bob; missing: 1 of role finance".
func (t *Tally) String() string {
	text := fmt.Sprintf("%d of %d", t.Have, t.Need)
	if len(t.Votes) > 0 {
		names := make([]string, len(t.Votes))
		for i, v := range t.Votes {
			names[i] = visible.Shorten(visible.Line(v.By.Subject), maxValue)
		}
		text += ": " + strings.Join(names, ", ")
	}
	if t.Missing != "" {
		text += "; missing: " + t.Missing
	}
	return text
}

// missing says what open needs lack.
func missing(open []Need) string { return listNeeds(open, "more") }

// listNeeds says how many people have to approve, and of whom; anyone follows the number of a need without approvers.
func listNeeds(needs []Need, anyone string) string {
	var all []string
	for _, n := range needs {
		text := fmt.Sprint(n.People)
		if who := n.Approvers.String(); who != "" {
			text += " of " + visible.Shorten(who, maxValue)
		} else {
			text += " " + anyone
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// demands returns the needs of t, also if it is one decision.
func (t *Terms) demands() []Need {
	if t.Needs != nil {
		return t.Needs
	}
	return []Need{{t.Gate, 1, t.Approvers}}
}

// needs merges the needs of gates: a need that any vote for another meets is left out.
func needs(of []Need) []Need {
	var kept []Need
	for _, n := range of {
		same := slices.IndexFunc(kept, func(k Need) bool {
			return k.Approvers == nil && n.Approvers == nil || k.Approvers != nil && n.Approvers != nil && k.Approvers.same(*n.Approvers)
		})
		switch {
		case same < 0:
			kept = append(kept, n)
		case n.People > kept[same].People:
			kept[same] = n
		}
	}
	return slices.DeleteFunc(kept, func(n Need) bool {
		return n.Approvers == nil && slices.ContainsFunc(kept, func(k Need) bool { return k.Approvers != nil && k.People >= n.People })
	})
}
