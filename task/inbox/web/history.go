package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"a2a-server/client"
)

// historyPage is the audit, the newest first.
type historyPage struct {
	Days   []day
	Tool   string
	What   string // "": decisions only
	Next   string
	Empty  bool
	Before bool
	Reach  string // which entries the caller may see, where the list could mislead
}

type day struct {
	Date    string
	Entries []entry
}

type entry struct {
	*client.AuditEntry
	At             stamp
	State          badge
	Title          *title // nil: the caller may not see the approval, or there is none
	By, Via        string
	Approval, Task string // addresses; "": none
}

const historyRows = 50

func showHistory(v *visit) error {
	q := v.r.URL.Query()
	before, _ := strconv.ParseUint(q.Get("before"), 10, 63) // from the newest on, for anything else
	p := historyPage{Tool: q.Get("tool"), What: q.Get("what"), Before: before > 0}
	page, reach, err := v.cfg.Service.History(v.ctx(), v.Caller, before, historyRows, func(e *client.AuditEntry) bool {
		return (p.Tool == "" || e.Tool == p.Tool) && (p.What == "all" || e.What == "resolved")
	})
	if err != nil {
		return err
	}
	p.Reach = reach.NoteFor(len(page.Items))
	for i := range page.Items {
		e := &page.Items[i]
		if date := e.At.UTC().Format("Monday, 2 January 2006"); len(p.Days) == 0 || p.Days[len(p.Days)-1].Date != date {
			p.Days = append(p.Days, day{Date: date})
		}
		last := &p.Days[len(p.Days)-1]
		last.Entries = append(last.Entries, entryOf(v, e))
	}
	if p.Empty = len(p.Days) == 0; page.Next > 1 {
		p.Next = address(q, "before", strconv.FormatUint(page.Next, 10))
	}
	return v.show(http.StatusOK, "history", "History", "", p)
}

func entryOf(v *visit, e *client.AuditEntry) entry {
	one := entry{AuditEntry: e, At: v.ago(e.At), Via: map[string]string{"a2a": "conversation", "api": "in the inbox, or by the API", "provider": "program"}[e.Via]}
	switch {
	case e.What == "resolved":
		one.State = stateOf(e.State)
	case e.What == "asked":
		one.State = badge{"", "Asked"}
	case e.Outcome == "ok":
		one.State = badge{"done", "Ran"}
	case e.Outcome != "":
		one.State = badge{"fail", "Ended: " + e.Outcome}
	default:
		one.State = badge{"run", strings.ToUpper(e.What[:min(len(e.What), 1)]) + e.What[min(len(e.What), 1):]}
	}
	if e.By != nil || e.What == "resolved" {
		one.By = v.by(e.By)
	}
	if e.Approval != "" {
		one.Approval = v.link("/approvals/" + url.PathEscape(e.Approval))
		if a, err := v.cfg.Service.Listed(v.ctx(), v.Caller, e.Approval); err == nil {
			if r := a.Resolution; r != nil && r.Arguments != nil { // it ran with these arguments, and the hint names the arguments before
				a.Arguments, a.Words = r.Arguments, ""
			}
			heading := titleOf(&a)
			one.Title = &heading
		}
	}
	if e.Task != "" && v.reads(&client.Principal{Subject: e.Owner, Tenant: e.Tenant}) {
		one.Task = v.link("/tasks/" + url.PathEscape(e.Task))
	}
	return one
}
