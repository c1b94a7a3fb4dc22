package conformance

import "slices"

// cardCases are about what the server says of itself, and what a request may ask of it:
// cards, versions and extensions.
func cardCases() []endToEnd {
	return []endToEnd{
		{name: "the card", play: func(s *scene) {
			c := s.card(s.as("").client.card(s.ctx))
			s.equal("name", c.Name, "tested")
			s.equal("capabilities", []bool{c.Streaming, c.Push, c.Extended}, []bool{true, false, true})
			s.equal("schemes", c.Schemes, []string{"apiKey"})
			s.equal("a tool for auditors is public", slices.Contains(c.Skills, "audit"), false)
			for _, b := range bindings() {
				name := map[string]string{"JSON-RPC": "JSONRPC", "REST": "HTTP+JSON", "gRPC": "GRPC"}[b.binding()]
				if b.version == s.on.version && !slices.Contains(c.Interfaces[name], b.version) {
					s.Errorf("the card has no %s %s: %v", name, b.version, c.Interfaces)
				}
			}
		}},
		{name: "the extended card", play: func(s *scene) {
			for _, who := range []string{"alice", "ann"} {
				c := s.card(s.as(who).client.extendedCard(s.ctx))
				s.equal("audit of "+who, slices.Contains(c.Skills, "audit"), who == "ann")
				s.equal("echo of "+who, slices.Contains(c.Skills, "echo"), true)
			}
		}},
		{name: "a tool for auditors is not there for others", play: func(s *scene) {
			m := func() *message { return s.calls("m", "audit", map[string]any{}) }
			s.equal("state", s.as("ann").task(sending{Message: m()}).State, "completed")
			s.equal("state", s.as("alice").task(sending{Message: m()}).State, "failed")
		}},
		{name: "versions", play: func(s *scene) {
			task := s.as("alice").task(sending{Message: s.says("m", "/echo a")})
			for _, v := range []struct {
				name string
				ok   bool
			}{{s.on.version, true}, {s.on.version + ".7", true}, {"", true}, {"2.0", false}, {"0.1", false}, {"one", false}, {otherVersion(s.on), false}} {
				a := s.asWith("alice", func(c *caller) { c.version = &v.name })
				got, err := a.client.get(s.ctx, task.ID, nil)
				f := s.quiet(err)
				if f != nil {
					s.meets(f)
				}
				switch {
				case v.ok && (f != nil || got.ID != task.ID):
					s.Errorf("version %q: %v", v.name, f)
				case !v.ok:
					s.refused("version "+v.name, f, "VERSION_NOT_SUPPORTED")
				}
			}
			none := s.asWith("alice", func(c *caller) { c.version = nil })
			none.has(task.ID)
		}},
		{name: "extensions", play: func(s *scene) {
			const ours = "urn:a2a-server:extension:tool-approval:v1"
			for _, c := range []struct{ asked, want []string }{
				{[]string{ours}, []string{ours}},
				{[]string{"https://example.com/unknown", ours}, []string{ours}},
				{[]string{"https://example.com/unknown"}, nil},
				{nil, nil},
			} {
				var active []string
				a := s.asWith("alice", func(by *caller) {
					by.extensions, by.activated = c.asked, func(got []string) { active = got }
				})
				task := a.task(sending{Message: s.says("m", "/echo a")})
				s.equal("active in an answer", active, c.want)
				active = nil
				_, f := a.get("019b7c00-0000-7000-8000-00000000ffff", nil)
				s.refused("get", f, "TASK_NOT_FOUND")
				s.equal("active in an error", active, c.want)
				active = nil
				st := a.stream(sending{Message: s.says("n", "/echo a")})
				st.event()
				s.equal("active in a stream", active, c.want)
				st.rest()
				a.has(task.ID)
			}
		}},
		{name: "an extension that is required", set: map[string]string{"card.required_extensions": "urn:a2a-server:extension:tool-approval:v1"}, play: func(s *scene) {
			_, f := s.as("alice").send(sending{Message: s.says("m", "/echo a")})
			s.refused("without it", f, "EXTENSION_SUPPORT_REQUIRED")
			s.as("alice").stream(sending{Message: s.says("n", "/echo a")}).refused("EXTENSION_SUPPORT_REQUIRED")
			with := s.asWith("alice", func(c *caller) { c.extensions = []string{"urn:a2a-server:extension:tool-approval:v1"} })
			s.equal("with it", with.task(sending{Message: s.says("o", "/echo a")}).State, "completed")
		}},
		{name: "the same message over every binding is one task", play: func(s *scene) {
			alice := s.as("alice")
			m := s.says("m", "/echo once")
			m.Context = s.id("chosen")
			m.Parts = append(m.Parts,
				data(map[string]any{"a": []any{1.0, 0.5, nil, "x"}}), data([]any{1.0, "two"}), data("three"),
				part{Kind: "raw", Raw: []byte{0, 1, 2, 0xff}, Name: "a.png", Type: "image/png"}, part{Kind: "url", URL: "https://example.com/", Type: "text/plain"},
				text("more").with("n", 7.0))
			m.Metadata = map[string]any{"large": 9007199254740991.0, "list": []any{1.0}, "object": map[string]any{"a": map[string]any{}}}
			m.Extensions = []string{"https://example.com/ext"}
			first := alice.task(sending{Message: m})
			for _, b := range bindings() {
				there := b.client(s.world, caller{key: s.world.keys["alice"]})
				got, err := there.send(s.ctx, sending{Message: m, Now: ptr(false)})
				if err != nil || got.Task == nil || got.Task.ID != first.ID {
					s.Errorf("over %s: %+v, %v; want task %s", b.name, got, err, first.ID)
					continue
				}
				s.equal("the task over "+b.name, got.Task, first)
				again, err := there.get(s.ctx, first.ID, nil)
				if err != nil {
					s.Errorf("over %s: %v", b.name, err)
				}
				s.equal("the task read over "+b.name, again, first)
			}
		}},
		{name: "a question over one binding, its answer over another", play: func(s *scene) {
			alice := s.as("alice")
			for _, b := range bindings() {
				task := alice.task(sending{Message: s.pays("m", 5)})
				there := b.client(s.world, caller{key: s.world.keys["alice"]})
				got, err := there.send(s.ctx, sending{Message: s.decides("yes", task, s.asks(task.Message)[0].decision("approve")), Now: ptr(false)})
				if err != nil || got.Task == nil || got.Task.State != "completed" {
					s.Errorf("over %s: %+v, %v", b.name, got, err)
				}
				alice.has(task.ID)
			}
		}},
	}
}

// card returns a card that has to be there, and keeps what the versions have in common.
func (s *scene) card(c *card, err error) *card {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	slices.Sort(c.Schemes)
	common := *c
	common.Interfaces = nil
	s.record("a card", common)
	return c
}

// quiet returns the fault that err is, and does not record it.
func (s *scene) quiet(err error) *fault {
	s.Helper()
	if err == nil {
		return nil
	}
	f, ok := err.(*fault) //nolint:errorlint // the fault itself is looked for
	if !ok {
		s.Fatal(err)
	}
	return f
}

// otherVersion returns a version that is served, and is not that of b.
func otherVersion(b binding) string {
	if b.version == "1.0" {
		return "0.3"
	}
	return "1.0"
}
