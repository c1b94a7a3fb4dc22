package conformance

// historyCases are about how much of a task's history an answer has.
func historyCases() []endToEnd {
	return []endToEnd{
		{name: "history of a task: all, none, some", play: func(s *scene) {
			alice := s.as("alice")
			asked := alice.task(sending{Message: s.pays("m", 5)})
			m := s.says("nonsense", "what?")
			m.Task = asked.ID
			alice.task(sending{Message: m})
			again := alice.has(asked.ID)
			done := alice.task(sending{Message: s.decides("yes", asked, s.asks(again.Message)[0].decision("approve"))})
			s.equal("messages", len(done.History), 4)
			for _, n := range []int{1, 2, 4, 100} {
				got, f := alice.get(asked.ID, &n)
				if f != nil {
					s.Fatal(f)
				}
				want := done.History[max(0, len(done.History)-n):]
				s.equal("the newest", got.History, want)
			}
		}},
		{name: "history of length 0 is left out", play: func(s *scene) {
			alice := s.as("alice")
			done := alice.task(sending{Message: s.says("m", "/echo a")})
			got, _ := alice.get(done.ID, ptr(0))
			want := 0
			if s.on.name == "gRPC-0.3" {
				want = 1
			}
			s.equal("history", len(got.History), want)
		}, differs: []difference{{named("gRPC-0.3"), "a2a.v1 cannot tell 0 from a length that is left out, which is all"}}},
		{name: "history in the answer to a send", play: func(s *scene) {
			alice := s.as("alice")
			s.equal("messages", len(alice.task(sending{Message: s.says("b", "/echo b"), Now: ptr(false), History: ptr(1)}).History), 1)
			s.equal("messages", len(alice.task(sending{Message: s.says("c", "/echo c"), Now: ptr(false), History: ptr(7)}).History), 1)
		}},
		{name: "history of length 0 in the answer to a send", play: func(s *scene) {
			want := 0
			if proto03(s.on) {
				want = 1
			}
			s.equal("messages", len(s.as("alice").task(sending{Message: s.says("a", "/echo a"), Now: ptr(false), History: ptr(0)}).History), want)
		}, differs: []difference{{proto03, "a2a.v1 cannot tell 0 from a length that is left out, which is all"}}},
		{name: "a negative length of the history is refused", play: func(s *scene) {
			alice := s.as("alice")
			done := alice.task(sending{Message: s.says("m", "/echo a")})
			_, f := alice.get(done.ID, ptr(-1))
			s.refused("get", f, "INVALID_PARAMS")
			_, f = alice.send(sending{Message: s.says("n", "/echo b"), History: ptr(-1)})
			s.refused("send", f, "INVALID_PARAMS")
		}},
	}
}
