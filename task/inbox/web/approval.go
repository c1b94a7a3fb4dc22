package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"a2a-server/client"
)

// conversationMessage is a message of a conversation.
type conversationMessage struct {
	Who   string
	Agent bool
	Text  long
	Cut   string
}

// approvalPage is an approval with the facts for its decision, or with its end and the result
// of the call.
type approvalPage struct {
	row
	AtAgent      []run // names of the agent and of its tool
	AtAgentArgs  []leaf
	About        string
	JSON         string
	Words        long    // of the tool or gate, all of them
	Gates        [][]run // that asked
	Stricter     string  // what the present gates demand in addition; "": nothing, or the caller may not ask anew
	Crumb        []run   // Title in a few words
	Description  long
	Chain        []chained
	Approvers    string
	Reminded     *stamp
	Escalated    *stamp
	EscalatedTo  string // roles
	Votes        []vote
	Conversation []conversationMessage
	Earlier      int
	Before, Same []row
	May          client.May
	Extend       string // the new deadline; "": not offered
	ExtendWords  string
	Can          map[string]bool // decisions
	Grants       []choice        // that an approve may make
	Once         string          // bounds of a grant for exactly this call; "": not offered
	Form         *form           // of a question or an outcome
	TaskLink     string          // "": the caller may not read it
	Run          *client.Call
	Ran, RanIs   string
	Error        long
	Edited       []change
	Response     []leaf
	Next, Prev   string // addresses of other approvals to decide; "": there are none
	NextCount    string
	Position     string
	Problem      *client.Error // of the caller's last attempt
	Tried        string
	Open         string // the panel that is open
}

// vote is the approval of one person among several.
type vote struct {
	By, Reason string
	At         stamp
}

// votes returns the votes for an approval.
func (v *visit) votes(a *client.Approval) (out []vote) {
	if a.Votes == nil {
		return nil
	}
	for i := range a.Votes.Given {
		g := &a.Votes.Given[i]
		out = append(out, vote{v.by(&g.By), g.Reason, v.ago(g.At)})
	}
	return out
}

type chained struct{ Name, What string }

// askedBy returns the gates that asked, as they were, with the lines of each.
func askedBy(d *client.ApprovalDetail) (all [][]run) {
	for _, g := range d.Gates {
		text := "name: " + g.Name
		for _, part := range [][2]string{{"when", g.When}, {"who", g.Who}, {"hint", g.Hint}} {
			if part[1] != "" {
				text += "\n" + part[0] + ": " + part[1]
			}
		}
		if g.More > 0 {
			text += fmt.Sprintf("\n# and %d more gates", g.More)
		}
		all = append(all, lines(text))
	}
	return all
}

const extendBy = 15 * time.Minute

// detail returns an approval with what its reader may do.
func (v *visit) detail(id string) (*client.ApprovalDetail, error) {
	d, err := v.cfg.Service.Approval(v.ctx(), v.Caller, id)
	d.Approval.May = &d.May
	return &d, err
}

func (v *visit) approval(d *client.ApprovalDetail) error {
	return v.showApproval(http.StatusOK, d, nil)
}

// showApproval answers with the page of an approval; wrong, if not nil, is the error of a
// decision on it.
func (v *visit) showApproval(status int, d *client.ApprovalDetail, wrong *client.Error) error {
	p := v.approvalPage(d)
	p.Problem = wrong
	if wrong != nil {
		p.Tried = v.r.PostForm.Get("decision")
		if wrong.Reason == client.ReasonInvalid {
			p.Open = p.Tried
		}
	} else {
		p.Open = v.query.Get("do")
	}
	return v.show(status, "approval", p.Title.heading(), "of=approvals&id="+url.QueryEscape(d.Approval.ID), p)
}

func (v *visit) approvalPage(d *client.ApprovalDetail) *approvalPage {
	a := &d.Approval
	p := &approvalPage{
		row: v.rowOf(a), Crumb: runs(shorten(titleOf(a).heading(), 60)), JSON: indented(a.Arguments), Words: v.longText(a.Words), Description: v.longText(a.Description),
		Chain: chain(a), Approvers: decidedBy(a), Votes: v.votes(a), Earlier: d.Earlier, May: d.May, Can: map[string]bool{},
		Run: d.Run, Gates: askedBy(d), Stricter: strings.Join(d.Stricter, "; "), EscalatedTo: strings.Join(a.EscalatedTo, ", "),
	}
	for to, at := range map[**stamp]*time.Time{&p.Reminded: a.Reminded, &p.Escalated: a.Escalated} {
		if at != nil {
			s := v.ago(*at)
			*to = &s
		}
	}
	if v.reads(&a.Requester) {
		p.TaskLink = v.link("/tasks/" + url.PathEscape(a.Task))
	}
	p.About, _ = about(a.Arguments)
	if agent, tool, arguments := a.AtAgent(); agent != "" {
		p.AtAgent = runs(shorten(agent+", "+tool, titleLength))
		if !bytes.Equal(arguments, a.Arguments) { // the page has them unless an edit replaces them
			p.AtAgentArgs = tree(arguments)
		}
	}
	for _, one := range a.Decisions {
		p.Can[string(one)] = d.May.Decide && (one != client.Approve || !d.May.Voted)
	}
	for i := range d.Conversation {
		m := &d.Conversation[i]
		one := conversationMessage{Who: m.Role, Agent: m.Role != "user", Text: v.longText(m.Text)}
		if m.Role == "user" {
			one.Who = who(&a.Requester)
		}
		if m.Cut > 0 {
			one.Cut = size(m.Cut) + " more"
		}
		p.Conversation = append(p.Conversation, one)
	}
	for i := range d.Before {
		p.Same = append(p.Same, v.rowOf(&d.Before[i]))
	}
	for i := range d.Tool {
		p.Before = append(p.Before, v.rowOf(&d.Tool[i]))
	}
	if d.May.Extend && a.Deadline != nil {
		until := a.Deadline.Add(extendBy)
		p.Extend, p.ExtendWords = until.UTC().Format(time.RFC3339Nano), "15 min"
	}
	p.Grants = grantChoices(a.Grants)
	if a.Grants != nil && slices.Contains(a.Grants.Scopes, client.AskOnce().Scope) {
		p.Once = bounds(a.Grants)
	}
	if a.State == client.Pending && slices.Contains(a.Decisions, client.Respond) {
		p.Form = answerForm(a)
	}
	p.Ran, p.RanIs = ran(d.Run)
	if p.RanIs == "fail" || p.RanIs == "wait" {
		p.Error = v.longText(d.Run.Error)
	}
	if r := a.Resolution; r != nil {
		if len(r.Arguments) > 0 {
			p.Edited = diff(a.Arguments, r.Arguments)
		}
		if len(r.Response) > 0 {
			p.Response = tree(r.Response)
		}
	}
	v.neighbours(p)
	return p
}

// maxNeighbours is how many approvals a page counts as the next ones.
const maxNeighbours = 20

// neighbours finds the approval to decide next.
func (v *visit) neighbours(p *approvalPage) {
	page, err := v.cfg.Service.Approvals(v.ctx(), v.Caller, client.ApprovalQuery{Mine: true, Order: "deadline", Limit: maxNeighbours})
	if err != nil {
		return
	}
	at := -1
	for i := range page.Items {
		if page.Items[i].ID == p.ID {
			at = i
		}
	}
	left, more := len(page.Items), ""
	if page.Next != "" {
		more = "+"
	}
	if at >= 0 {
		p.Position = thousands(at+1) + " of " + thousands(left) + more
		left--
	}
	if p.NextCount = thousands(left) + more; left > 0 {
		n := len(page.Items)
		p.Prev = v.link("/approvals/" + url.PathEscape(page.Items[(max(at, 0)-1+n)%n].ID))
		p.Next = v.link("/approvals/" + url.PathEscape(page.Items[(at+1)%len(page.Items)].ID))
	}
}

func chain(a *client.Approval) []chained {
	var out []chained
	what := "person"
	if a.Requester.Kind == "service" {
		what = "service"
	}
	switch a.Requester.Method {
	case "none":
		what = "unverified: the server has no authentication"
	case "":
	default:
		what += ", signed in by " + a.Requester.Method
	}
	out = append(out, chained{who(&a.Requester), what})
	for _, name := range a.Requester.Through {
		out = append(out, chained{name, "acts for " + who(&a.Requester)})
	}
	return append(out, chained{a.Agent, "this server's agent"}, chained{a.Tool, "tool"})
}

// decidedBy names the approvers of a; "": no restriction.
func decidedBy(a *client.Approval) string {
	if a.Votes == nil {
		return a.Approvers.String()
	}
	var all []string
	for _, n := range a.Votes.Needs {
		text := fmt.Sprintf("%d for %s", n.People, n.Gate)
		if who := n.Approvers.String(); who != "" {
			text += " of " + who
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func (v *visit) decide(d *client.ApprovalDetail) error {
	id, f := v.r.PathValue("id"), v.r.PostForm
	decision := client.Decision{Decision: client.DecisionType(f.Get("decision")), Digest: f.Get("digest"), Reason: reason(f)}
	wrong := func(field, text string) error {
		return v.showApproval(http.StatusUnprocessableEntity, d, &client.Error{Status: http.StatusUnprocessableEntity, Reason: client.ReasonInvalid, Title: "Nothing was decided", Detail: text, Fields: []client.FieldError{{Field: field}}})
	}
	switch decision.Decision {
	case client.Edit, client.Approve:
		if decision.Decision == client.Edit {
			decision.Arguments = json.RawMessage(f.Get("arguments"))
		} else {
			decision.Grant = grantOf(f)
		}
		if d.Approval.Destructive && d.Approval.State == client.Pending && strings.TrimSpace(f.Get("confirm")) != d.Approval.Tool {
			if decision.Decision == client.Edit {
				return v.showEdit(http.StatusUnprocessableEntity, d, decision.Arguments, "This call is destructive: type the name of its tool before it is approved.")
			}
			return wrong("confirm", "This call is destructive: type the name of its tool before it is approved.")
		}
	case client.Respond:
		var err error
		if decision.Response, err = answerForm(&d.Approval).value(f); err != nil {
			return wrong("response", err.Error())
		}
	case client.Reject, client.Cancel:
	}
	if _, err := v.cfg.Service.Decide(v.ctx(), v.Caller, id, decision); err != nil {
		p := v.problem(err, id)
		if decision.Decision == client.Edit && p.Reason == client.ReasonInvalid {
			return v.showEdit(p.Status, d, decision.Arguments, p.Error())
		}
		return v.refused(err, p, id)
	}
	if f.Get("back") == "try" {
		return v.seeOther("/try?task=" + url.QueryEscape(d.Approval.Task))
	}
	return v.seeOther("/approvals/" + url.PathEscape(id))
}

// reason joins the picked reason and the written one.
func reason(f url.Values) string {
	why, more := f.Get("why"), strings.TrimSpace(f.Get("reason"))
	if why != "" && more != "" {
		return why + ": " + more
	}
	return why + more
}

func (v *visit) extend() error {
	id, f := v.r.PathValue("id"), v.r.PostForm
	until, err := time.Parse(time.RFC3339Nano, f.Get("until"))
	if err != nil {
		return invalid(http.StatusBadRequest, "The deadline cannot be read", "go back to the approval, and extend it there")
	}
	if _, err := v.cfg.Service.Extend(v.ctx(), v.Caller, id, client.Extension{Digest: f.Get("digest"), Until: until}); err != nil {
		return v.refused(err, v.problem(err, id), id)
	}
	return v.seeOther("/approvals/" + url.PathEscape(id))
}

func (v *visit) askAnew() error {
	id := v.r.PathValue("id")
	done, err := v.cfg.Service.AskAnew(v.ctx(), v.Caller, id, client.Anew{Digest: v.r.PostForm.Get("digest")})
	if err != nil {
		return v.refused(err, v.problem(err, id), id)
	}
	if done.Approval != nil {
		id = done.Approval.ID
	}
	return v.seeOther("/approvals/" + url.PathEscape(id))
}

// refused answers with the page of an approval as it is now, and why a change of it was refused.
func (v *visit) refused(err error, p *client.Error, id string) error {
	now, gone := v.detail(id)
	if gone != nil {
		return err
	}
	return v.showApproval(p.Status, now, p)
}
