package web

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"a2a-server/auth"
	"a2a-server/client"
)

// row is an approval as lists show it.
type row struct {
	*client.Approval
	Short   string
	Title   title
	Risk    badge
	Who     string
	Through string
	You     bool // it was asked for by the caller
	Asked   stamp
	Left    *stamp
	Soon    bool
	Then    string
	WhyNot  string
	Hidden  int
	Equal   string // to which other calls that wait it is equal; "": to none
	Pick    bool   // it may be decided together with other approvals of its gate
	// Set for a settled approval.
	State  badge
	Gone   bool
	By     string
	At     stamp
	Reason string
	Link   string
}

// short returns the end of an id, which people can tell apart.
func short(id string) string {
	if len(id) <= 14 {
		return id
	}
	return "…" + id[len(id)-12:]
}

func (v *visit) rowOf(a *client.Approval) row {
	_, hidden := about(a.Arguments)
	out := row{
		Approval: a, Short: short(a.ID), Title: titleOf(a), Risk: riskOf(a), Who: who(&a.Requester), Through: through(&a.Requester),
		You: v.isCaller(&a.Requester), Asked: v.ago(a.Requested), Left: v.left(a.Deadline), Then: ended(a.OnDeadline), Hidden: hidden,
		Equal: equalText(a.EqualTo), Pick: together(a), State: stateOf(a.State), Gone: a.State != client.Pending, Link: v.link("/approvals/" + url.PathEscape(a.ID)),
	}
	if a.Deadline != nil {
		out.Soon = a.Deadline.Sub(v.now).Minutes() < 10
	}
	if a.May != nil && !a.May.Decide {
		out.WhyNot = v.whyNot(a)
	}
	if r := a.Resolution; r != nil {
		out.By, out.At, out.Reason = v.by(r.By), v.ago(r.At), r.Reason
	}
	return out
}

// maxNamed is how many equal calls a row names.
const maxNamed = 3

// equalText says to which other calls a call is equal.
func equalText(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	var named []string
	for _, id := range ids[:min(len(ids), maxNamed)] {
		named = append(named, short(id))
	}
	if more := len(ids) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	calls := "calls"
	if len(ids) == 1 {
		calls = "call"
	}
	return fmt.Sprintf("equal to %d other waiting %s (%s)", len(ids), calls, strings.Join(named, ", "))
}

// whyNot says in a few words why the caller may not decide a pending approval.
func (v *visit) whyNot(a *client.Approval) string {
	switch only := decidedBy(a); {
	case a.FourEyes && (v.isCaller(&a.Requester) || v.cfg.Demo != nil && v.By.IsAnonymous()):
		return "you requested this: another person decides"
	case v.By.May(auth.Decide) != nil:
		return "your roles let you see it, not decide it"
	case only != "":
		return "decided only by " + only
	}
	return "you cannot decide this"
}

// together reports whether an approval may be decided with other approvals of its gate.
func together(a *client.Approval) bool {
	return a.State == client.Pending && a.Kind == client.KindCall && len(a.Payload) == 0 && !a.Destructive && a.Risk != "high" && a.May != nil && a.May.Decide &&
		slices.Contains(a.Decisions, client.Approve)
}

func (v *visit) isCaller(p *client.Principal) bool {
	return p != nil && p.Subject == v.By.Subject && p.Tenant == v.By.Tenant && v.By.Subject != auth.Anonymous().Subject
}

// reads reports whether the caller may read the tasks of a principal.
func (v *visit) reads(owner *client.Principal) bool {
	return v.Anonymous || v.By.Whole(auth.Read) || v.By.May(auth.Read) == nil && owner.Subject == v.By.Subject && owner.Tenant == v.By.Tenant
}

// by names the principal that decided.
func (v *visit) by(p *client.Principal) string {
	switch {
	case p == nil:
		return "the server"
	case v.isCaller(p):
		return "you"
	}
	return who(p)
}

// choice is an option of a filter.
type choice struct {
	Value, Label string
	Selected     bool
}

// inboxPage is the list of pending approvals.
type inboxPage struct {
	Rows                []row
	Tools, Gates        []choice
	Filtered, Mine      bool
	Order               string
	Waiting             string // how many; see [visit.pending]
	Yours               string // how many of them, if all are on the page
	WaitingURL, MineURL string
	Next                string // address of the next page
	Damaged             int
	Note                string
	Samples             []Sample // of a demo
	Reach               string   // which rows the caller may see, where the list could mislead
	Batch               bool     // rows can be selected
	Denied              string
}

const inboxRows = 30

func (v *visit) inbox() error {
	if err := v.By.May(auth.Review); err != nil { // the inbox is the first page after every sign-in
		return v.show(http.StatusOK, "inbox", "Inbox", "", inboxPage{Denied: err.Error()})
	}
	given := v.r.URL.Query()
	q := client.ApprovalQuery{Tool: given.Get("tool"), Gate: given.Get("gate"), Mine: given.Get("mine") == "1", Order: given.Get("order"), Cursor: given.Get("cursor"), Limit: inboxRows}
	if q.Order != "time" {
		q.Order = "deadline"
	}
	p := inboxPage{Mine: q.Mine, Order: q.Order, Filtered: q.Tool != "" || q.Gate != "", Samples: v.cfg.Demo.samples()}
	page, err := v.cfg.Service.Approvals(v.ctx(), v.Caller, q)
	if err != nil {
		return err
	}
	p.Reach = page.Reach.NoteFor(len(page.Items))
	v.filters(&p, &page, q)
	for i := range page.Items {
		one := v.rowOf(&page.Items[i])
		p.Batch = p.Batch || one.Pick
		p.Rows = append(p.Rows, one)
	}
	if p.Damaged = page.Damaged; page.Next != "" {
		p.Next = address(given, "cursor", page.Next)
	}
	return v.show(http.StatusOK, "inbox", "Inbox", "of=approvals", p)
}

// filters sets the counts, and the choices from what is on the page.
func (v *visit) filters(p *inboxPage, page *client.ApprovalPage, q client.ApprovalQuery) {
	tools, gates, yours := map[string]bool{}, map[string]bool{}, 0
	for i := range page.Items {
		a := &page.Items[i]
		tools[a.Tool], gates[a.Gate] = true, true
		if a.May == nil || a.May.Decide { // nil: it is cut
			yours++
		}
	}
	p.Tools, p.Gates = choices("Any tool", tools, q.Tool), choices("Any gate", gates, q.Gate)
	p.Waiting = v.pending()
	if page.Next == "" && q.Cursor == "" && !p.Filtered {
		p.Yours = thousands(yours)
	}
	given := v.r.URL.Query()
	given.Del("cursor")
	p.WaitingURL, p.MineURL = address(given, "mine", ""), address(given, "mine", "1")
}

// address returns the query of a page with one parameter changed.
func address(given url.Values, name, value string) string {
	with := url.Values{}
	for key, values := range given {
		if len(values) > 0 && values[0] != "" {
			with.Set(key, values[0])
		}
	}
	if value == "" {
		with.Del(name)
	} else {
		with.Set(name, value)
	}
	return "?" + with.Encode()
}

func choices(every string, known map[string]bool, selected string) []choice {
	if selected != "" {
		known[selected] = true
	}
	out := []choice{{"", every, selected == ""}}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		out = append(out, choice{name, name, name == selected})
	}
	return out
}

// row answers with a single row, for a page that shows it and got an event about a change.
func (v *visit) row(d *client.ApprovalDetail) error {
	one := v.rowOf(&d.Approval)
	said, _ := ran(d.Run)
	return v.show(http.StatusOK, "inbox", "Inbox", "", inboxPage{Rows: []row{one}, Note: said})
}
