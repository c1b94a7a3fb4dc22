package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task/engine"
)

// action is an action of the world outside.
type action struct {
	name   string
	weight int
	do     func(w *world)
}

// actions are the possible actions, the tamest first.
var actions = []action{
	{"nothing", 1, func(*world) {}},
	{"wait until nothing is running", 4, (*world).idle},
	{"send", 10, (*world).sendNew},
	{"decide", 14, onTask((*world).decideSomething)},
	{"let time pass", 4, func(w *world) {
		w.outside.Sleep(time.Duration(1+w.choices.Choose(Script, 300)) * time.Millisecond)
	}},
	{"release", 3, func(w *world) { w.tools.Release(w.choices.Choose(Script, 1+w.tools.Blocked())) }},
	{"send again", 2, (*world).sendAgain},
	{"follow", 4, (*world).followSomething},
	{"leave", 2, (*world).leaveSomething},
	{"cancel", 2, onTask((*world).cancelSomething)},
	{"set a webhook", 2, onTask((*world).setWebhook)},
	{"delete a webhook", 1, onTask((*world).deleteWebhook)},
	{"message without a decision", 3, onTask((*world).chat)},
	{"two decisions at once", 4, onTask((*world).decideAtOnce)},
	{"wrong decision", 3, onPending((*world).decideWrongly)},
	{"contradictory decision", 2, onPending((*world).decideContradictorily)},
	{"kill", 3, func(w *world) {
		if len(w.servers) > 0 {
			w.kill(w.server())
		}
	}},
	{"stop", 1, (*world).stopSomething},
	{"second process", 2, (*world).startSecond},
	{"pause", 1, (*world).pauseSomething},
	{"tool changes", 2, func(w *world) { w.tools.Change(w.someTool().Name()) }},
	{"tool goes", 1, func(w *world) { w.tools.Remove(w.someTool().Name()) }},
	{"toolset fails", 1, func(w *world) { w.tools.Fail(w.someTool().Form) }},
	{"tools come back", 2, func(w *world) { w.tools.Restore() }},
	// New actions go last, so that kept choices mean the same.
	{"cancel a call", 4, onTask((*world).cancelCall)},
	{"extend", 2, onPending((*world).extend)},
	{"restore from a backup", 1, restoreDisk},
	{"resume", 4, resumeStore},
	{"approve with a grant", 4, grantSomething},
	{"revoke a grant", 2, revokeSomething},
	{"reload the gates", 5, reloadGates},
	{"several votes", 4, voteSomething},
	{"ask anew", 4, askAnewSomething},
}

// drive runs the actions of the script.
func (w *world) drive() {
	w.start()
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	w.sendNew()
	for i := range w.choices.Choose(Script, w.cfg.Actions) {
		w.choices.Lane(Script, i+1)
		at := w.choices.Choose(Script, total)
		for _, a := range actions {
			if at -= a.weight; at < 0 {
				w.s.Note("* %s", a.name)
				w.coverage.Count("action: " + a.name)
				a.do(w)
				break
			}
		}
		for range w.choices.Choose(Script, 12) {
			w.outside.Yield()
		}
	}
}

func (w *world) someTool() Traits { return Pick(w.choices, Script, w.tools.traits...) }

// someTask returns a task that clients know, nil when there is none; rarely an ended task.
func (w *world) someTask() *modelTask {
	var live []*modelTask
	for _, t := range w.known {
		if t.phase != store.Final || w.choices.Rarely(Script, 8) {
			live = append(live, t)
		}
	}
	if len(live) == 0 {
		return nil
	}
	return Pick(w.choices, Script, live...)
}

// onTask returns an action on a task that clients know, which does nothing when there is none.
func onTask(do func(w *world, t *modelTask)) func(w *world) {
	return func(w *world) {
		if t := w.someTask(); t != nil {
			do(w, t)
		}
	}
}

// onPending returns an action on a pending approval of such a task.
func onPending(do func(w *world, t *modelTask, a *approval.Approval)) func(w *world) {
	return onTask(func(w *world, t *modelTask) {
		if pending := t.pending(); len(pending) > 0 {
			do(w, t, Pick(w.choices, Script, pending...))
		}
	})
}

func (w *world) sendNew() {
	plan := &Plan{}
	for range 1 + w.choices.Choose(Script, 3) {
		step := PlanStep{Slow: w.choices.Choose(Script, 20)}
		switch w.choices.Choose(Script, 10) {
		case 9:
			step.Ask = true
			w.coverage.Count("planner asks")
		case 8:
			step.Wait = 1 + w.choices.Choose(Script, 50)
			w.coverage.Count("planner waits")
		case 7:
			step.Output = true
		case 6:
			if step.Fail = w.choices.Rarely(Script, 4); step.Fail {
				w.coverage.Count("planner fails")
			}
		default:
			for range 1 + w.choices.Choose(Script, 4) {
				c := PlanCall{Tool: w.someTool().Name(), N: w.choices.Choose(Script, 3)}
				if w.choices.Rarely(Script, 3) {
					c.Alias = Pick(w.choices, Script, "x", "y", "c1.2")
				}
				step.Calls = append(step.Calls, c)
			}
		}
		plan.Steps = append(plan.Steps, step)
	}
	plan.End = Pick(w.choices, Script, a2a.TaskStateCompleted, a2a.TaskStateCompleted, a2a.TaskStateFailed, a2a.TaskStateRejected)
	m := w.message(plan.part())
	m.ContextID = Pick(w.choices, Script, "", "c", "c", "d")
	sent := &sentMessage{m: m, by: Pick(w.choices, Script, alice, carol)}
	if w.pushes && w.choices.Choose(Script, 2) == 1 {
		sent.hook = w.webhook()
	}
	w.created = append(w.created, sent)
	w.send(w.server(), sent, w.choices.Choose(Script, modes))
}

func (w *world) sendAgain() {
	if len(w.created) > 0 {
		w.send(w.server(), Pick(w.choices, Script, w.created...), w.choices.Choose(Script, modes))
	}
}

// someVerdict returns an allowed decision on a pending approval; sometimes on a decided
// approval.
func (w *world) someVerdict(t *modelTask) *verdict {
	pending := t.pending()
	if len(pending) == 0 || w.choices.Rarely(Script, 8) {
		pending = nil
		for _, a := range t.approvals {
			pending = append(pending, &a.Approval)
		}
	}
	if len(pending) == 0 {
		return nil
	}
	a := Pick(w.choices, Script, pending...)
	decisions := a.Decisions()
	x := w.verdict(a, Pick(w.choices, Script, decisions...))
	if x.decision == approval.Cancel && !w.choices.Rarely(Script, 3) {
		x = w.verdict(a, decisions[0])
	}
	return x
}

func (w *world) verdict(a *approval.Approval, decision approval.DecisionType) *verdict {
	x := &verdict{a: a, id: a.ID, decision: decision, text: "as you like"}
	x.args = map[string]any{"n": 10 + w.choices.Choose(Script, 3)}
	if w.model.by[a.Tool].Name() != "" && w.tools.version[a.Tool]%3 == 2 {
		x.args = map[string]any{"m": 1}
	}
	if a.AskKind == "form" {
		x.text = map[string]any{"n": 4}
	}
	switch {
	case w.choices.Rarely(Script, 6):
		x.id = a.Call
	case a.Alias != "" && w.choices.Rarely(Script, 6):
		x.id = a.Alias
	}
	return x
}

func (w *world) someDialect() Dialect { return Dialect(w.choices.Choose(Script, int(dialects))) }

func (w *world) decideSomething(t *modelTask) {
	if x := w.someVerdict(t); x != nil {
		w.decide(w.server(), t, w.someDialect(), x)
		if w.choices.Rarely(Script, 6) { // repeated
			w.coverage.Count("decision: repeated")
			w.decide(w.server(), t, w.someDialect(), x)
		}
	}
}

// decideAtOnce has several decide at once: the same, or each something else.
func (w *world) decideAtOnce(t *modelTask) {
	for range 2 + w.choices.Choose(Script, 6) {
		if x := w.someVerdict(t); x != nil {
			w.coverage.Count("decision: concurrent")
			w.decide(w.server(), t, w.someDialect(), x)
		}
	}
}

// wrongDecisions are the ways to decide that must be refused.
var wrongDecisions = []string{
	"unknown id", "unknown verb", "wrong digest", "extra field", "bad edit", "verb not allowed", "not an object",
}

// decideWrongly sends a decision that must be refused.
func (w *world) decideWrongly(t *modelTask, a *approval.Approval) {
	d := map[string]any{"id": a.ID, "decision": "approve"}
	what := Pick(w.choices, Script, wrongDecisions...)
	var part any = map[string]any{"type": "approval_response", "decisions": []any{d}}
	switch what {
	case "unknown id":
		d["id"] = "nobody.a1"
	case "unknown verb":
		d["decision"] = "perhaps"
	case "wrong digest":
		d["digest"] = "sha256:00"
	case "extra field":
		d["confirmed"] = false
	case "bad edit":
		d["decision"], d["arguments"] = "edit", map[string]any{"other": 1}
	case "verb not allowed":
		if d["decision"] = "respond"; a.Kind != approval.KindCall {
			d["decision"] = "edit"
			d["arguments"] = map[string]any{"n": 1}
		} else {
			d["response"] = "x"
		}
	case "not an object":
		part = map[string]any{"type": "approval_response", "decisions": []any{"approve"}}
	}
	m := w.messageTo(t, a2a.NewDataPart(part))
	w.coverage.Count("decision: wrong: " + what)
	w.followUp(w.server(), m, modeNone, func() {
		w.s.Fail("a wrong decision is refused", "%s on %s", what, a.ID)
	})
}

// decideContradictorily sends two decisions on the same approval in one message.
func (w *world) decideContradictorily(t *modelTask, a *approval.Approval) {
	if a.Kind == approval.KindQuestion || a.Elsewhere() {
		return
	}
	m := w.messageTo(t)
	yes, no := w.verdict(a, approval.Approve), w.verdict(a, approval.Reject)
	yes.id, no.id = a.ID, a.ID
	if w.choices.Choose(Script, 2) == 1 {
		yes, no = no, yes
	}
	if !yes.say(m, OursAsPart, nil) || !no.say(m, Pick(w.choices, Script, OursAsPart, ADK, ADKRust, OursAsMetadata), nil) {
		return
	}
	w.coverage.Count("decision: contradictory")
	w.followUp(w.server(), m, modeNone, func() {
		w.s.Fail("a contradiction is refused", "on %s", a.ID)
	})
}

func (w *world) chat(t *modelTask) {
	m := w.messageTo(t, a2a.NewTextPart(Pick(w.choices, Script, "perhaps", "yes", "no", "what is this?")))
	w.followUp(w.server(), m, w.choices.Choose(Script, modes), nil)
}

func (w *world) cancelSomething(t *modelTask) {
	v := w.server()
	w.attempt(v, "a cancel", func(ctx context.Context) error { return v.engine.Tasks().Cancel(ctx, t.owner, t.id.String()) }, func() {
		w.coverage.Count("canceled")
		if t.state != a2a.TaskStateCanceled {
			w.s.Fail("an acknowledged cancel is durable", "task %s is %s", t.id, t.state)
		}
	})
}

// cancelCall cancels a call, from Go or with a message.
func (w *world) cancelCall(t *modelTask) {
	if len(t.planned) == 0 {
		return
	}
	c, v := Pick(w.choices, Script, t.planned...), w.server()
	acked := func() {
		w.coverage.Count("a cancel of a call is acknowledged")
		if !c.canceled {
			w.s.Fail("an acknowledged cancel of a call is durable", "%s of task %s", c, t.id)
		}
	}
	if w.choices.Choose(Script, 2) == 1 {
		m := w.messageTo(t, a2a.NewDataPart(map[string]any{"type": "call_cancel", "call": c.id}))
		w.say(v, m, w.choices.Choose(Script, modes), true /* decides */, acked)
		return
	}
	w.attempt(v, "a cancel of a call", func(ctx context.Context) error { return v.engine.Tasks().CancelCall(ctx, t.owner, t.id.String(), c.id) }, acked)
}

// extend moves the deadline of a pending approval.
func (w *world) extend(t *modelTask, a *approval.Approval) {
	v := w.server()
	until := w.s.now.Add(Pick(w.choices, Script, time.Second, time.Minute, time.Hour))
	extend := func(ctx context.Context) error {
		return v.engine.Approvals().Extend(ctx, t.owner, a.ID, a.Digest, until)
	}
	w.attempt(v, "an extension", extend, func() {
		w.coverage.Count("an extension is acknowledged")
		if now := t.approval(a.ID); now.Deadline == nil || now.Deadline.Before(until.Truncate(time.Millisecond)) && now.State == approval.Pending {
			w.s.Fail("an acknowledged extension is durable", "%s of task %s until %s: deadline %v", a.ID, t.id, until, now.Deadline)
		}
	})
}

func (w *world) followSomething() {
	var c *client
	if len(w.clients) > 0 && w.choices.Choose(Script, 2) == 0 {
		c = Pick(w.choices, Script, w.clients...)
	} else if t := w.someTask(); t != nil {
		c = w.newClient(t.id)
	}
	if c != nil {
		c.follow(w.server(), Pick(w.choices, Script, engine.UntilEnd, engine.UntilInput))
	}
}

func (w *world) leaveSomething() {
	if len(w.clients) > 0 {
		if c := Pick(w.choices, Script, w.clients...); c.leave != nil {
			w.coverage.Count("a reader leaves")
			c.leave()
		}
	}
}

// stopSomething stops a server as an operator does; a new server takes its place.
func (w *world) stopSomething() {
	if len(w.servers) > 0 {
		w.stop(w.server(), time.Duration(w.choices.Choose(Script, 100))*time.Millisecond)
	}
}

func (w *world) stop(v *server, grace time.Duration) {
	w.gone(v)
	w.stopping = append(w.stopping, v)
	v.p.Go(func() {
		v.engine.Stop(grace)
		if v.stopPush != nil {
			v.stopPush()
		}
		w.orphans = true
		w.coverage.Count("stopped")
		w.s.Note("%s has stopped", v.p.name)
	})
}

// startSecond starts another process, which takes over the tasks of the running processes.
func (w *world) startSecond() {
	if len(w.servers) < 3 {
		w.start()
		if n := len(w.servers); n > 1 {
			w.coverage.Count(fmt.Sprintf("fault: %d processes at once", n))
		}
	}
}

func (w *world) pauseSomething() {
	if len(w.servers) > 0 {
		p := w.server().p
		p.paused = true
		w.coverage.Count("fault: a process stands still")
		w.outside.After(time.Duration(w.choices.Choose(Script, 100))*time.Millisecond, func() { p.paused = false })
	}
}
