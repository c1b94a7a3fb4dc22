package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// listCases are about lists of tasks.
func listCases() []endToEnd {
	return []endToEnd{
		{name: "list by context, state and page", needs: lists, play: func(s *scene) {
			alice := s.as("alice")
			context := s.id("context")
			var made []string // the newest first
			for i := range 5 {
				m := s.says(fmt.Sprint("m", i), fmt.Sprint("/echo ", i))
				if i == 2 {
					m = s.pays("m2", 5)
				}
				m.Context = context
				made = slices.Insert(made, 0, alice.task(sending{Message: m}).ID)
			}
			all := alice.lists(listing{Context: context})
			s.equal("all", ids(all), made)
			if !legacy(s.on) {
				s.equal("total", []int{all.Total, all.Size}, []int{5, 50})
			}
			for _, t := range all.Tasks {
				if !t.noArtifacts {
					s.Errorf("a task has artifacts that nobody asked for: %+v", t)
				}
			}
			s.equal("with artifacts", texts(alice.lists(listing{Context: context, Artifacts: true}).Tasks[0].Artifacts[0].Parts), "4")
			s.equal("waiting", ids(alice.lists(listing{Context: context, State: "input-required"})), made[2:3])
			s.equal("completed", ids(alice.lists(listing{Context: context, State: "completed"})), slices.Concat(made[:2], made[3:]))
			s.equal("failed", ids(alice.lists(listing{Context: context, State: "failed"})), []string{})
			var paged []string
			for token, n := "", 0; n == 0 || token != ""; n++ {
				p := alice.lists(listing{Context: context, Size: ptr(2), Token: token})
				s.equal("total", p.Total, all.Total)
				paged, token = append(paged, ids(p)...), p.next
			}
			s.equal("page by page", paged, made)
			since, err := alice.client.list(s.ctx, listing{Context: context, Since: all.Tasks[0].at}) // depends on the time, so it is not compared
			if err != nil {
				s.Fatal(err)
			}
			s.equal("since", ids(since), sameTime(all))
			s.equal("of somebody else", alice.s.as("bob").lists(listing{Context: context}).Total, 0)
			s.equal("of another tenant", alice.s.as("eve").lists(listing{Context: context}).Total, 0)
			alice.drops(made[2])
		}, differs: noTotals()},
		{name: "list what cannot be asked for", needs: lists, play: func(s *scene) {
			alice := s.as("alice")
			context := s.id("context")
			for _, l := range []listing{{Size: ptr(101)}, {Size: ptr(-1)}, {Token: "forged"}, {History: ptr(-1)}} {
				l.Context = context
				_, f := alice.list(l)
				s.refused(fmt.Sprintf("%+v", l), f, "INVALID_PARAMS")
			}
			for range 2 {
				m := s.says("m", "/echo a")
				m.Context = context
				alice.task(sending{Message: m})
			}
			p := alice.lists(listing{Context: context, Size: ptr(1)})
			_, f := s.as("bob").list(listing{Context: context, Size: ptr(1), Token: p.next})
			s.refused("the token of somebody else", f, "INVALID_PARAMS")
			_, f = alice.list(listing{Context: s.id("another"), Size: ptr(1), Token: p.next})
			s.refused("the token of another list", f, "INVALID_PARAMS")
		}, differs: noTotals()},
		{name: "list without history", needs: lists, play: func(s *scene) {
			alice := s.as("alice")
			m := s.says("m", "/echo a")
			m.Context = s.id("context")
			alice.task(sending{Message: m})
			want := 0
			if s.on.name == "gRPC-0.3" {
				want = 1
			}
			p := alice.lists(listing{Context: m.Context, History: ptr(0)})
			s.equal("messages", len(p.Tasks[0].History), want)
		}, differs: []difference{
			{named("gRPC-0.3"), "a2a.v1 cannot tell 0 from a length that is left out, which is all"}, {legacy, "0.3 has neither the total nor the size of a page"},
		}},
		{name: "list by a state that does not exist", needs: lists, play: func(s *scene) {
			_, f := s.as("alice").list(listing{State: "sleeping"})
			s.refused("sleeping", f, "INVALID_PARAMS")
		}, differs: []difference{{named("gRPC"), "a state is a number there"}}},
		{name: "list pages of size 0", needs: lists, play: func(s *scene) {
			p, f := s.as("alice").list(listing{Context: s.id("context"), Size: ptr(0)})
			if s.on.binding() != "gRPC" {
				s.refused("0", f, "INVALID_PARAMS")
			} else if f != nil || len(p.Tasks) != 0 {
				s.Errorf("%+v, %v; want an empty page", p, f)
			}
		}, differs: []difference{
			{named("gRPC"), "the SDK's client (v2.4.0) sends 0 where its caller gives no size"}, {named("gRPC-0.3"), "0.3 does not say the size of a page"},
		}},
		{name: "list since a time that is none", needs: func(b binding) bool { return b.lists && !strings.HasPrefix(b.name, "gRPC") }, play: func(s *scene) {
			_, f := s.as("alice").list(listing{Since: "yesterday"})
			s.refused("yesterday", f, "INVALID_PARAMS")
		}, differs: []difference{{named("REST"), "a parameter of a query is named as a field; ProtoJSON names the place in the text"}}},
		{name: "list everything that one has", needs: lists, set: map[string]string{}, play: func(s *scene) {
			// The server is this case's, and the bindings share it: each has a caller's
			// tasks in its own context, so only totals of a caller without tasks are known.
			s.equal("total", s.as("eve").lists(listing{}).Total, 0)
			s.equal("total of a viewer", s.as("viewer").lists(listing{}).Total, 0)
			_, f := s.as("ghost").list(listing{})
			s.refused("without a role", f, "PERMISSION_DENIED")
		}, differs: noTotals()},
	}
}

// noTotals is the difference of pages in 0.3.
func noTotals() []difference {
	return []difference{{legacy, "0.3 has neither the total nor the size of a page"}}
}

// lists returns a page that has to be there.
func (a *actor) lists(l listing) *page {
	a.s.Helper()
	p, f := a.list(l)
	if f != nil {
		a.s.Fatalf("%s lists: %v", a.name, f)
	}
	return p
}

// ids returns the ids of the tasks of a page.
func ids(p *page) []string {
	var all []string
	for _, t := range p.Tasks {
		all = append(all, t.ID)
	}
	return all
}

// sameTime returns the tasks of a page whose status is as new as that of the first one.
func sameTime(p *page) []string {
	var all []string
	for _, t := range p.Tasks {
		if t.at == p.Tasks[0].at {
			all = append(all, t.ID)
		}
	}
	return all
}
