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
		}, differs: []difference{{named("gRPC"), "the library of gRPC refuses it, in its own words"}}},
		{name: "a message with too many parts", play: func(s *scene) {
			alice := s.as("alice")
			m := s.says("many")
			m.Parts = slices.Repeat([]part{text("x")}, 1025)
			_, f := alice.send(sending{Message: m})
			s.refused("1025 parts", f, "INVALID_PARAMS")
		}, differs: []difference{{named("gRPC"), "they are counted while they are decoded, so the place is named as that of an encoding"}}},
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
		{name: "more requests than the rate", alone: true, set: map[string]string{"limits.rate": "1", "limits.burst": "2"}, play: func(s *scene) {
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
		{name: "more streams than there may be", alone: true, set: map[string]string{"limits.streams": "1"}, play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.calls("m", "hold", s.gate().args), Now: ptr(true)})
			alice.subscribe(task.ID, "").event()
			alice.subscribe(task.ID, "").refused("UNAVAILABLE")
			alice.drops(task.ID)
		}},
	}
}

// refusal returns the fault that err is, and records only its name: each encoding words
// for itself what breaks it.
func (a *actor) refusal(did string, err error) *fault {
	a.s.Helper()
	f := &fault{Name: "not offered"}
	if !errors.Is(err, errNotOffered) {
		f = a.s.quiet(err)
	}
	if f == nil {
		a.s.record(a.name+" "+did, "done")
		return nil
	}
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
