package e2e_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"a2a-server/auth"
)

// victim and mallory are colleagues.
func (w *attacked) victim(changes ...map[string]any) http.Header {
	return w.colleague("victim", changes)
}

func (w *attacked) mallory(changes ...map[string]any) http.Header {
	return w.colleague("mallory", changes)
}

// colleague returns the headers of a requester. A token without changes is signed once: that takes
// longer than most requests.
func (w *attacked) colleague(subject string, changes []map[string]any) http.Header {
	if len(changes) == 0 {
		return bearing(w.tokens[subject]())
	}
	return bearing(token("k1", w.issuer.claims("acme", subject, auth.RoleRequester, changes...)))
}

// list asks for a page of tasks, on a binding, with further fields.
func (w *attacked) list(t *testing.T, b attackBinding, header http.Header, fields map[string]string) answered {
	t.Helper()
	query, params := url.Values{"pageSize": {"1"}}, map[string]any{"pageSize": 1}
	for name, value := range fields {
		query.Set(name, value)
		params[name] = value
	}
	raw, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	return b.ask(w, t, header, attackOperation{name: "ListTasks", verb: http.MethodGet, path: "/tasks?" + query.Encode(), params: string(raw)}, "")
}

var nextPageIn = regexp.MustCompile(`"nextPageToken":"([^"]+)"`)

// A page token that is a colleague's, or of another query, is refused. A page token that was
// changed or made up is refused, or moves among the caller's own tasks.
func TestForgedPageTokens(t *testing.T) {
	t.Parallel()
	for _, b := range attackBindings() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := startAttacked(t)
			for _, text := range []string{"/echo text=one", "/echo text=two"} {
				w.create(t, w.mallory(), text)
			}
			next := func(header http.Header) string {
				a := w.list(t, b, header, nil)
				found := nextPageIn.FindStringSubmatch(a.Body)
				if found == nil {
					t.Fatalf("no second page: %+v", a)
				}
				return found[1]
			}
			theirs, own := next(w.victim()), next(w.mallory())
			if a := w.list(t, b, w.mallory(), map[string]string{"pageToken": own}); a.reason() != "" || !strings.Contains(a.Body, "one") {
				t.Fatalf("the second page: %+v", a)
			}
			refused := map[string]string{
				"the victim's": theirs, "half of one's own": theirs[:11] + own[11:], "padded": own + "=",
				"made up": base64.RawURLEncoding.EncodeToString(make([]byte, 60)),
				"a text":  "; DROP TABLE tasks", "not ASCII": "ключ\x7f\u2028", "long": strings.Repeat(own, 500), "a blank": " ",
			}
			tried := maps.Clone(refused)
			tried["half of the victim's"] = own[:11] + theirs[11:]
			tried["truncated"], tried["longer"] = own[:len(own)-1], own+"A"
			for i := 0; i < len(own); i += 6 {
				c := byte('A')
				if own[i] == c {
					c = 'B'
				}
				tried["changed at "+own[:i]] = own[:i] + string(c) + own[i+1:]
			}
			for name, text := range tried {
				a := w.list(t, b, w.mallory(), map[string]string{"pageToken": text})
				if strings.Contains(a.Body, victims) || a.reason() != "" && !strings.Contains(a.Body, "pageToken") || a.reason() == "" && refused[name] != "" {
					t.Errorf("%s: %+v", name, a)
				}
			}
			for name, value := range map[string]string{"contextId": "c", "status": "TASK_STATE_COMPLETED", "statusTimestampAfter": "2020-01-01T00:00:00Z"} {
				if a := w.list(t, b, w.mallory(), map[string]string{"pageToken": own, name: value}); a.reason() == "" {
					t.Errorf("with another %s: %+v", name, a)
				}
			}
		})
	}
}

var eventIDIn = regexp.MustCompile(`(?m)^id: (\d+)(-[0-9a-f]{4})$`)

// The id of an event opens nobody's stream but its owner's, and one that is made up is no
// place in any.
func TestForgedLastEventIDs(t *testing.T) {
	t.Parallel()
	subscribe := operation("SubscribeToTask")
	for _, b := range attackBindings() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := startAttacked(t)
			from := func(header http.Header, id string) http.Header {
				header.Set("Last-Event-Id", id)
				return header
			}
			numbered := b // whose events have ids
			if strings.HasPrefix(b.name, "gRPC") {
				numbered = attackBindings()[0]
			}
			stream := numbered.ask(w, t, w.victim(), attackOperation{
				name: "SendStreamingMessage", verb: http.MethodPost, path: "/message:stream",
				params: `{"message":{"messageId":"streamed","role":"ROLE_USER","parts":[{"text":"/echo text=` + victims + `"}]}}`,
			}, "")
			ids := eventIDIn.FindAllStringSubmatch(stream.Body, -1)
			task := regexp.MustCompile(`"id":"([0-9a-f-]{36})"`).FindStringSubmatch(stream.Body)
			if len(ids) < 2 || task == nil {
				t.Fatalf("a stream: %s", stream.Body)
			}
			first, tag := ids[0][0][4:], ids[0][2]
			if a := b.ask(w, t, from(w.victim(), first), subscribe, task[1]); !strings.Contains(a.Body, victims) {
				t.Fatalf("the owner resumes: %+v", a)
			}
			forged := []string{first, "0" + tag, "1" + tag, "18446744073709551615" + tag, "99" + tag, "-1" + tag, "+1" + tag, "1e3" + tag, "1", tag, "", "1-0000", "1-" + strings.Repeat("0", 1000), strings.Repeat("9", 5000) + tag}
			for _, id := range forged {
				missing := b.ask(w, t, from(w.mallory(), id), subscribe, w.tasks["missing"])
				for _, other := range []string{task[1], w.tasks["acme running"], w.tasks["acme parked"], w.tasks["umbrella ended"]} {
					got := b.ask(w, t, from(w.mallory(), id), subscribe, other)
					if d := diff.Diff(missing, got); d != "" {
						t.Errorf("Last-Event-ID %.50q of another's task, compared with a missing one:\n%s", id, d)
					}
				}
				if missing.reason() != "TASK_NOT_FOUND" {
					t.Errorf("Last-Event-ID %.50q of a missing task: %+v", id, missing)
				}
			}
			// The owner, with a place that is none, is told to get the task, which has ended.
			for _, id := range forged[2:] {
				if a := b.ask(w, t, from(w.victim(), id), subscribe, task[1]); a.Body == "" || id != "1"+tag && a.reason() != "UNSUPPORTED_OPERATION" {
					t.Errorf("Last-Event-ID %.50q of one's own task: %+v", id, a)
				}
			}
		})
	}
}

// Whoever names another's context or task in a message gets nothing of it, and changes
// nothing in it.
func TestContextsOfOthers(t *testing.T) {
	t.Parallel()
	for _, b := range attackBindings() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := startAttacked(t)
			get, send := operation("GetTask"), operation("SendMessage")
			seen := b.ask(w, t, w.victim(), get, w.tasks["acme ended"])
			of := regexp.MustCompile(`"contextId":"([^"]+)"`).FindStringSubmatch(seen.Body)
			if of == nil {
				t.Fatalf("GetTask: %+v", seen)
			}
			context := of[1]
			before := w.list(t, b, w.victim(), map[string]string{"contextId": context})
			asked := func(fields string) answered {
				send.params = `{"message":{"messageId":"` + rand.Text() + `","role":"ROLE_USER","parts":[{"text":"/echo text=mine"}],` + fields + `}}`
				return b.ask(w, t, w.mallory(), send, "")
			}
			none := w.list(t, b, w.mallory(), map[string]string{"contextId": "of-nobody"})
			empty := w.list(t, b, w.mallory(), map[string]string{"contextId": context})
			if d := diff.Diff(none, empty); d != "" {
				t.Errorf("the list of another's context, compared with one of nobody:\n%s", d)
			}
			in := asked(`"contextId":"` + context + `"`)
			if in.reason() != "" || !strings.Contains(in.Body, "mine") || strings.Contains(in.Body, victims) {
				t.Errorf("a task in a context with another's name: %+v", in)
			}
			if a := asked(`"referenceTaskIds":["` + w.tasks["acme ended"] + `"]`); strings.Contains(a.Body, victims) {
				t.Errorf("a message that refers to another's task: %+v", a)
			}
			own := w.create(t, w.mallory(), "/transfer_money amount=1 to=me")
			if a := asked(`"taskId":"` + own + `","contextId":"` + context + `"`); a.reason() == "" || strings.Contains(a.Body, victims) {
				t.Errorf("one's own task in another's context: %+v", a)
			}
			if a := asked(`"contextId":"` + context + `","taskId":"` + w.tasks["acme ended"] + `"`); a.reason() != "TASK_NOT_FOUND" {
				t.Errorf("another's task in its context: %+v", a)
			}
			if a := w.list(t, b, w.mallory(), map[string]string{"contextId": context}); strings.Contains(a.Body, victims) || strings.Count(a.Body, `"status":`) != 1 {
				t.Errorf("the attacker's list of the context: %+v", a)
			}
			after := w.list(t, b, w.victim(), map[string]string{"contextId": context})
			if d := diff.Diff(before, after); d != "" {
				t.Errorf("the owner's list of the context has changed:\n%s", d)
			}
		})
	}
}

// The tenant of a request is that of its credential. One that the request names, where it
// does not belong or where A2A has it, is no way to anything.
func TestForgedTenants(t *testing.T) {
	t.Parallel()
	attackEvery(t, func(t *testing.T, w *attacked, b attackBinding) {
		for _, tenant := range []string{"acme", "umbrella", "", "*", "../umbrella", "UMBRELLA", strings.Repeat("t", 5000)} {
			for _, op := range attackOperations() {
				quoted, err := json.Marshal(tenant)
				if err != nil {
					t.Fatal(err)
				}
				named := op
				named.params = strings.Replace(op.params, "{", `{"tenant":`+string(quoted)+",", 1)
				named.params = strings.Replace(named.params, ",}", "}", 1)
				if named.verb == http.MethodGet {
					named.path += map[bool]string{true: "&", false: "?"}[strings.Contains(op.path, "?")] + "tenant=" + url.QueryEscape(tenant)
				}
				missing := b.ask(w, t, w.mallory(), named, w.tasks["missing"])
				for _, task := range []string{"acme parked", "umbrella ended"} {
					got := b.ask(w, t, w.mallory(), named, w.tasks[task])
					if d := diff.Diff(missing, got); op.ofTask && d != "" || strings.Contains(got.Body, victims) {
						t.Errorf("%s of %s in tenant %.20q, compared with a missing task:\n%s%s", op.name, task, tenant, d, got.Body)
					}
				}
			}
		}
		for _, path := range []string{"/umbrella/tasks", "/umbrella/tasks/" + w.tasks["umbrella ended"], "/tenants/umbrella/tasks"} {
			if a := w.do(t, w.mallory(), http.MethodGet, path, ""); a.Status != http.StatusNotFound || a.Calls != 0 {
				t.Errorf("GET %s: %+v", path, a)
			}
		}
		missing := w.do(t, w.mallory(), http.MethodGet, "/acme/tasks/"+w.tasks["missing"], "")
		if d := diff.Diff(missing, w.do(t, w.mallory(), http.MethodGet, "/acme/tasks/"+w.tasks["acme ended"], "")); d != "" || missing.Status != http.StatusNotFound {
			t.Errorf("a colleague's task under the tenant's own path, compared with a missing one: %+v\n%s", missing, d)
		}
		headers := w.mallory()
		for _, name := range []string{"X-Tenant", "X-Tenant-Id", "X-Forwarded-User", "X-Forwarded-Groups", "X-Remote-User", "Remote-User", "A2a-Tenant"} {
			headers.Set(name, "umbrella")
		}
		if a := b.ask(w, t, headers, operation("GetTask"), w.tasks["umbrella ended"]); a.reason() != "TASK_NOT_FOUND" {
			t.Errorf("with headers that name the tenant: %+v", a)
		}
	})
}

// An agent with the victim's token, and a program, may do what their credential gives them,
// and decide nothing, not even what they have asked for.
func TestDelegatedDecisions(t *testing.T) {
	t.Parallel()
	attackEvery(t, func(t *testing.T, w *attacked, b attackBinding) {
		get := operation("GetTask")
		for name, header := range map[string]http.Header{
			"an agent of the victim": w.victim(map[string]any{"act": map[string]any{"sub": "agent"}}),
			"a program":              bearing(token("k1", w.issuer.claims("acme", "web", auth.RoleRequester))),
			"a key of a program":     w.keyed("robot"),
		} {
			task := w.tasks["acme parked"]
			if name != "an agent of the victim" {
				task = w.create(t, header, "/transfer_money amount=7 to="+victims)
			}
			if a := b.ask(w, t, header, get, task); !strings.Contains(a.Body, "INPUT_REQUIRED") && !strings.Contains(a.Body, "Waiting for approval") {
				t.Errorf("%s reads: %+v", name, a)
			}
			for _, op := range attackOperations()[:2] {
				a := b.ask(w, t, header, op, task)
				if !strings.Contains(a.Body, "APPROVAL_NOT_ALLOWED") || !strings.Contains(a.Body, "only a person may answer") {
					t.Errorf("%s decides by %s: %+v", name, op.name, a)
				}
			}
			if a := w.send(t, header, map[string]any{"message": map[string]any{"messageId": "yes", "taskId": task, "role": "ROLE_USER", "parts": []any{map[string]any{"text": "yes"}}}}); strings.Contains(a.Body, "COMPLETED") {
				t.Errorf("%s says yes: %+v", name, a)
			}
			if a := b.ask(w, t, header, get, task); !strings.Contains(a.Body, "INPUT_REQUIRED") && !strings.Contains(a.Body, "Waiting for approval") {
				t.Errorf("after the decision of %s: %+v", name, a)
			}
		}
		if ledger, err := os.ReadFile(w.ledger); err == nil && len(ledger) > 0 {
			t.Errorf("a transfer that no person has approved: %s", ledger)
		}
	})
}
