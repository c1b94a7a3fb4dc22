package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"a2a-server/approval/condition"
	"a2a-server/auth"
	"a2a-server/internal/strictjson"
	"a2a-server/tool"
)

// How an answer may arrive: the values of [Resolution].Via.
const (
	ViaA2A      = "a2a"      // a message of the A2A client
	ViaAPI      = "api"      // the approvals API, the inbox or the command line
	ViaProvider = "provider" // a program that embeds the server
	ViaSystem   = "system"   // no decider: a deadline, a cancel, a successor
	ViaPolicy   = "policy"   // no decider: a gate that denies, and was not there when it was asked
)

// Limits of an answer, in bytes.
const (
	MaxReason = 4 << 10
	// MaxJSON is for each of the arguments, the response and the payload.
	MaxJSON = 128 << 10
)

// A Decider is a principal that answers.
type Decider struct {
	By  auth.Principal // as it is now: a withdrawn role does not count
	Via string         // a Via constant
	// Delegated admits services, and principals with an acting agent. See
	// [auth.Principal.Direct].
	Delegated bool
}

// Check reports whether d may answer a with ans at now. A nil error means that the answer
// takes effect as it is, except that the arguments of an edit still have to pass the tool's
// schema and the policy. Any other error is an *[Error].
//
// The answer is d's, whatever the answer itself says. ans.ID is ignored; [Match] finds the
// approval. Every member of an answer has an effect: Check refuses members that its decision or
// the tool would ignore.
func (a *Approval) Check(ans Decision, d Decider, now time.Time) error {
	if err := a.check(ans, d, now); err != nil {
		return err
	}
	return nil
}

// Permits reports whether d may decide a at now, whatever the decision: a is pending and not
// overdue, and d may decide it. Any error is an *[Error].
func (a *Approval) Permits(d Decider, now time.Time) error {
	if err := a.permits(d, now); err != nil {
		return err
	}
	return nil
}

func (a *Approval) permits(d Decider, now time.Time) *Error {
	switch {
	case d.By.IsZero():
		return barred(a, BarredUnknown, "the sender of the answer is unknown; authenticate and send it again")
	case a.State != Pending:
		return a.refusal(nil)
	case Overdue(a, now):
		return tooLate(a)
	}
	return a.checkPerson(d)
}

// Conceals returns an error if a has ended, its gates hide something, and d could not have decided it: an
// answer that depends on a decision would tell whether that is the content.
func (a *Approval) Conceals(d Decider) *Error {
	if a.State == Pending || !a.Hides() {
		return nil
	}
	return a.checkPerson(d)
}

func (a *Approval) check(ans Decision, d Decider, now time.Time) *Error {
	if a.State != Pending && !d.By.IsZero() {
		if err := a.Conceals(d); err != nil {
			return err
		}
		if a.settledBy(ans) {
			return Decided(a)
		}
	}
	if err := a.permits(d, now); err != nil { // before the digest, which may be guessed
		return err
	}
	if ans.Digest != "" && ans.Digest != a.Digest {
		return Changed(a, nil)
	}
	if err := a.checkDecision(ans.Type); err != nil {
		return err
	}
	if err := a.checkVote(ans.Type, d); err != nil {
		return err
	}
	if a.WrongCode(ans) {
		return NotAllowed(a, "the typed code is wrong; read the task for the code")
	}
	if err := a.checkContent(ans); err != nil {
		return err
	}
	if ans.Type == Edit && ans.Grant == nil && a.AskKind != askConfirm { // which edits no arguments of the call
		return a.checkApprovers(d, "the edited call", ans.Args)
	}
	return a.checkGrant(ans, d)
}

// checkPerson says whether d may answer a, and in this way.
func (a *Approval) checkPerson(d Decider) *Error {
	switch d.Via {
	case ViaAPI, ViaProvider:
	case ViaA2A:
		if a.Elsewhere() {
			return barred(a, BarredWay, fmt.Sprintf("the A2A client may not answer it; %s has to do so, with the pages, 'a2a-server approvals' or the approvals API", a.Awaited()))
		}
	default:
		return barred(a, BarredWay, fmt.Sprintf("%s is not a way to answer", quote(d.Via)))
	}
	if d.Via != ViaProvider { // it is a part of the program, and has no credential
		if !a.mayDecide(d.By) {
			return barred(a, BarredRole, "the sender of the answer has no role for that; have an approver of the tenant answer")
		}
		if !d.Delegated && !d.By.Direct() {
			return barred(a, BarredDelegated, "only a person may answer, directly: this credential is of a service, or of an agent that acts for another principal; have a person answer, or have the operator of the server set delegated_decisions")
		}
	}
	if a.Terms.Human && (d.Via == ViaProvider || !d.By.Direct()) {
		return barred(a, BarredHuman, fmt.Sprintf("it (gate %s) wants a person's own answer; have a person answer", quote(a.Terms.Gate)))
	}
	if err := a.checkApprovers(d, "it", a.Args); err != nil {
		return err
	}
	switch {
	case !a.Terms.FourEyes || a.ofOthers(d.By):
	case d.By.Doubtful():
		return doubtful(a, d.By)
	case a.Voted(d.By) != nil: // whose edit, with a vote, has made the call their request, too
	case !a.Requester.IsZero() && !a.Requester.IsAnonymous() && !a.Requester.Shares(d.By) && !slices.ContainsFunc(a.Editors, d.By.Shares):
		return barred(a, BarredPerson, fmt.Sprintf("it (gate %s) needs a decider other than the requester and the editors of the call, who may be the same person with another login; have the operator of the server name the persons of both (auth.people)", quote(a.Terms.Gate)))
	default:
		return barred(a, BarredFourEyes, fmt.Sprintf("it (gate %s) needs a decider other than the requester of the call and the parties in its chain; have another person answer",
			quote(a.Terms.Gate)))
	}
	return nil
}

// doubtful returns the error of a decider whose person nobody has seen, where persons must differ.
func doubtful(a *Approval, by auth.Principal) *Error {
	return barred(a, BarredPerson, fmt.Sprintf("it (gate %s) needs to know who decides, and nobody has been seen as %s, whom the credential of %s names; have them sign in to the pages or send a message with that login, or have the operator of the server correct the person of that credential",
		quote(a.Terms.Gate), quote(by.Person), quote(by.Subject)))
}

// checkApprovers says whether d is among the approvers of a, as they are now, for the call with
// these arguments; what names that call. A condition that is false and one that fails are refused in
// the same words, which tell nothing of masked arguments.
func (a *Approval) checkApprovers(d Decider, what string, args json.RawMessage) *Error {
	now := Terms{Approvers: a.Approvers(), Needs: a.Needs()}
	if now.includes(d.By, a.facts(args)) {
		return nil
	}
	who := "its approvers"
	if named := now.Approvers.String(); now.conditional() && named != "" {
		who += " (" + named + ")"
	}
	return barred(a, BarredApprovers, fmt.Sprintf("%s (gate %s) is for %s; have one of them answer", what, quote(a.Terms.Gate), who))
}

// facts returns the call of a, with these arguments, for the conditions on its deciders. It is nil
// if the terms have none, or the arguments cannot be read.
func (a *Approval) facts(args json.RawMessage) *condition.Facts {
	if !a.Terms.conditional() {
		return nil
	}
	decoded, err := tool.DecodeArgs(args)
	if err != nil {
		return nil
	}
	return factsOf(decoded, a.Tool, a.Agent, a.Requester)
}

// ofOthers reports whether all who have requested or edited the call are known to be other persons than by.
func (a *Approval) ofOthers(by auth.Principal) bool {
	return a.Requester.DistinctFrom(by) && !slices.ContainsFunc(a.Editors, func(p auth.Principal) bool { return !p.DistinctFrom(by) })
}

// mayDecide reports whether by has a role to decide approvals of a's requester. Requests
// without authentication are for admins, and for that caller itself.
func (a *Approval) mayDecide(by auth.Principal) bool {
	switch own := by.Tenant == a.Requester.Tenant && by.Subject == a.Requester.Subject; {
	case by.Validate() != nil:
		return false
	case own:
		return by.May(auth.Decide) == nil
	case a.Requester.IsAnonymous():
		return by.May(auth.Admin) == nil
	}
	return by.Tenant == a.Requester.Tenant && by.Whole(auth.Decide)
}

// Decisions returns the decisions that a takes, in the order in which they are offered.
func (a *Approval) Decisions() []DecisionType {
	decisions := AllowedDecisions(a.Kind, a.Terms)
	if a.AskKind == askConfirm && (len(a.Schema) == 0 || len(a.Terms.Needs) > 0 || a.Terms.FourEyes) { // others would not see the edit
		decisions = slices.DeleteFunc(decisions, func(v DecisionType) bool { return v == Edit })
	}
	return decisions
}

// Offers returns the decisions that d may make about a while it is pending, and reports whether an approve
// of d's may make a grant.
func (a *Approval) Offers(d Decider) (decisions []DecisionType, grants bool) {
	if a.checkPerson(d) != nil {
		return nil, false
	}
	decisions = slices.DeleteFunc(a.Decisions(), func(t DecisionType) bool { return a.checkVote(t, d) != nil })
	if !a.Grantable() || !slices.Contains(decisions, Approve) {
		return decisions, false
	}
	grant := Decision{Type: Approve, Grant: &GrantRequest{Scope: a.Terms.Grants.Scopes[0]}}
	return decisions, a.checkGrant(grant, d) == nil
}

// Replaced returns what an edit of a confirmation replaces, if a is one that takes an edit: the
// arguments in its payload. nil: an edit of a replaces Args, or a takes none.
func (a *Approval) Replaced() json.RawMessage {
	var shown struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if a.AskKind != askConfirm || len(a.Schema) == 0 || json.Unmarshal(a.Payload, &shown) != nil {
		return nil
	}
	return shown.Arguments
}

func (a *Approval) checkDecision(v DecisionType) *Error {
	decisions := a.Decisions()
	if slices.Contains(decisions, v) {
		return nil
	}
	next := "answer with one of: " + join(decisions, ", ")
	if !v.known() {
		return Malformed(a.ID, next, Violation{Field: "decision", Description: fmt.Sprintf("%s is not a decision", quote(string(v)))})
	}
	if a.Kind == KindQuestion && v == Approve {
		return NotAllowed(a, "it is a question, which cannot be approved; "+next)
	}
	return NotAllowed(a, fmt.Sprintf("%s is not among its decisions; %s", v, next))
}

// checkContent reports whether ans holds exactly the members that its decision needs: the sender
// of arguments with an approval believes that these will run.
func (a *Approval) checkContent(ans Decision) *Error {
	var wrong []Violation
	add := func(field, description string) {
		wrong = append(wrong, Violation{Field: field, Description: description})
	}
	if len(ans.Reason) > MaxReason {
		add("reason", fmt.Sprintf("is %d bytes long; at most %d are allowed", len(ans.Reason), MaxReason))
	} else if !utf8.ValidString(ans.Reason) {
		add("reason", "is not UTF-8")
	}
	for _, f := range []struct {
		name     string
		raw      json.RawMessage
		decision DecisionType
	}{{"args", ans.Args, Edit}, {"response", ans.Response, Respond}} {
		switch {
		case ans.Type == f.decision && len(f.raw) == 0:
			add(f.name, fmt.Sprintf("is missing; %s needs it", f.decision))
		case ans.Type != f.decision && len(f.raw) > 0:
			add(f.name, fmt.Sprintf("belongs to %s, not to %s", f.decision, ans.Type))
		case len(f.raw) > MaxJSON:
			add(f.name, fmt.Sprintf("is %d bytes long; at most %d are allowed", len(f.raw), MaxJSON))
		case len(f.raw) == 0:
		case f.decision == Edit:
			_, err := strictjson.DecodeObject(f.raw)
			if err == nil && a.AskKind == askConfirm {
				err = a.checkResponse(f.raw)
			}
			wrong = append(wrong, violations(f.name, err)...)
		default:
			wrong = append(wrong, violations(f.name, a.checkResponse(f.raw))...)
		}
	}
	switch {
	case len(ans.Payload) == 0:
	case !a.AcceptsPayload():
		add("payload", a.noPayload())
	case len(ans.Payload) > MaxJSON:
		add("payload", fmt.Sprintf("is %d bytes long; at most %d are allowed", len(ans.Payload), MaxJSON))
	default:
		_, err := strictjson.Decode(ans.Payload)
		wrong = append(wrong, violations("payload", err)...)
	}
	if len(wrong) == 0 {
		return nil
	}
	return Malformed(a.ID, "correct that and send the answer again", wrong...)
}

// noPayload refuses a payload that no tool would read, and names the alternative.
func (a *Approval) noPayload() string {
	if len(a.Terms.Needs) > 0 {
		return "cannot be sent with a vote, because the other persons have not seen it; leave it out"
	}
	if slices.Contains(a.Decisions(), Edit) {
		return fmt.Sprintf("is not read by %s, so the arguments that were shown would run; leave it out, or use edit to change the arguments", quote(a.Tool))
	}
	return fmt.Sprintf("is not read by %s; leave it out", quote(a.Tool))
}

// checkResponse checks a response against the schema of the question.
func (a *Approval) checkResponse(raw json.RawMessage) error {
	v, err := strictjson.Decode(raw)
	if err != nil || len(a.Schema) == 0 {
		return err
	}
	var schema map[string]any
	if err := json.Unmarshal(a.Schema, &schema); err != nil {
		return fmt.Errorf("cannot be checked, because the schema of the question cannot be read: %w", err)
	}
	compiled, err := tool.CompileSchema(schema)
	if err != nil {
		return fmt.Errorf("cannot be checked, because the schema of the question is not valid: %w", err)
	}
	return compiled.Validate(v)
}

// violations lists the violations of a field in err, one for each place if err has places.
func violations(field string, err error) []Violation {
	if err == nil {
		return nil
	}
	if invalid, is := errors.AsType[*tool.InvalidError](err); is && len(invalid.Violations) > 0 {
		list := make([]Violation, len(invalid.Violations))
		for i, v := range invalid.Violations {
			list[i] = Violation{Field: field + v.Pointer, Description: v.Message}
		}
		return list
	}
	if strict, is := errors.AsType[*strictjson.Error](err); is {
		return []Violation{{Field: field + strict.Pointer, Description: strict.Reason}}
	}
	return []Violation{{Field: field, Description: err.Error()}}
}

// checkGrant reports whether d may make the grant that an answer asks for.
func (a *Approval) checkGrant(ans Decision, d Decider) *Error {
	g := ans.Grant
	if g == nil {
		return nil
	}
	wrong := func(field, description string) *Error {
		return Malformed(a.ID, "correct that and send the answer again", Violation{Field: field, Description: description})
	}
	switch {
	case ans.Type != Approve:
		return wrong("grant", fmt.Sprintf("belongs to approve, not to %s", ans.Type))
	case d.Via == ViaProvider || !d.By.Direct():
		return barred(a, BarredDelegated, "only a person makes grants, directly; approve it without a grant")
	case !a.Grantable():
		return NotAllowed(a, fmt.Sprintf("its gate (%s) allows no grants for this call; approve it without a grant", quote(a.Terms.Gate)))
	case !a.Terms.includes(d.By, a.facts(a.Args)): // whom the escalation of this question has added
		return barred(a, BarredApprovers, fmt.Sprintf("its gate (%s) names others for grants; approve it without a grant", quote(a.Terms.Gate)))
	}
	terms := a.Terms.Grants
	most := MaxGrantUses
	if terms.Uses > 0 {
		most = terms.Uses
	}
	switch {
	case !slices.Contains(terms.Scopes, g.Scope):
		return wrong("grant.scope", fmt.Sprintf("%s is not among the scopes that the gate allows: %s", quote(string(g.Scope)), join(terms.Scopes, ", ")))
	case g.For < 0 || g.For > terms.Longest() || g.For > 0 && g.For < time.Second:
		return wrong("grant.seconds", fmt.Sprintf("a grant is for 1s to %s", Span(terms.Longest())))
	case g.Uses < 0 || g.Uses > most:
		return wrong("grant.uses", fmt.Sprintf("is out of range; write a number from 1 to %d", most))
	}
	return nil
}
