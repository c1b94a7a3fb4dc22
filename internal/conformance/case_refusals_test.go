package conformance

import (
	"errors"
	"slices"
	"strings"
)

// refusalCases are about requests that are refused, whoever makes them.
func refusalCases() []endToEnd {
	return []endToEnd{
		{name: "a message that lacks what is required", play: func(s *scene) {
			alice := s.as("alice")
			whole := func() *message { return s.says("m", "/echo a") }
			for _, m := range []*message{
				nil, {},
				change(whole(), func(m *message) { m.ID = "" }),
				change(whole(), func(m *message) { m.Role = "" }),
				change(whole(), func(m *message) { m.Role = "agent" }),
				change(whole(), func(m *message) { m.Role = "judge" }),
			} {
				_, f := alice.send(sending{Message: m})
				s.refused("a message", f, "INVALID_PARAMS")
				alice.stream(sending{Message: m}).refused("INVALID_PARAMS")
			}
		}, differs: []difference{{named("JSON-RPC-0.3"), "the roles of 0.3 are other words, so the messages name others"}}},
		{name: "a message without parts, or with an empty one", play: func(s *scene) {
			alice := s.as("alice")
			for _, m := range []*message{
				change(s.says("none"), func(m *message) { m.Parts = nil }),
				change(s.says("empty", "/echo a"), func(m *message) { m.Parts = append(m.Parts, part{}) }),
			} {
				_, f := alice.send(sending{Message: m})
				s.refused("a message", f, "INVALID_PARAMS")
			}
		}, differs: []difference{{legacy, "the contents of a part have other names in 0.3"}}},
		{name: "a message that is too large", play: func(s *scene) {
			_, f := s.as("alice").send(sending{Message: s.says("m", strings.Repeat("x", 5<<20))})
			s.refused("5 MiB", f, "REQUEST_TOO_LARGE")
		}, differs: []difference{{named("gRPC"), "the library refuses it in its own words"}}},
		{name: "a message with too many parts", play: func(s *scene) {
			alice := s.as("alice")
			m := s.says("many")
			m.Parts = slices.Repeat([]part{text("x")}, 1025)
			_, f := alice.send(sending{Message: m})
			s.refused("1025 parts", f, "INVALID_PARAMS")
		}},
		{name: "a message that is nested too deeply", play: func(s *scene) {
			alice := s.as("alice")
			var deep any = 1.0
			for range 150 {
				deep = []any{deep}
			}
			m := s.says("deep", "/echo a")
			m.Metadata = map[string]any{"deep": deep}
			_, err := alice.client.send(s.ctx, sending{Message: m})
			s.refused("150 levels", alice.refusal("sends", err), "INVALID_PARAMS")
		}},
		{name: "requests that break the encoding", play: func(s *scene) {
			alice := s.as("alice")
			for _, c := range []struct {
				how   garble
				names []string
			}{
				{notEncoded, []string{"PARSE_ERROR"}},
				{cut, []string{"PARSE_ERROR"}},
				{wrongType, []string{"INVALID_PARAMS"}},
				{wrongScalar, []string{"INVALID_PARAMS"}},
				{duplicateName, []string{"INVALID_PARAMS"}},
				{notUTF8, []string{"PARSE_ERROR"}},
				{hugeNumber, []string{"INVALID_PARAMS"}},
				{notDeclared, []string{"CONTENT_TYPE_NOT_SUPPORTED"}},
			} {
				f := alice.refusal("breaks a request: "+string(c.how), alice.client.garbled(s.ctx, c.how))
				if f == nil || f.Name != "not offered" && !slices.Contains(c.names, f.Name) {
					s.Errorf("%s: %v, want %q", c.how, f, c.names)
				}
			}
		}, differs: []difference{{named("gRPC"), "protobuf cannot say most of it"}}},
		{name: "a body that is no request", play: func(s *scene) {
			alice := s.as("alice")
			f := alice.refusal("sends a list", alice.client.garbled(s.ctx, noRequest))
			want := map[string]string{"JSON-RPC": "INVALID_REQUEST", "REST": "INVALID_PARAMS", "gRPC": "not offered"}[s.on.binding()]
			s.refused("a list", f, want)
		}, differs: []difference{
			{named("REST"), "there are no requests of JSON-RPC; the list is a message that is wrong"}, {named("gRPC"), "a message is no other value"},
		}},
		{name: "a field that nobody knows is ignored", play: func(s *scene) {
			alice := s.as("alice")
			if f := alice.check("adds a field", alice.client.garbled(s.ctx, unknownField)); f != nil && f.Name != "not offered" {
				s.Error(f)
			}
		}, differs: []difference{{named("gRPC"), "a field of protobuf has a number, which the generated types do not let a client choose"}}},
		{name: "an operation that does not exist", play: func(s *scene) {
			alice := s.as("alice")
			want := "METHOD_NOT_FOUND"
			if s.on.binding() == "REST" {
				want = "NOT_FOUND"
			}
			s.refused("a call", alice.refusal("calls", alice.client.garbled(s.ctx, unknownCall)), want)
		}, differs: []difference{{named("REST"), "a path that does not exist is an error of HTTP"}}},
		{name: "a path that has another method", needs: named("REST"), play: func(s *scene) {
			alice := s.as("alice")
			s.refused("PUT", alice.refusal("puts", alice.client.garbled(s.ctx, wrongMethod)), "METHOD_NOT_ALLOWED")
		}},
		{name: "callers who are not known", play: func(s *scene) {
			task := s.as("alice").task(sending{Message: s.pays("m", 5)})
			wrong := s.asWith("alice", func(c *caller) { c.key = "a2ak_alice_" + strings.Repeat("A", 49) })
			wrong.name = "somebody"
			for _, a := range []*actor{s.as(""), wrong} {
				for what, f := range a.everything(task.ID) {
					s.refused(a.name+" "+what, f, "UNAUTHENTICATED")
				}
			}
			s.as("alice").drops(task.ID)
		}},
		{name: "callers without a role, and with the role to read", play: func(s *scene) {
			task := s.as("alice").task(sending{Message: s.pays("m", 5)})
			for what, f := range s.as("ghost").everything(task.ID) {
				s.refused("without a role: "+what, f, "PERMISSION_DENIED")
			}
			viewer := s.as("viewer")
			s.equal("a viewer reads", viewer.has(task.ID).State, "input-required")
			_, f := viewer.cancel(task.ID)
			s.refused("a viewer cancels", f, "PERMISSION_DENIED")
			_, f = viewer.send(sending{Message: s.says("v", "/echo a")})
			s.refused("a viewer sends", f, "PERMISSION_DENIED")
			s.as("alice").drops(task.ID)
		}},
		{name: "a caller of another tenant finds nothing", play: func(s *scene) {
			task := s.as("alice").task(sending{Message: s.pays("m", 5)})
			for _, who := range []string{"eve", "bob"} {
				_, f := s.as(who).get(task.ID, nil)
				s.refused("get", f, "TASK_NOT_FOUND")
			}
			_, f := s.as("alice").get("019b7c00-0000-7000-8000-00000000ffff", nil)
			s.refused("get", f, "TASK_NOT_FOUND")
			s.as("alice").drops(task.ID)
		}},
		{name: "more requests than the rate", alone: true, set: map[string]string{"limits.rate": "1"}, play: func(s *scene) {
			alice := s.as("alice")
			for {
				_, err := alice.client.get(s.ctx, "019b7c00-0000-7000-8000-00000000ffff", nil)
				//nolint:errorlint // the fault itself is looked for
				if f, ok := err.(*fault); !ok || f.Name != "TASK_NOT_FOUND" {
					s.refused("too many", alice.check("gets too much", err), "RATE_LIMIT_EXCEEDED")
					return
				}
			}
		}},
		{name: "more bytes than a caller may store", alone: true, set: map[string]string{"limits.disk_per_caller": "1MiB"}, play: func(s *scene) {
			alice := s.as("alice")
			for i := 0; ; i++ {
				m := s.says("m", "/echo a", strings.Repeat("x", 400<<10))
				_, err := alice.client.send(s.ctx, sending{Message: m, Now: ptr(false)})
				if f := s.quiet(err); f != nil || i == 10 {
					s.refused("too much", alice.check("sends too much", err), "RESOURCE_EXHAUSTED")
					return
				}
			}
		}},
		{name: "a server without authentication", set: map[string]string{"auth.keys.file": ""}, play: func(s *scene) {
			nobody := s.as("")
			s.equal("state", nobody.task(sending{Message: s.says("m", "/echo a")}).State, "completed")
			c := s.card(nobody.client.card(s.ctx))
			s.equal("schemes", len(c.Schemes), 0)
			s.equal("an extended card", c.Extended, false)
			_, err := nobody.client.extendedCard(s.ctx)
			want := "UNSUPPORTED_OPERATION"
			if legacy(s.on) {
				want = "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
			}
			s.refused("the extended card", nobody.check("gets the extended card", err), want)
		}, differs: []difference{{legacy, "0.3 has an error of its own for it"}}},
		{name: "more streams than there may be", alone: true, set: map[string]string{"limits.streams": "1"}, play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.calls("m", "hold", s.gate().args), Now: ptr(true)})
			alice.subscribe(task.ID, "").event()
			alice.subscribe(task.ID, "").refused("UNAVAILABLE")
			alice.drops(task.ID)
		}},
	}
}

// reachable are the errors that clients of a binding can meet without a fault of the server,
// its store or its planner.
func reachable(b binding) []string {
	all := []string{
		"CONTENT_TYPE_NOT_SUPPORTED", "EXTENSION_SUPPORT_REQUIRED", "INVALID_PARAMS", "PARSE_ERROR", "PERMISSION_DENIED", "PUSH_NOTIFICATION_NOT_SUPPORTED",
		"RATE_LIMIT_EXCEEDED", "REQUEST_TOO_LARGE", "RESOURCE_EXHAUSTED", "TASK_NOT_CANCELABLE", "TASK_NOT_FOUND", "UNAUTHENTICATED", "UNAVAILABLE",
		"UNSUPPORTED_OPERATION", "VERSION_NOT_SUPPORTED",
	}
	if legacy(b) {
		all = append(all, "EXTENDED_AGENT_CARD_NOT_CONFIGURED")
	}
	switch b.binding() {
	case "JSON-RPC":
		all = append(all, "INVALID_REQUEST", "METHOD_NOT_FOUND")
	case "REST":
		all = append(all, "METHOD_NOT_ALLOWED", "NOT_FOUND")
	default:
		all = append(all, "METHOD_NOT_FOUND")
	}
	slices.Sort(all)
	return all
}

// refusal returns the fault that err is, and records only its name: each encoding words
// for itself what breaks it.
func (a *actor) refusal(did string, err error) *fault {
	a.s.Helper()
	if errors.Is(err, errNotOffered) {
		a.s.record(a.name+" "+did, "not offered")
		return &fault{Name: "not offered"}
	}
	f := a.s.quiet(err)
	if f == nil {
		a.s.record(a.name+" "+did, "done")
		return nil
	}
	a.s.meets(f)
	a.s.record(a.name+" "+did, f.Name)
	return f
}

// change returns m, changed.
func change(m *message, f func(*message)) *message {
	f(m)
	return m
}

// everything does all that one can do with a task, and returns what came of it.
func (a *actor) everything(id string) map[string]*fault {
	a.s.Helper()
	s := a.s
	all := map[string]*fault{}
	m := s.says("hello", "/echo a")
	_, all["sends"] = a.send(sending{Message: m})
	_, all["streams"] = a.stream(sending{Message: m}).next()
	_, all["gets"] = a.get(id, nil)
	_, all["cancels"] = a.cancel(id)
	_, all["subscribes"] = a.subscribe(id, "").next()
	_, err := a.client.setPush(s.ctx, pushConfig{Task: id, ID: "c", URL: "https://example.com/hook"})
	all["sets a webhook"] = a.check("sets a webhook", err)
	_, err = a.client.getPush(s.ctx, id, "c")
	all["gets a webhook"] = a.check("gets a webhook", err)
	_, err = a.client.listPush(s.ctx, id)
	all["lists webhooks"] = a.check("lists webhooks", err)
	all["deletes a webhook"] = a.check("deletes a webhook", a.client.deletePush(s.ctx, id, "c"))
	_, err = a.client.extendedCard(s.ctx)
	all["gets the extended card"] = a.check("gets the extended card", err)
	return all
}
