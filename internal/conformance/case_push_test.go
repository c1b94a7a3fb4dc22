package conformance

import "slices"

// pushing is the configuration of a server that notifies webhooks on this machine.
func pushing() map[string]string {
	return map[string]string{"push.enabled": "true", "push.allow_http": "true", "push.allow_loopback": "true"}
}

// pushCases are about webhooks.
func pushCases() []endToEnd {
	return []endToEnd{
		{name: "webhooks where there are none", play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("m", 5)})
			hook := pushConfig{Task: task.ID, ID: "c", URL: "https://example.com/hook"}
			_, err := alice.client.setPush(s.ctx, hook)
			s.refused("set", alice.check("sets", err), "PUSH_NOTIFICATION_NOT_SUPPORTED")
			_, err = alice.client.getPush(s.ctx, task.ID, "c")
			s.refused("get", alice.check("gets", err), "PUSH_NOTIFICATION_NOT_SUPPORTED")
			_, err = alice.client.listPush(s.ctx, task.ID)
			s.refused("list", alice.check("lists", err), "PUSH_NOTIFICATION_NOT_SUPPORTED")
			s.refused("delete", alice.check("deletes", alice.client.deletePush(s.ctx, task.ID, "c")), "PUSH_NOTIFICATION_NOT_SUPPORTED")
			_, f := alice.send(sending{Message: s.says("n", "/echo a"), Push: &pushConfig{URL: "https://example.com/hook"}})
			s.refused("with a message", f, "PUSH_NOTIFICATION_NOT_SUPPORTED")
			alice.drops(task.ID)
		}},
		{name: "webhooks are set, read, replaced and deleted", set: pushing(), play: func(s *scene) {
			alice := s.as("alice")
			s.equal("the card", s.card(s.as("").client.card(s.ctx)).Push, true)
			task := alice.task(sending{Message: s.pays("m", 5)})
			hook := pushConfig{Task: task.ID, ID: "one", URL: "https://example.com/hook?a=b", Token: "the-token", Scheme: "Bearer", Credentials: "the-credentials"}
			shown := alice.sets(hook)
			s.equal("url", shown.URL, hook.URL)
			s.equal("read", alice.hook(task.ID, "one"), shown)
			alice.sets(pushConfig{Task: task.ID, ID: "two", URL: "https://example.com/two"})
			s.equal("all", urls(alice.hooks(task.ID)), []string{"https://example.com/hook?a=b", "https://example.com/two"})
			alice.sets(pushConfig{Task: task.ID, ID: "one", URL: "https://example.com/new"})
			s.equal("replaced", alice.hook(task.ID, "one").URL, "https://example.com/new")
			for range 2 {
				if f := alice.check("deletes", alice.client.deletePush(s.ctx, task.ID, "one")); f != nil {
					s.Error(f)
				}
			}
			s.equal("left", urls(alice.hooks(task.ID)), []string{"https://example.com/two"})
			_, err := alice.client.getPush(s.ctx, task.ID, "one")
			s.refused("a deleted one", alice.check("gets", err), "TASK_NOT_FOUND")
			unnamed := alice.sets(pushConfig{Task: task.ID, URL: "https://example.com/three"})
			if unnamed.ID == "" || len(alice.hooks(task.ID)) != 2 {
				s.Errorf("the id of an unnamed one is %q", unnamed.ID)
			}
			alice.drops(task.ID)
		}},
		{name: "webhooks of tasks that are missing or foreign", set: pushing(), play: func(s *scene) {
			theirs := s.as("bob").task(sending{Message: s.pays("m", 5)})
			s.as("bob").sets(pushConfig{Task: theirs.ID, ID: "c", URL: "https://example.com/hook"})
			for _, who := range []string{"alice", "eve"} {
				for _, id := range []string{theirs.ID, "019b7c00-0000-7000-8000-00000000ffff"} {
					a := s.as(who)
					_, err := a.client.setPush(s.ctx, pushConfig{Task: id, ID: "c", URL: "https://example.com/mine"})
					s.refused("set", a.check("sets", err), "TASK_NOT_FOUND")
					_, err = a.client.getPush(s.ctx, id, "c")
					s.refused("get", a.check("gets", err), "TASK_NOT_FOUND")
					_, err = a.client.listPush(s.ctx, id)
					s.refused("list", a.check("lists", err), "TASK_NOT_FOUND")
					s.refused("delete", a.check("deletes", a.client.deletePush(s.ctx, id, "c")), "TASK_NOT_FOUND")
				}
			}
			s.equal("theirs", s.as("bob").hook(theirs.ID, "c").URL, "https://example.com/hook")
			s.as("bob").drops(theirs.ID)
		}},
		{name: "webhooks that cannot be", set: pushing(), play: func(s *scene) {
			alice := s.as("alice")
			task := alice.task(sending{Message: s.pays("m", 5)})
			for _, c := range []pushConfig{
				{URL: "ftp://example.com/"}, {URL: "not a url"}, {URL: ""}, {URL: "http://169.254.169.254/latest"}, {URL: "http://10.0.0.1/"},
				{URL: "https://user:password@example.com/"}, {URL: "https://example.com/", Token: "a\r\nb: c"},
			} {
				c.Task, c.ID = task.ID, "c"
				_, err := alice.client.setPush(s.ctx, c)
				s.refused(c.URL, alice.check("sets", err), "INVALID_PARAMS")
			}
			s.equal("webhooks", len(alice.hooks(task.ID)), 0)
			alice.drops(task.ID)
		}, differs: []difference{{legacy, "a webhook is a member of the request in 0.3, so its fields are named differently"}}},
		{name: "a webhook is notified in order", set: pushing(), play: func(s *scene) {
			alice := s.as("alice")
			hook := s.receives()
			task := alice.task(sending{Message: s.pays("m", 5)})
			alice.sets(pushConfig{Task: task.ID, ID: "c", URL: hook.url, Token: "the-token", Scheme: "Bearer", Credentials: "the-credentials"})
			alice.task(sending{Message: s.decides("yes", task, s.asks(task.Message)[0].decision("approve"))})
			got := hook.until(s, "completed")
			s.notified(got)
			s.equal("authorization", got[0].Authorization, "Bearer the-credentials")
			s.equal("tokens", got[0].Tokens, []string{"the-token", "the-token"})
		}, differs: []difference{{legacy, "0.3 is notified with the task, 1.0 with the event"}}},
		{name: "a webhook that comes with a message", set: pushing(), play: func(s *scene) {
			alice := s.as("alice")
			hook := s.receives()
			task := alice.task(sending{Message: s.pays("m", 5), Now: ptr(false), Push: &pushConfig{ID: "inline", URL: hook.url}})
			s.notified(hook.until(s, "input-required"))
			s.equal("webhooks", urls(alice.hooks(task.ID)), []string{hook.url})
			alice.drops(task.ID)
			s.notified(hook.until(s, "canceled"))
		}, differs: []difference{{legacy, "0.3 is notified with the task, 1.0 with the event"}}},
	}
}

// notified checks what all notifications have in common.
func (s *scene) notified(all []*notification) {
	s.Helper()
	want := map[string]string{"1.0": "application/a2a+json", "0.3": "application/json"}[s.on.version]
	for _, n := range all {
		s.equal("media type", n.Type, want)
	}
}

// sets sets a webhook.
func (a *actor) sets(c pushConfig) *pushConfig {
	a.s.Helper()
	out, err := a.client.setPush(a.s.ctx, c)
	if f := a.check("sets a webhook", err); f != nil {
		a.s.Fatal(f)
	}
	a.s.numbered(out.ID, "webhook")
	a.s.record(a.name+" sets a webhook", out)
	return out
}

// hook reads a webhook.
func (a *actor) hook(task, id string) *pushConfig {
	a.s.Helper()
	out, err := a.client.getPush(a.s.ctx, task, id)
	if f := a.check("gets a webhook", err); f != nil {
		a.s.Fatal(f)
	}
	a.s.record(a.name+" gets a webhook", out)
	return out
}

// hooks lists the webhooks of a task.
func (a *actor) hooks(task string) []pushConfig {
	a.s.Helper()
	all, err := a.client.listPush(a.s.ctx, task)
	if f := a.check("lists webhooks", err); f != nil {
		a.s.Fatal(f)
	}
	a.s.record(a.name+" lists webhooks", all)
	return all
}

// urls returns the URLs of webhooks, in order.
func urls(all []pushConfig) []string {
	var out []string
	for _, c := range all {
		out = append(out, c.URL)
	}
	slices.Sort(out)
	return out
}
