package web

import (
	"net/http"
	"net/url"
	"strings"

	"a2a-server/client"
)

// taskRow is a task as lists show it.
type taskRow struct {
	*client.Task
	Short, Link    string
	Title          []run // in lists; nil: it is not known
	State          badge
	Protocol       string // the state as A2A clients see it, where State says something else; "": it does not
	Since, Created stamp
	Size           string
	Context        string
	ContextLink    string
}

func (v *visit) taskRow(t *client.Task) taskRow {
	row := taskRow{
		Task: t, Short: short(t.ID), Link: v.link("/tasks/" + url.PathEscape(t.ID)), State: taskState(t.State),
		Since: v.ago(t.Since), Created: v.ago(t.Created), Size: size(int(min(t.Bytes, 1<<40))), //nolint:gosec // bounded
		Context: short(t.Context), ContextLink: v.link("/tasks?context=" + url.QueryEscape(t.Context)),
	}
	if t.Pending > 0 && (row.State.Class == "run" || row.State.Class == "wait") {
		row.State, row.Protocol = badge{"wait", "Waits for a decision"}, row.State.Word
	}
	return row
}

// tasksPage is the list of tasks.
type tasksPage struct {
	Rows             []taskRow
	States           []choice
	Owner, Context   string
	Next             string
	Reach            string // which rows the caller may see, where the list could mislead
	Filtered, Cursor bool
}

func (v *visit) tasks() error {
	given := v.r.URL.Query()
	q := client.TaskQuery{Context: given.Get("context"), State: given.Get("state"), Principal: given.Get("owner"), Cursor: given.Get("cursor")}
	page, err := v.cfg.Service.Tasks(v.ctx(), v.requester, q)
	if err != nil {
		return err
	}
	p := tasksPage{Reach: page.Reach.NoteFor(len(page.Items)), Owner: q.Principal, Context: q.Context, Filtered: q.Context != "" || q.State != "" || q.Principal != "", Cursor: q.Cursor != ""}
	p.States = []choice{{"", "Any state", q.State == ""}}
	for _, state := range []string{"submitted", "working", "input-required", "auth-required", "completed", "failed", "rejected", "canceled"} {
		p.States = append(p.States, choice{state, taskState("TASK_STATE_" + strings.ReplaceAll(state, "-", "_")).Word, state == q.State})
	}
	titles, err := v.cfg.Service.Titles(v.ctx(), v.requester, page.Items)
	if err != nil {
		return err
	}
	for i := range page.Items {
		r := v.taskRow(&page.Items[i])
		r.Title = runs(shorten(titles[i], titleLength))
		p.Rows = append(p.Rows, r)
	}
	if page.Next != "" {
		p.Next = address(given, "cursor", page.Next)
	}
	return v.show(http.StatusOK, "tasks", "Tasks", "", p)
}

func (v *visit) cancelTask() error {
	id := v.r.PathValue("id")
	if err := v.cfg.Service.Cancel(v.ctx(), v.requester, id); err != nil {
		return err
	}
	return v.seeOther("/tasks/" + url.PathEscape(id))
}

func (v *visit) cancelCall() error {
	id := v.r.PathValue("id")
	if err := v.cfg.Service.CancelCall(v.ctx(), v.requester, id, v.r.PathValue("call")); err != nil {
		return err
	}
	return v.seeOther("/tasks/" + url.PathEscape(id))
}

func (v *visit) rawTask() error {
	d, err := v.cfg.Service.Task(v.ctx(), v.requester, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	secure(v.w, "")
	v.answer(v.w, v.r, http.StatusOK, "application/json", []byte(indented(d.A2A)))
	return nil
}
