package conformance

// approvalCases are about tasks that ask, and how they are answered.
func approvalCases() []endToEnd {
	return []endToEnd{
		{name: "a call is approved", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("m", 5)})
			s.equal("state", task.State, "input-required")
			q := s.asks(task.Message)
			s.equal("approvals", len(q), 1)
			s.equal("id", q[0].id, task.ID+".a1")
			s.equal("options", q[0].options, []any{"approve", "edit", "reject", "cancel"})
			done := alice.task(sending{Message: s.decides("yes", task, q[0].decision("approve"))})
			s.equal("task", done.ID, task.ID)
			s.equal("state", done.State, "completed")
			s.equal("amount", field(done.Artifacts[0].Parts, "transferred"), any(5.0))
		}},
		{name: "a text answers a question in words", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.says("m", "/ask which colour?")})
			m := s.says("word", "yes")
			m.Task = task.ID
			again := alice.task(sending{Message: m})
			s.equal("task", again.ID, task.ID)
			s.equal("state", again.State, "completed")
		}},
		{name: "a call is rejected", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("m", 5)})
			done := alice.task(sending{Message: s.decides("no", task, s.asks(task.Message)[0].decision("reject", "reason", "too much"))})
			s.equal("state", done.State, "canceled")
		}},
		{name: "a call is edited", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("m", 5)})
			d := s.asks(task.Message)[0].decision("edit", "arguments", map[string]any{"amount": 3.5, "to": "carol"})
			done := alice.task(sending{Message: s.decides("edit", task, d)})
			s.equal("state", done.State, "completed")
			s.equal("amount", field(done.Artifacts[0].Parts, "transferred"), any(3.5))
			s.equal("to", field(done.Artifacts[0].Parts, "to"), any("carol"))
		}},
		{name: "a call is edited into one that does not fit", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("m", 5)})
			d := s.asks(task.Message)[0].decision("edit", "arguments", map[string]any{"amount": -1.0, "to": "carol"})
			_, f := alice.send(sending{Message: s.decides("edit", task, d)})
			s.refused("an invalid edit", f, "INVALID_PARAMS")
			s.equal("reason", f.Own, "APPROVAL_MALFORMED")
			alice.drops(task.ID)
		}},
		{name: "a decision cancels the task", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("m", 5)})
			done := alice.task(sending{Message: s.decides("stop", task, s.asks(task.Message)[0].decision("cancel"))})
			s.equal("state", done.State, "canceled")
		}},
		{name: "a wrong digest, an unknown approval, a decision that does not exist", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("m", 5)})
			q := s.asks(task.Message)[0]
			for _, wrong := range []struct {
				reason   string
				decision map[string]any
			}{
				{"APPROVAL_CHANGED", q.decision("approve", "digest", "sha256:0000")},
				{"APPROVAL_UNKNOWN", q.decision("approve", "id", task.ID+".a2")},
				{"APPROVAL_MALFORMED", q.decision("perhaps")},
				{"APPROVAL_NOT_ALLOWED", q.decision("respond", "response", "x")},
			} {
				f := alice.refusedDecision(task, wrong.decision)
				s.equal("reason", f.Own, wrong.reason)
			}
			s.equal("state", alice.has(task.ID).State, "input-required")
			alice.drops(task.ID)
		}},
		{name: "two answers to one question", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("m", 5)})
			q := s.asks(task.Message)[0]
			f := alice.refusedDecision(task, q.decision("approve"), q.decision("reject"))
			s.equal("reason", f.Own, "APPROVAL_MALFORMED")
			m := s.decides("contradiction", task, q.decision("approve"))
			m.Parts = append(m.Parts, text("no"))
			_, f = alice.send(sending{Message: m})
			s.refused("a text that contradicts", f, "INVALID_PARAMS")
			s.equal("state", alice.has(task.ID).State, "input-required")
			alice.drops(task.ID)
		}},
		{name: "a decision comes twice", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("m", 5)})
			q := s.asks(task.Message)[0]
			yes := s.decides("yes", task, q.decision("approve"))
			done := alice.task(sending{Message: yes})
			s.equal("the same message", alice.task(sending{Message: yes}), done)
			_, f := alice.send(sending{Message: s.decides("yes again", task, q.decision("approve"))})
			s.refused("the same decision", f, "UNSUPPORTED_OPERATION")
			s.equal("reason", f.Own, "APPROVAL_DECIDED")
			_, f = alice.send(sending{Message: s.decides("no", task, q.decision("reject"))})
			s.refused("another decision", f, "UNSUPPORTED_OPERATION")
			s.equal("reason", f.Own, "APPROVAL_CONFLICT")
		}},
		{name: "a message that decides nothing is asked again", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("m", 5)})
			m := s.says("hm", "what is this?")
			m.Task = task.ID
			again := alice.task(sending{Message: m})
			s.equal("state", again.State, "input-required")
			s.equal("the question", s.asks(again.Message), s.asks(task.Message))
			m = s.says("word", coded.FindString(texts(again.Message.Parts)))
			m.Task = task.ID
			s.equal("the word with its code", alice.task(sending{Message: m}).State, "completed")
		}},
		{name: "two questions, answered one after the other", play: func(s *scene) {
			alice := s.as("alice")
			m := s.pays("m", 1)
			m.Parts = append(m.Parts, s.pays("unused", 2).Parts...)
			task := alice.task(sending{Message: m})
			q := s.asks(task.Message)
			s.equal("approvals", len(q), 2)
			left := alice.task(sending{Message: s.decides("second", task, q[1].decision("reject"))})
			s.equal("state", left.State, "input-required")
			s.equal("what is left", s.asks(left.Message)[0].id, q[0].id)
			done := alice.task(sending{Message: s.decides("first", task, q[0].decision("approve"))})
			s.equal("state", done.State, "completed")
		}},
		{name: "two questions, answered at once", play: func(s *scene) {
			alice := s.as("alice")
			m := s.pays("m", 1)
			m.Parts = append(m.Parts, s.pays("unused", 2).Parts...)
			task := alice.task(sending{Message: m})
			q := s.asks(task.Message)
			done := alice.task(sending{Message: s.decides("both", task, q[1].decision("reject"), q[0].decision("approve"))})
			s.equal("state", done.State, "completed")
		}},
		{name: "a tool asks, and gets the response", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.says("m", "/ask which colour?")})
			q := s.asks(task.Message)[0]
			s.equal("kind", q.kind, "question")
			done := alice.task(sending{Message: s.decides("blue", task, q.decision("respond", "response", "blue"))})
			s.equal("state", done.State, "completed")
			s.equal("result", texts(done.Artifacts[0].Parts), `the answer is "blue"`)
		}},
		{name: "a decision in the shapes of others", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("adk", 5)})
			m := s.says("adk answer")
			m.Task = task.ID
			m.Parts = []part{data(map[string]any{
				"id": s.asks(task.Message)[0].id, "name": "adk_request_confirmation", "response": map[string]any{"confirmed": true},
			}).with("adk_type", "function_response")}
			s.equal("ADK", alice.task(sending{Message: m}).State, "completed")
			task = alice.task(sending{Message: s.pays("kagent", 5)})
			m = s.says("kagent answer", "approved")
			m.Task = task.ID
			const kagent = "https://kagent.dev/extensions/hitl/v1"
			m.Extensions = []string{kagent}
			m.Metadata = map[string]any{kagent: map[string]any{
				"type": "tool_approval_response", "approvals": []any{map[string]any{"id": s.asks(task.Message)[0].id, "approved": true}},
			}}
			s.equal("kagent", alice.task(sending{Message: m}).State, "completed")
		}},
		{name: "a decision without a task", play: func(s *scene) {
			alice := s.as("alice")
			m := s.decides("m", &task{}, asked{id: "019b7c00-0000-7000-8000-00000000ffff.a1"}.decision("approve"))
			_, f := alice.send(sending{Message: m})
			s.refused("a decision", f, "INVALID_PARAMS")
		}},
		{name: "a decision by somebody else", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("m", 5)})
			q := s.asks(task.Message)[0]
			for _, who := range []string{"bob", "eve"} {
				_, f := s.as(who).send(sending{Message: s.decides("yes of "+who, task, q.decision("approve"))})
				s.refused(who, f, "TASK_NOT_FOUND")
			}
			for _, who := range []string{"ghost", "viewer"} {
				_, f := s.as(who).send(sending{Message: s.decides("yes of "+who, task, q.decision("approve"))})
				s.refused(who, f, "PERMISSION_DENIED")
			}
			s.equal("state", alice.has(task.ID).State, "input-required")
			alice.drops(task.ID)
		}},
	}
}

// refusedDecision sends decisions that are to be refused.
func (a *actor) refusedDecision(t *task, decisions ...map[string]any) *fault {
	a.s.Helper()
	_, f := a.send(sending{Message: a.s.decides("refused", t, decisions...)})
	a.s.refused("a decision", f, "INVALID_PARAMS")
	if f == nil {
		a.s.FailNow()
	}
	return f
}

// field returns a member of the data in parts.
func field(parts []part, name string) any {
	for _, p := range parts {
		if object, ok := p.Data.(map[string]any); ok {
			return object[name]
		}
	}
	return nil
}
