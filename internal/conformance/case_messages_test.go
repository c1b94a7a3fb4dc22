package conformance

import (
	"cmp"
	"slices"
	"strings"
)

// messageCases are about messages, and the tasks that they make.
func messageCases() []endToEnd {
	return []endToEnd{
		{name: "a message makes a task that completes", play: func(s *scene) {
			alice := s.as("alice")
			got := alice.task(sending{Message: s.says("m", "/echo hello")})
			s.equal("state", got.State, "completed")
			s.equal("artifacts", len(got.Artifacts), 1)
			s.equal("its text", texts(got.Artifacts[0].Parts), "hello")
			s.equal("history", len(got.History), 1)
			s.equal("the task", alice.has(got.ID), got)
		}},
		{name: "a message without a call is answered with a message", play: func(s *scene) {
			alice := s.as("alice")
			m := s.says("m", "hello there")
			m.Context = s.id("chosen")
			out, f := alice.send(sending{Message: m})
			if f != nil || out.Message == nil {
				s.Fatalf("%+v, %v; want a message", out, f)
			}
			s.equal("context", out.Message.Context, m.Context)
			s.equal("role", out.Message.Role, "agent")
			s.equal("task", out.Message.Task, "")
			st := alice.stream(sending{Message: s.says("again", "hello there")})
			if e := st.event(); e.Message == nil || len(st.rest()) != 0 {
				s.Errorf("the stream has %+v and more, want one message", e)
			}
		}},
		{name: "a send that waits returns when the task rests", play: func(s *scene) {
			for _, now := range []*bool{nil, ptr(false)} {
				gate := s.gate()
				go func() { // while the send below waits
					<-gate.entered
					close(gate.steps)
				}()
				got := s.as("alice").task(sending{Message: s.calls("m", "hold", gate.args), Now: now})
				s.equal("state", got.State, "completed")
			}
		}},
		{name: "a send that does not wait returns at once", play: func(s *scene) {
			gate := s.gate()
			alice := s.as("alice")
			got := alice.started(gate, "hold")
			if over(got.State) || got.State == "input-required" {
				s.Errorf("state = %s, want one in progress", got.State)
			}
			close(gate.steps)
			alice.ends(got.ID, "completed")
		}},
		{name: "parts of every kind come back as they were sent", play: func(s *scene) {
			alice := s.as("alice")
			m := s.says("m", "/echo parts")
			m.Parts = append(m.Parts,
				part{Kind: "raw", Raw: []byte{0, 1, 0xff, 0xfe, '?', '>'}, Name: "a.png", Type: "image/png"},
				part{Kind: "raw", Raw: []byte("without a name")},
				part{Kind: "url", URL: "https://example.com/a?b=c&d=<e>#f", Name: "b.json", Type: "application/json"},
				part{Kind: "url", URL: "https://example.com/"},
				data(map[string]any{"a": map[string]any{"b": []any{1.0, -2.5, 1e21, "x", nil, true, map[string]any{}, []any{}}}}),
				data(map[string]any{}),
				text("<b>&amp;\u2028 \"quoted\" \\ \U0001F600 e\u0301\n\ttab"),
			)
			got := alice.task(sending{Message: m})
			s.equal("parts", got.History[0].Parts, m.Parts)
			s.equal("parts in the task", alice.has(got.ID).History[0].Parts, m.Parts)
		}},
		{name: "data that is no object comes back as it was sent", play: func(s *scene) {
			alice := s.as("alice")
			m := s.says("m", "/echo data")
			m.Parts = append(m.Parts, data([]any{1.0, "two", nil}), data([]any{}), data("a text"), data(1.5), data(true), data(nil))
			got := alice.task(sending{Message: m})
			s.equal("parts", got.History[0].Parts, m.Parts)
		}},
		{name: "metadata of a message, a part and a request", play: func(s *scene) {
			alice := s.as("alice")
			m := s.says("m", "/echo metadata")
			m.Metadata = map[string]any{
				"integer": 7.0, "large": 9007199254740991.0, "small": -9007199254740991.0, "fraction": 0.1, "exponent": 1.5e300, "text": "1", "yes": true,
				"nothing": nil, "list": []any{1.0, []any{"x", nil}}, "deep": map[string]any{"a": map[string]any{"b": map[string]any{}}}, "": "no name", "https://example.com/ext": 1.0,
			}
			m.Parts[0] = m.Parts[0].with("of", map[string]any{"part": []any{1.0}})
			m.Extensions = []string{"https://example.com/ext"}
			got := alice.task(sending{Message: m, Metadata: map[string]any{"of": "the request"}})
			s.equal("metadata", got.History[0].Metadata, m.Metadata)
			s.equal("metadata of the part", got.History[0].Parts[0].Metadata, m.Parts[0].Metadata)
			s.equal("extensions", got.History[0].Extensions, m.Extensions)
		}},
		{name: "references to other tasks", play: func(s *scene) {
			alice := s.as("alice")
			m := s.says("m", "/echo references")
			m.References = []string{"019b7c00-0000-7000-8000-00000000aaaa", "another"}
			got := alice.task(sending{Message: m})
			want := m.References
			if proto03(s.on) {
				want = nil
			}
			s.equal("references", got.History[0].References, want)
		}, differs: []difference{{proto03, "a2a.v1 has no references"}}},
		{name: "a send whose configuration does not say whether it waits", play: func(s *scene) {
			gate := s.gate()
			alice := s.as("alice")
			release := func() {
				<-gate.entered
				close(gate.steps)
			}
			waits := !proto03(s.on)
			if waits {
				go release()
			}
			got := alice.task(sending{Message: s.calls("m", "hold", gate.args), Modes: []string{"text/plain"}})
			if over(got.State) != waits {
				s.Errorf("state = %s", got.State)
			}
			if !waits {
				release()
			}
			alice.ends(got.ID, "completed")
		}, differs: []difference{{proto03, "in a2a.v1 blocking is false if it is left out"}}},
		{name: "a call as data, and a result of every kind", play: func(s *scene) {
			got := s.as("alice").task(sending{Message: s.calls("m", "shapes", map[string]any{})})
			s.equal("state", got.State, "completed")
			s.equal("data", got.Artifacts[0].Parts[0].Data, any(map[string]any{
				"list": []any{1.0, "two", nil, true}, "number": 1.5, "large": 9007199254740991.0, "nested": map[string]any{"a": map[string]any{}},
			}))
		}},
		{name: "several calls in one message", play: func(s *scene) {
			alice := s.as("alice")
			got := alice.task(sending{Message: s.says("m", "/echo one", "/echo two", "/fail three"), Now: ptr(false)})
			s.equal("state", got.State, "completed")
			// They run at the same time, so their artifacts come in any order.
			slices.SortFunc(got.Artifacts, func(a, b artifact) int { return cmp.Compare(a.ID, b.ID) })
			var results []string
			for _, a := range got.Artifacts {
				results = append(results, texts(a.Parts))
			}
			s.equal("results", results[:2], []string{"one", "two"})
		}},
		{name: "a call that fails", play: func(s *scene) {
			got := s.as("alice").task(sending{Message: s.says("m", "/fail no paper")})
			s.equal("state", got.State, "failed")
			if got.Message == nil || !strings.Contains(texts(got.Message.Parts), "no paper") {
				s.Errorf("the status says %+v, want why", got.Message)
			}
		}},
		{name: "a tool that does not exist, and arguments that do not fit", play: func(s *scene) {
			alice := s.as("alice")
			s.equal("state", alice.task(sending{Message: s.calls("a", "nothing", map[string]any{})}).State, "failed")
			s.equal("state", alice.task(sending{Message: s.calls("b", "echo", map[string]any{"text": 1.0})}).State, "failed")
		}},
		{name: "a context is kept, made and shared", play: func(s *scene) {
			alice := s.as("alice")
			m := s.says("a", "/echo a")
			m.Context = s.id("chosen")
			s.equal("the chosen context", alice.task(sending{Message: m}).Context, m.Context)
			made := alice.task(sending{Message: s.says("b", "/echo b")})
			if made.Context == "" || made.Context == m.Context {
				s.Errorf("the context is %q", made.Context)
			}
			m = s.says("c", "/echo c")
			m.Context = made.Context
			second := alice.task(sending{Message: m})
			s.equal("the context of another task", second.Context, made.Context)
			if second.ID == made.ID {
				s.Error("the two tasks are one")
			}
			m = s.says("d", "/echo d")
			m.Context = made.Context
			theirs := s.as("bob").task(sending{Message: m})
			s.equal("the same context of another caller", theirs.Context, made.Context)
			if _, f := s.as("bob").get(made.ID, nil); f == nil || f.Name != "TASK_NOT_FOUND" {
				s.Errorf("a context that is shared by name shares a task: %v", f)
			}
		}},
		{name: "a message names a task and another context", play: func(s *scene) {
			alice := s.as("alice")
			asked := alice.task(sending{Message: s.pays("m", 5)})
			m := s.says("other", "yes")
			m.Task, m.Context = asked.ID, s.id("another")
			_, f := alice.send(sending{Message: m})
			s.refused("another context", f, "INVALID_PARAMS")
			s.equal("state", alice.has(asked.ID).State, "input-required")
			alice.drops(asked.ID)
		}},
		{name: "a message to a task that has ended", play: func(s *scene) {
			alice := s.as("alice")
			done := alice.task(sending{Message: s.says("m", "/echo done")})
			m := s.says("more", "/echo more")
			m.Task = done.ID
			_, f := alice.send(sending{Message: m})
			s.refused("a message", f, "UNSUPPORTED_OPERATION")
			m = s.says("streamed", "/echo more")
			m.Task, m.Context = done.ID, done.Context
			alice.stream(sending{Message: m}).refused("UNSUPPORTED_OPERATION")
			s.equal("the task", alice.has(done.ID), done)
		}},
		{name: "a message to a task that is missing, foreign or impossible", play: func(s *scene) {
			theirs := s.as("bob").task(sending{Message: s.pays("theirs", 5)})
			for _, who := range []string{"alice", "eve"} {
				a := s.as(who)
				for _, id := range []string{theirs.ID, "019b7c00-0000-7000-8000-00000000ffff", "impossible", "tasks/1", "../x"} {
					m := s.says("m", "approve")
					m.Task = id
					_, f := a.send(sending{Message: m})
					s.refused("a message of "+who, f, "TASK_NOT_FOUND")
					a.stream(sending{Message: m}).refused("TASK_NOT_FOUND")
				}
			}
			s.equal("state", s.as("bob").has(theirs.ID).State, "input-required")
			s.as("bob").drops(theirs.ID)
		}},
		{name: "a message to a task that works", play: func(s *scene) {
			gate := s.gate()
			alice := s.as("alice")
			working := alice.started(gate, "hold")
			m := s.says("more", "/echo more")
			m.Task = working.ID
			_, f := alice.send(sending{Message: m})
			s.refused("a message", f, "UNSUPPORTED_OPERATION")
			close(gate.steps)
			alice.ends(working.ID, "completed")
		}},
		{name: "a part of a media type that is not accepted", play: func(s *scene) {
			alice := s.as("alice")
			m := s.says("m", "/echo type")
			m.Parts = append(m.Parts, part{Kind: "raw", Raw: []byte("x"), Type: "video/mp4"})
			_, f := alice.send(sending{Message: m})
			s.refused("video", f, "CONTENT_TYPE_NOT_SUPPORTED")
			m.Parts[1] = part{Kind: "url", URL: "https://example.com/x", Type: "audio/ogg"}
			_, f = alice.send(sending{Message: m, Now: ptr(true), Modes: []string{"text/plain"}})
			s.refused("audio", f, "CONTENT_TYPE_NOT_SUPPORTED")
		}},
		{name: "the same message again is the same task", play: func(s *scene) {
			alice := s.as("alice")
			m := s.says("m", "/echo once")
			first := alice.task(sending{Message: m})
			s.equal("the same message", alice.task(sending{Message: m}), first)
			s.equal("with another configuration", alice.task(sending{Message: m, Now: ptr(true), History: ptr(5)}), first)
			st := alice.stream(sending{Message: m})
			s.equal("its stream begins with", st.event().Task, first)
			st.rest()
			other := s.says("m", "/echo twice")
			other.ID = m.ID
			if alice.task(sending{Message: other}).ID == first.ID {
				s.Error("another message with the same id is the same task")
			}
			if s.as("bob").task(sending{Message: m}).ID == first.ID {
				s.Error("the same message of another caller is the same task")
			}
		}},
	}
}
