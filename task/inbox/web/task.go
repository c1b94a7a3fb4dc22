package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/task/inbox/api"
)

// moment is an item of a timeline.
type moment struct {
	Key   string // stable while the task grows
	At    stamp
	Dot   string // "state", "now" or ""
	State *badge
	Said  *spoken
	Call  *called
	Art   *artifact
	Model *answered
	when  time.Time
}

// spoken is a message.
type spoken struct {
	Who   string
	Agent bool
	Parts []part
}

// artifact is an artifact as it is now.
type artifact struct {
	Name   string
	Parts  []part
	Chunks int
	Open   bool // more may come
}

// answered is an answer of a language model.
type answered struct {
	*modelAnswer
	In, Out, Took string // of tokens, and a time
	Prompt        string // address of what the model was asked; "": the reader may not see it
}

// called is a call, from the verdict to the result.
type called struct {
	*client.Call
	ID        string
	Title     title
	Steps     []step
	Result    []leaf // nil: an artifact has it
	Error     long
	Approvals []row
	Pending   []row
	Cancel    string // address to post to; "": it cannot be canceled
	Ran       string
	Is        string
}

type step struct {
	Word, Class, Small string
	At                 *stamp // nil: it has no time of its own
}

// taskPage is a task with its timeline.
type taskPage struct {
	taskRow
	*client.TaskDetail
	Heading  title
	Moments  []moment
	Raw      string
	RawSize  string
	RawLink  string
	Commands []string
	Cancel   string
	Try      string
	Ended    bool
	Waits    []row
	Decided  []decided
}

// decided is an approval that has ended, with what came of its call.
type decided struct {
	row
	Ran string
}

func (v *visit) task() error {
	d, err := v.cfg.Service.Task(v.ctx(), v.requester, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	p, err := v.taskPage(&d)
	if err != nil {
		return err
	}
	live := ""
	if !p.Ended {
		live = "task=" + url.QueryEscape(d.Task.ID)
	}
	return v.show(http.StatusOK, "task", p.Heading.heading(), live, p)
}

func (v *visit) taskPage(d *client.TaskDetail) (*taskPage, error) {
	p := &taskPage{taskRow: v.taskRow(&d.Task), TaskDetail: d, Cancel: v.link("/tasks/" + url.PathEscape(d.Task.ID) + "/cancel")}
	if p.Ended = slices.Contains([]string{"done", "fail", "end"}, p.State.Class); p.Ended {
		if text, none := shortfall(d.Calls); text != "" {
			if p.State.Word += ", " + text; none && p.State.Class == "done" {
				p.State.Class = "end"
			}
		}
	}
	if len(d.A2A) <= 64<<10 {
		p.Raw = indented(d.A2A)
	}
	p.RawSize, p.RawLink = size(len(d.A2A)), p.Link+"/raw"
	for _, name := range []string{"show", "watch", "cancel"} {
		if name == "cancel" && p.Ended {
			break
		}
		p.Commands = append(p.Commands, "a2a-server tasks "+name+" "+d.Task.ID)
	}
	if d.May.Send {
		p.Try = v.link("/try?task=" + url.QueryEscape(d.Task.ID))
	}
	for i := range d.Approvals {
		a := &d.Approvals[i]
		if a.State == client.Pending {
			p.Waits = append(p.Waits, v.rowOf(a))
			continue
		}
		settled := decided{row: v.rowOf(a)}
		if at := slices.IndexFunc(d.Calls, func(c client.Call) bool { return c.ID == a.Call }); at >= 0 {
			settled.Ran, _ = ran(&d.Calls[at])
		}
		p.Decided = append(p.Decided, settled)
	}
	events, err := v.cfg.Service.TaskLog(v.ctx(), v.requester, d.Task.ID)
	if err != nil {
		return nil, err
	}
	p.Moments = v.timeline(d, events)
	p.Heading = title{Lead: runs("Task " + p.Short)}
	if len(d.Calls) > 0 {
		p.Heading = titleOf(&client.Approval{Tool: d.Calls[0].Tool, Arguments: d.Calls[0].Arguments})
	}
	for i := range p.Moments {
		s := p.Moments[i].Said
		if s == nil || s.Agent || len(s.Parts) == 0 || len(s.Parts[0].Text.Head) == 0 {
			continue
		}
		first, _, _ := strings.Cut(s.Parts[0].Text.Head[0].Text, "\n")
		p.Heading = title{Lead: runs(shorten(first, 120))}
		break
	}
	return p, nil
}

// timeline merges the events of a task with its messages and calls, by time.
func (v *visit) timeline(d *client.TaskDetail, events []json.RawMessage) []moment {
	var whole a2aTask
	_ = json.Unmarshal(d.A2A, &whole) // ours
	t := timeline{visit: v, d: d, whole: &whole, artifacts: map[string]int{}, answers: map[int]time.Time{}, owner: d.Task.Owner}
	for _, raw := range events {
		var e a2aEvent
		if json.Unmarshal(raw, &e) != nil {
			continue
		}
		switch {
		case e.Task != nil:
			t.status(&e.Task.Status)
		case e.StatusUpdate != nil:
			t.status(&e.StatusUpdate.Status)
			if m := e.StatusUpdate.Metadata.Model; m != nil {
				t.answers[m.Step] = t.now
				t.out = append(t.out, moment{Key: fmt.Sprintf("l%d", len(t.out)), Model: t.answered(m), when: t.now})
			}
		case e.ArtifactUpdate != nil:
			t.chunk(&e.ArtifactUpdate.Artifact, e.ArtifactUpdate.LastChunk)
		}
	}
	t.messages(len(whole.History))
	slices.SortStableFunc(t.out, func(a, b moment) int { return a.when.Compare(b.when) })
	for i := range d.Calls {
		t.call(&d.Calls[i])
	}
	for i := range t.out {
		t.out[i].At = exact(t.out[i].when)
		t.out[i].At.Text = t.out[i].At.Clock
	}
	if n := len(t.out); n > 0 && d.Task.Pending == 0 && taskState(d.Task.State).Class == "run" {
		t.out[n-1].Dot = "now"
	}
	return t.out
}

type timeline struct {
	*visit
	d         *client.TaskDetail
	whole     *a2aTask
	out       []moment
	now       time.Time // of the newest status
	worked    time.Time // when it first worked
	told      int       // messages of the history that are in out
	last      string    // state
	artifacts map[string]int
	answers   map[int]time.Time // of a model, by step
	owner     string
}

func (t *timeline) status(s *a2aStatus) {
	if !s.Timestamp.IsZero() {
		t.now = s.Timestamp
	}
	if s.State != t.last {
		is := taskState(s.State)
		t.out = append(t.out, moment{Key: fmt.Sprintf("s%d", len(t.out)), Dot: "state", State: &is, when: t.now})
		if t.last = s.State; t.worked.IsZero() && strings.HasSuffix(s.State, "_WORKING") {
			t.worked = t.now
		}
	}
	if t.told == 0 && len(t.whole.History) > 0 && t.whole.History[0].Role == "ROLE_USER" {
		t.messages(1)
	}
	if s.Message == nil {
		return
	}
	for i := range t.whole.History {
		if t.whole.History[i].ID == s.Message.ID {
			t.messages(i)
			t.told = max(t.told, i+1)
		}
	}
	t.say(s.Message)
}

// answered returns an answer for the page.
func (t *timeline) answered(m *modelAnswer) *answered {
	one := answered{modelAnswer: m, In: tokens(m.In), Out: tokens(m.Out)}
	if m.Cached > 0 {
		one.In += " (" + thousands(m.Cached) + " cached)"
	}
	if m.Step == 0 { // the planner does not say
		return &one
	}
	one.Took = (time.Duration(m.DurationMS) * time.Millisecond).String()
	if t.requester.By.May(auth.Admin) == nil {
		one.Prompt = t.link(fmt.Sprintf("/tasks/%s/prompts/%d", url.PathEscape(t.d.Task.ID), m.Step))
	}
	return &one
}

// tokens returns a number of tokens; 0 is one that the endpoint of the model does not say.
func tokens(n int) string {
	if n == 0 {
		return "unknown"
	}
	return thousands(n)
}

// messages adds the messages of the history before n that are missing.
func (t *timeline) messages(n int) {
	for ; t.told < n; t.told++ {
		if m := &t.whole.History[t.told]; m.Role == "ROLE_USER" || t.told > 0 {
			t.say(m)
		}
	}
}

func (t *timeline) say(m *api.Message) {
	key := "m" + m.ID
	if asks, _ := m.Asks(); asks || slices.ContainsFunc(m.Parts, api.Part.Answers) || slices.ContainsFunc(t.out, func(o moment) bool { return o.Key == key }) {
		return
	}
	one := spoken{Who: t.owner, Parts: t.partsOf(m.Parts)}
	if m.Role != "ROLE_USER" {
		one.Who, one.Agent = "agent", true
	}
	t.out = append(t.out, moment{Key: key, Said: &one, when: t.now})
}

func (t *timeline) chunk(a *a2aArtifact, last bool) {
	at, there := t.artifacts[a.ID]
	if !there {
		at = len(t.out)
		t.artifacts[a.ID] = at
		one := artifact{Name: a.Name}
		if one.Name == "" {
			one.Name = short(a.ID)
		}
		for i := range t.whole.Artifacts {
			if t.whole.Artifacts[i].ID == a.ID {
				one.Parts = t.partsOf(t.whole.Artifacts[i].Parts)
			}
		}
		t.out = append(t.out, moment{Key: "a" + a.ID, Art: &one, when: t.artifactStart(a.ID)})
	}
	one := t.out[at].Art
	one.Chunks++
	one.Open = !last && taskState(t.d.Task.State).Class == "run"
}

// artifactStart returns the earliest time at which an artifact can have begun, because its events have no time: after
// the newest status, and after the decisions of its call.
func (t *timeline) artifactStart(artifact string) time.Time {
	when := t.now
	for i := range t.d.Approvals {
		a := &t.d.Approvals[i]
		if (artifact == a.Call || strings.HasPrefix(artifact, a.Call+".")) && a.Kind == client.KindCall && a.Resolution != nil && a.Resolution.At.After(when) {
			when = a.Resolution.At
		}
	}
	return when
}

func (t *timeline) call(c *client.Call) {
	d, v := t.d, t.visit
	one := called{Call: c, ID: d.Task.ID + "." + c.ID, Title: titleOf(&client.Approval{Tool: c.Tool, Arguments: c.Arguments}), Error: v.longText(c.Error)}
	shown := slices.IndexFunc(t.whole.Artifacts, func(a a2aArtifact) bool { return a.ID == c.ID && a.shows(c) })
	if shown >= 0 { // there it is read
		one.Error = long{}
	} else if len(c.Result) > 0 {
		one.Result = tree(c.Result)
	}
	if one.Ran, one.Is = ran(c); c.State != "finished" && d.May.Cancel && !c.Canceled {
		one.Cancel = v.link("/tasks/" + url.PathEscape(d.Task.ID) + "/calls/" + url.PathEscape(c.ID) + "/cancel")
	}
	when := t.worked
	if when.IsZero() {
		when = d.Task.Created
	}
	var planned int
	if _, err := fmt.Sscanf(c.ID, "c%d.", &planned); err == nil && !t.answers[planned].IsZero() {
		when = t.answers[planned]
	}
	for i := range d.Approvals {
		a := &d.Approvals[i]
		if a.Call != c.ID {
			continue
		}
		r := v.rowOf(a)
		if len(one.Approvals) == 0 {
			when = a.Requested
		}
		if one.Approvals = append(one.Approvals, r); a.State == client.Pending {
			one.Pending = append(one.Pending, r)
		}
		asked := map[client.Kind]string{client.KindOutcome: "Asked whether it ran", client.KindQuestion: "Asked a question"}[a.Kind]
		if asked == "" {
			asked = "Asked"
		}
		one.Steps = append(one.Steps, step{Word: asked, Small: gateStep(r.Gate), At: new(exact(a.Requested))})
		if res := a.Resolution; res != nil {
			s := step{Word: r.State.Word, Class: map[string]string{"done": "ok", "fail": "bad"}[r.State.Class], Small: "after " + span(res.At.Sub(a.Requested)), At: new(exact(res.At))}
			if res.By != nil {
				s.Word += " by " + r.By
			}
			one.Steps = append(one.Steps, s)
		}
	}
	if c.State == "asked" && len(one.Pending) > 0 {
		one.Ran = "It waits for a decision."
	}
	if c.State == "finished" || c.State == "started" || c.State == "unknown" || c.State == "suspended" {
		s := step{Word: strings.TrimSuffix(one.Ran, "."), Class: map[string]string{"done": "ok", "fail": "bad", "wait": "warn"}[one.Is], Small: "call " + c.ID}
		if c.Attempt > 1 {
			s.Small += fmt.Sprintf(" · attempt %d", c.Attempt)
		}
		one.Steps = append(one.Steps, s)
	}
	at := slices.IndexFunc(t.out, func(m moment) bool { // a call comes before its effects
		return m.when.After(when) || m.when.Equal(when) && (m.Art != nil || m.State != nil && m.State.Class != "run")
	})
	if at < 0 {
		at = len(t.out)
	}
	if from := slices.IndexFunc(t.out, func(m moment) bool { return m.Model != nil && m.Model.Step == planned }); at <= from { // all within a millisecond
		for at = from + 1; at < len(t.out) && t.out[at].Call != nil; at++ {
		}
	}
	t.out = slices.Insert(t.out, at, moment{Key: "c" + c.ID, Call: &one, when: when})
}

// gateStep names the asking gate in a step.
func gateStep(gate string) string {
	name := gateName(gate)
	if strings.Contains(name, " ") {
		return name
	}
	return "gate " + name
}
