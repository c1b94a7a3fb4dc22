package conformance

// cancelCases are about tasks that are canceled.
func cancelCases() []endToEnd {
	return []endToEnd{
		{name: "cancel a task that waits", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("m", 5)})
			got, f := alice.cancel(task.ID)
			if f != nil {
				s.Fatal(f)
			}
			s.equal("state", got.State, "canceled")
			s.equal("the task", alice.has(task.ID), got)
			_, f = alice.send(sending{Message: s.decides("late", task, s.asks(task.Message)[0].decision("approve"))})
			s.refused("a decision afterwards", f, "UNSUPPORTED_OPERATION")
			s.equal("reason", f.Own, "APPROVAL_CONFLICT")
		}},
		{name: "cancel a task that works", play: func(s *scene) {
			alice := s.as("alice")
			gate := s.gate()
			task := alice.started(gate, "hold")
			got, f := alice.cancel(task.ID)
			if f != nil {
				s.Fatal(f)
			}
			s.equal("state", got.State, "canceled")
			select {
			case <-gate.left: // the tool was told
			case <-s.ctx.Done():
				s.Fatal("the tool still runs")
			}
			s.equal("state", alice.has(task.ID).State, "canceled")
		}},
		{name: "cancel a stream", play: func(s *scene) {
			alice := s.as("alice")
			gate := s.gate()
			st := alice.stream(sending{Message: s.calls("m", "drip", gate.args)})
			gate.steps <- "first"
			e := st.until("a chunk", func(e *event) bool { return e.Artifact != nil })
			if _, f := alice.cancel(e.Artifact.Task); f != nil {
				s.Fatal(f)
			}
			states := statesOf(st.rest())
			s.equal("the last state", lastOf(states), "canceled")
		}},
		{name: "cancel twice", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("m", 5)})
			first, _ := alice.cancel(task.ID)
			second, f := alice.cancel(task.ID)
			if legacy(s.on) {
				s.refused("again", f, "TASK_NOT_CANCELABLE")
				return
			}
			if f != nil {
				s.Fatal(f)
			}
			s.equal("again", second, first)
		}, differs: []difference{{legacy, "in 0.3 a canceled task cannot be canceled"}}},
		{name: "cancel a task that has ended", play: func(s *scene) {
			alice := s.as("alice")
			done := alice.task(sending{Message: s.says("m", "/echo a")})
			_, f := alice.cancel(done.ID)
			s.refused("completed", f, "TASK_NOT_CANCELABLE")
			failed := alice.task(sending{Message: s.says("n", "/fail b")})
			_, f = alice.cancel(failed.ID)
			s.refused("failed", f, "TASK_NOT_CANCELABLE")
			s.equal("the task", alice.has(done.ID), done)
		}},
		{name: "cancel what is missing, foreign or impossible", play: func(s *scene) {
			theirs := s.as("bob").task(sending{Message: s.pays("m", 5)})
			for _, who := range []string{"alice", "eve"} {
				for _, id := range []string{theirs.ID, "019b7c00-0000-7000-8000-00000000ffff", "impossible"} {
					_, f := s.as(who).cancel(id)
					s.refused("cancel of "+who, f, "TASK_NOT_FOUND")
				}
			}
			s.equal("state", s.as("bob").has(theirs.ID).State, "input-required")
			s.as("bob").drops(theirs.ID)
		}},
		{name: "cancel one call", play: func(s *scene) {
			alice := s.as("alice")
			m := s.pays("m", 1)
			m.Parts = append(m.Parts, s.pays("unused", 2).Parts...)
			task := alice.task(sending{Message: m})
			q := s.asks(task.Message)
			s.equal("approvals", len(q), 2)
			stop := func(id, call string, more ...part) *message {
				m := s.says(id)
				m.Task, m.Parts = task.ID, append([]part{data(map[string]any{"type": "call_cancel", "call": call})}, more...)
				return m
			}
			for _, who := range []string{"bob", "eve"} {
				_, f := s.as(who).send(sending{Message: stop("of "+who, "c1.1")})
				s.refused(who, f, "TASK_NOT_FOUND")
			}
			_, f := alice.send(sending{Message: stop("unknown", "c9.1")})
			s.refused("an unknown call", f, "INVALID_PARAMS")
			_, f = alice.send(sending{Message: stop("and more", "c1.1", text("approve"))})
			s.refused("a cancel and a decision", f, "INVALID_PARAMS")
			left := alice.task(sending{Message: stop("stop", "c1.1", text("not needed"))})
			s.equal("state", left.State, "input-required")
			s.equal("what is left", s.asks(left.Message)[0].id, q[1].id)
			f = alice.refusedDecision(task, q[0].decision("approve"))
			s.equal("reason", f.Own, "APPROVAL_CONFLICT")
			done := alice.task(sending{Message: s.decides("yes", task, q[1].decision("approve"))})
			s.equal("state", done.State, "completed")
			s.equal("results", len(done.Artifacts), 1)
			s.equal("amount", field(done.Artifacts[0].Parts, "transferred"), any(2.0))
			_, f = alice.send(sending{Message: stop("too late", "c1.2")})
			s.refused("a call of a task that has ended", f, "UNSUPPORTED_OPERATION")
		}},
		{name: "cancel with metadata", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("m", 5)})
			got, err := alice.client.cancel(s.ctx, task.ID, map[string]any{"why": []any{1.0, "x"}})
			if err != nil {
				s.Fatal(err)
			}
			s.nameTask(got)
			s.record("cancel with metadata", got)
			s.equal("state", got.State, "canceled")
		}},
	}
}
