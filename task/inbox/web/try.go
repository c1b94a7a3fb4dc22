package web

import (
	"net/http"
	"net/url"
	"strings"

	"a2a-server/client"
)

// tryPage is a conversation with the agent.
type tryPage struct {
	Tasks    []*taskPage // the oldest first
	Task     string      // id of the task that a message continues; "": a new task
	Context  string
	Answer   []run // of a message without a task
	Sent     []run
	Text     string
	Tools    []Tool
	Plain    bool      // messages are plain words
	Scripted bool      // the scripted model of a demo reads them
	Example  string    // a message that calls a tool; "": none
	Asks     []ask     // pending approvals of the newest task
	Decided  []decided // its other approvals
	Wrong    string
	As       string
	Samples  []Sample
	Persona  *personaSwitch // nil: the pages are no demo
}

// ask is an approval that can be decided in the conversation.
type ask struct {
	row
	Can     map[string]bool
	Form    *form
	Here    bool           // it can be decided without its page
	Persona *personaSwitch // nil: nobody else can be the decider here
}

// asks returns the pending approvals of a task.
func (v *visit) asks(p *taskPage) []ask {
	var out []ask
	for i := range p.Waits {
		d, err := v.detail(p.Waits[i].ID)
		if err != nil || d.Approval.State != client.Pending {
			continue
		}
		a := &d.Approval
		one := ask{row: v.rowOf(a), Can: map[string]bool{}}
		for _, decision := range a.Decisions {
			one.Can[string(decision)] = d.May.Decide
		}
		if a.Kind == client.KindQuestion && one.Can["respond"] {
			one.Form = answerForm(a)
			for n := range one.Form.Fields {
				one.Form.Fields[n].ID += a.ID // there may be several questions
			}
		}
		one.Here = d.May.Decide && (one.Form != nil || one.Pick || v.cfg.Demo != nil)
		if a.FourEyes && !d.May.Decide && !v.By.IsPersona() {
			one.Persona = v.personaSwitch()
		}
		out = append(out, one)
	}
	return out
}

// maxTurns is how many tasks of a conversation a page shows.
const maxTurns = 10

func (v *visit) try() error {
	q := v.query
	p := tryPage{Text: q.Get("text")}
	return v.showTry(http.StatusOK, &p, q.Get("task"), q.Get("context"))
}

func (v *visit) showTry(status int, p *tryPage, task, context string) error {
	by := v.requester.By
	p.Context, p.As, p.Persona = context, who(&client.Principal{Subject: by.Subject, Person: by.Person}), v.personaSwitch()
	p.Tools, p.Plain = v.cfg.Tools(v.ctx(), by), v.cfg.PlainWords
	p.Samples, p.Scripted = v.cfg.Demo.samples(), v.cfg.Demo != nil
	for i := range p.Tools {
		if p.Example = p.Tools[i].Example; p.Example != "" {
			break
		}
	}
	live := ""
	if task != "" {
		d, err := v.cfg.Service.Task(v.ctx(), v.requester, task)
		if err != nil {
			return err
		}
		p.Context = d.Task.Context
		last, err := v.taskPage(&d)
		if err != nil {
			return err
		}
		if p.Context != "" {
			page, err := v.cfg.Service.Tasks(v.ctx(), v.requester, client.TaskQuery{Context: p.Context, Limit: maxTurns})
			if err != nil {
				return err
			}
			for i := len(page.Items) - 1; i >= 0; i-- {
				if page.Items[i].ID == d.Task.ID {
					continue
				}
				if before, err := v.cfg.Service.Task(v.ctx(), v.requester, page.Items[i].ID); err == nil {
					if one, err := v.taskPage(&before); err == nil {
						p.Tasks = append(p.Tasks, one)
					}
				}
			}
		}
		p.Asks, p.Decided = v.asks(last), last.Decided
		if p.Tasks = append(p.Tasks, last); !last.Ended {
			live = "task=" + url.QueryEscape(d.Task.ID)
			p.Task = d.Task.ID
		}
	}
	return v.show(status, "try", "Try it", live, p)
}

func (v *visit) send() error {
	f := v.r.PostForm
	text := strings.ReplaceAll(f.Get("text"), "\r\n", "\n")
	m := Message{Text: text, Task: f.Get("task"), Context: f.Get("context")}
	if f.Get("do") == "new" {
		m.Task, m.Context = "", ""
	}
	if m.Task != "" { // which may have ended since the page was made
		d, err := v.cfg.Service.Task(v.ctx(), v.requester, m.Task)
		if err != nil {
			return err
		}
		if !d.May.Send {
			m.Task, m.Context = "", d.Task.Context
		}
	}
	if strings.TrimSpace(text) == "" {
		return v.showTry(http.StatusUnprocessableEntity, &tryPage{Wrong: "The message is empty."}, m.Task, m.Context)
	}
	task, answer, err := v.cfg.Send(v.ctx(), v.requester, m)
	if err != nil {
		p := v.problem(err, "")
		return v.showTry(p.Status, &tryPage{Wrong: p.Error(), Text: text}, m.Task, m.Context)
	}
	if task == "" {
		return v.showTry(http.StatusOK, &tryPage{Answer: lines(answer), Sent: lines(text)}, "", m.Context)
	}
	return v.seeOther("/try?task=" + url.QueryEscape(task))
}
