package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// streamCases are about streams.
func streamCases() []endToEnd {
	return []endToEnd{
		{name: "a stream of a short call", play: func(s *scene) {
			st := s.as("alice").stream(sending{Message: s.says("m", "/echo hello")})
			first := st.event()
			if first.Task == nil {
				s.Fatalf("the stream begins with %+v, want a task", first)
			}
			events := append([]event{*first}, st.rest()...)
			states := statesOf(events)
			s.equal("the last state", lastOf(states), "completed")
			s.equal("the result", chunksOf(events), []string{"hello"})
		}},
		{name: "a stream of many chunks", play: func(s *scene) {
			alice := s.as("alice")
			st := alice.stream(sending{Message: s.calls("m", "stream", map[string]any{"chunks": 300.0, "size": 7.0})})
			events := append([]event{*st.event()}, st.rest()...)
			whole := strings.Join(chunksOf(events), "")
			for i, e := range events {
				if e.Artifact != nil && e.Artifact.Append != (i > firstChunk(events)) {
					s.Errorf("event %d: append is %v", i, e.Artifact.Append)
				}
			}
			s.equal("bytes", len(whole), 2100)
			done := alice.has(events[0].Task.ID)
			s.equal("the artifact", texts(done.Artifacts[0].Parts), whole)
		}},
		{name: "two readers get the same in the same order", play: func(s *scene) {
			alice := s.as("alice")
			gate := s.gate()
			sender := alice.stream(sending{Message: s.calls("m", "drip", gate.args)})
			id := sender.event().Task.ID
			gate.steps <- "one " // so that the task works
			sender.until("a chunk", func(e *event) bool { return e.Artifact != nil })
			second, third := alice.subscribe(id, ""), alice.subscribe(id, "")
			for _, r := range []*reading{second, third} {
				first := r.event()
				if first.Task == nil {
					s.Fatalf("a subscription begins with %+v, want the task", first)
				}
				s.equal("what was published before", texts(first.Task.Artifacts[0].Parts), "one ")
			}
			go func() {
				for i := range 20 {
					gate.steps <- fmt.Sprint(i, " ")
				}
				close(gate.steps)
			}()
			want := sender.rest()
			for i, r := range []*reading{second, third} {
				got := r.rest()
				for j := range got {
					got[j].id = want[j].id
				}
				s.equal(fmt.Sprint("reader ", i), got, want)
			}
			s.equal("chunks", len(chunksOf(want)) >= 20, true)
		}},
		{name: "a reader goes, and another one comes", play: func(s *scene) {
			alice := s.as("alice")
			gate := s.gate()
			gone := alice.stream(sending{Message: s.calls("m", "drip", gate.args)})
			id := gone.event().Task.ID
			gate.steps <- "one "
			gone.until("a chunk", func(e *event) bool { return e.Artifact != nil })
			gone.stream.close()
			gate.steps <- "two "
			// The task is read until the chunk is durable: nothing else tells.
			for {
				got, err := alice.client.get(s.ctx, id, nil)
				if err != nil {
					s.Fatal(err)
				}
				if len(got.Artifacts) > 0 && texts(got.Artifacts[0].Parts) == "one two " {
					break
				}
			}
			back := alice.subscribe(id, "")
			s.equal("what was missed", texts(back.event().Task.Artifacts[0].Parts), "one two ")
			gate.steps <- "three "
			close(gate.steps)
			s.equal("what is new", strings.Join(chunksOf(back.rest()), ""), "three ")
			alice.has(id)
		}},
		{name: "a stream ends when its task asks, a subscription does not", play: func(s *scene) {
			alice := s.as("alice")
			st := alice.stream(sending{Message: s.pays("m", 5)})
			first := st.event()
			events := append([]event{*first}, st.rest()...)
			states := statesOf(events)
			s.equal("the last state", lastOf(states), "input-required")
			id := first.Task.ID
			sub := alice.subscribe(id, "")
			e := sub.event()
			if e.Task == nil || e.Task.State != "input-required" {
				s.Fatalf("the subscription begins with %+v", e)
			}
			yes := s.decides("yes", e.Task, s.asks(e.Task.Message)[0].decision("approve"))
			if legacy(s.on) {
				s.equal("events after that", len(sub.rest()), 0)
				alice.task(sending{Message: yes})
				return
			}
			alice.task(sending{Message: yes})
			s.equal("the last state", lastOf(statesOf(sub.rest())), "completed")
		}, differs: []difference{{legacy, "a stream of 0.3 ends with its final event, which is also that of input-required"}}},
		{name: "a stream stays open while somebody else decides", play: func(s *scene) {
			alice := s.as("alice")
			st := alice.stream(sending{Message: s.says("m", "/login")})
			first := st.event()
			s.equal("it waits", st.until("auth-required", func(e *event) bool { return stateOf(e) == "auth-required" }) != nil, true)
			s.decidesElsewhere(first.Task.ID)
			s.equal("the last state", lastOf(statesOf(st.rest())), "completed")
			waiting := alice.task(sending{Message: s.says("n", "/login")})
			s.equal("a send returns", waiting.State, "auth-required")
			sub := alice.subscribe(waiting.ID, "")
			sub.event()
			s.decidesElsewhere(waiting.ID)
			s.equal("the last state", lastOf(statesOf(sub.rest())), "completed")
		}},
		{name: "the stream of an answer", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("m", 5)})
			st := alice.stream(sending{Message: s.decides("yes", task, s.asks(task.Message)[0].decision("approve"))})
			first := st.event()
			if first.Task == nil || first.Task.ID != task.ID {
				s.Fatalf("the stream begins with %+v, want the task", first)
			}
			states := statesOf(st.rest())
			s.equal("the last state", lastOf(states), "completed")
		}},
		{name: "subscribe to a task that has ended", play: func(s *scene) {
			alice := s.as("alice")
			done := alice.task(sending{Message: s.says("m", "/echo a")})
			alice.subscribe(done.ID, "").refused("UNSUPPORTED_OPERATION")
		}},
		{name: "subscribe to what is missing, foreign or impossible", play: func(s *scene) {
			theirs := s.as("bob").task(sending{Message: s.pays("m", 5)})
			for _, who := range []string{"alice", "eve"} {
				for _, id := range []string{theirs.ID, "019b7c00-0000-7000-8000-00000000ffff", "impossible"} {
					s.as(who).subscribe(id, "").refused("TASK_NOT_FOUND")
				}
			}
			s.as("bob").drops(theirs.ID)
		}},
		{name: "resume after an event", needs: resumes, play: func(s *scene) {
			alice := s.as("alice")
			st := alice.stream(sending{Message: s.calls("m", "stream", map[string]any{"chunks": 20.0, "size": 3.0})})
			all := append([]event{*st.event()}, st.rest()...)
			id := all[0].Task.ID
			for i := range all {
				if all[i].id == "" {
					s.Fatalf("event %d has no id", i)
				}
				// The task has ended meanwhile. How many events it has depends on the time, so
				// they are not compared.
				got, err := alice.client.subscribe(s.ctx, id, all[i].id).rest()
				if err != nil {
					s.Fatal(err)
				}
				s.equal(fmt.Sprint("after event ", i), got, all[i+1:])
			}
			other := alice.task(sending{Message: s.pays("other", 5)})
			back := alice.subscribe(other.ID, all[3].id) // an event of another task
			if e := back.event(); e.Task == nil || e.Task.ID != other.ID {
				s.Errorf("it begins with %+v, want the task", e)
			}
			alice.drops(other.ID)
		}},
	}
}

// firstChunk returns the place of the first chunk.
func firstChunk(events []event) int {
	return slices.IndexFunc(events, func(e event) bool { return e.Artifact != nil })
}
