package conformance

import (
	"encoding/json"

	"github.com/google/uuid"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task/engine"
)

// deeds are what several cases do.

// steered is a gate, and the arguments of a call that it steers.
type steered struct {
	*gate
	args map[string]any
}

// gate returns a gate of this scene.
func (s *scene) gate() steered {
	id := uuid.NewString()
	s.numbered(id, "gate")
	g := s.world.gate(id)
	return steered{g, map[string]any{"gate": id}}
}

// calls returns a message that calls a tool.
func (s *scene) calls(id, tool string, args map[string]any) *message {
	m := s.says(id)
	m.Parts = []part{data(map[string]any{"tool": tool, "args": args})}
	return m
}

// pays returns a message whose call needs approval.
func (s *scene) pays(id string, amount float64) *message {
	return s.calls(id, "transfer_money", map[string]any{"amount": amount, "to": "bob"})
}

// started sends the call of a tool that a gate steers, and returns when it runs.
func (a *actor) started(g steered, tool string) *task {
	a.s.Helper()
	out, err := a.client.send(a.s.ctx, sending{Message: a.s.calls("started", tool, g.args), Now: ptr(true)})
	if err != nil || out.Task == nil {
		a.s.Fatalf("%s starts %s: %v, %+v", a.name, tool, err, out)
	}
	a.s.nameTask(out.Task) // its state is submitted or working, so it is not compared
	select {
	case <-g.entered:
	case <-a.s.ctx.Done():
		a.s.Fatalf("%s does not run", tool)
	}
	return out.Task
}

// ends waits for the end of a task, and checks its state.
func (a *actor) ends(id, state string) *task {
	a.s.Helper()
	st := a.client.subscribe(a.s.ctx, id, "")
	defer st.close()
	_, err := st.rest() // the error of a task that has ended already
	if err != nil {
		a.s.Logf("%s follows a task to its end: %v", a.name, err)
	}
	got := a.has(id)
	a.s.equal("state", got.State, state)
	return got
}

// drops cancels a task that the case leaves.
func (a *actor) drops(id string) {
	a.s.Helper()
	if _, f := a.cancel(id); f != nil {
		a.s.Errorf("%s cancels a task: %v", a.name, f)
	}
}

// asked is an approval as the question shows it.
type asked struct {
	id, digest, kind string
	options          []any
}

// extension is the extension of this server that shows approvals.
const extension = "urn:a2a-server:extension:tool-approval:v1"

// asks returns what the status of a task asks.
func (s *scene) asks(m *message) []asked {
	s.Helper()
	if m == nil {
		s.Fatal("the status has no message")
	}
	shown, _ := m.Metadata[extension].(map[string]any)
	list, _ := shown["approvals"].([]any)
	var all []asked
	for _, v := range list {
		a, _ := v.(map[string]any)
		one := asked{}
		one.id, _ = a["id"].(string)
		one.digest, _ = a["digest"].(string)
		one.kind, _ = a["kind"].(string)
		one.options, _ = a["options"].([]any)
		all = append(all, one)
	}
	if len(all) == 0 {
		s.Fatalf("the status asks nothing: %+v", m)
	}
	return all
}

// decides returns a message with decisions on a task.
func (s *scene) decides(id string, t *task, decisions ...map[string]any) *message {
	all := make([]any, len(decisions))
	for i, d := range decisions {
		all[i] = d
	}
	m := s.says(id)
	m.Task = t.ID
	m.Parts = []part{data(map[string]any{"type": "approval_response", "decisions": all})}
	return m
}

// decision returns a decision.
func (q asked) decision(verb string, more ...any) map[string]any {
	d := map[string]any{"id": q.id, "digest": q.digest, "decision": verb}
	for i := 0; i < len(more); i += 2 {
		key, _ := more[i].(string)
		d[key] = more[i+1]
	}
	return d
}

// decidesElsewhere answers what a task asks, as an approver of the tenant who does not use
// A2A.
func (s *scene) decidesElsewhere(task string) {
	s.Helper()
	by := auth.Principal{Tenant: "acme", Subject: "test:approver", Roles: []string{auth.RoleApprover}, Method: "test"}
	p, err := s.world.approvals.List(s.ctx, by, engine.ApprovalQuery{Task: task})
	if err != nil || len(p.Approvals) != 1 {
		s.Fatalf("the task asks %d things, %v; want one", len(p.Approvals), err)
	}
	a := p.Approvals[0]
	answer := approval.Decision{ID: a.ID, Digest: a.Digest, Type: approval.Respond, Response: json.RawMessage(`"done"`)}
	if err := s.world.approvals.Decide(s.ctx, by, answer); err != nil {
		s.Fatal(err)
	}
}
