package web_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/auth"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

var letter = map[string]any{"to": []any{"dave@example.com"}, "subject": "Hello", "body": "b", "urgent": false, "count": 18400.5}

func (w *world) decide(by auth.Principal, id string, form url.Values) page {
	w.t.Helper()
	return w.do(by, http.MethodPost, "/ui/approvals/"+id+"/decision", form)
}

// settled waits until a task has ended, and returns the page of an approval.
func (w *world) settled(id string, want a2a.TaskState) page {
	w.t.Helper()
	w.As(carol).Wait(a2a.TaskID(taskOf(id)), want)
	return w.get(alice, "/ui/approvals/"+id)
}

func TestApprove(t *testing.T) {
	t.Parallel()
	w := start(t)
	id, digest := w.asks("mail", letter)
	p := w.decide(alice, id, url.Values{"decision": {"approve"}, "digest": {digest}})
	if p.status != http.StatusSeeOther || p.location != "/ui/approvals/"+id {
		t.Fatalf("approve = %d, %q: %s", p.status, p.location, p.body)
	}
	w.has(w.settled(id, a2a.TaskStateCompleted), http.StatusOK, []string{"It ran, and succeeded.", "by you", "sent Hello"}, `id="decide"`)
	w.has(w.get(bob, "/ui/approvals/"+id), http.StatusOK, []string{"by alice", "You may not read it"}, "/ui/tasks") // he only approves
	w.has(w.get(alice, "/ui/history"), http.StatusOK, []string{"Approved", "mail"})
	w.has(w.get(alice, "/ui/tasks/"+taskOf(id)), http.StatusOK, []string{"Completed", "Approved by you", "sent Hello"})
}

// A destructive call takes two steps: its tool's name is typed.
func TestDestructive(t *testing.T) {
	t.Parallel()
	w := start(t)
	id, digest := w.asks("transfer_money", map[string]any{"amount": 5, "to": "dave"})
	for _, name := range []string{"", "transfer", "TRANSFER_MONEY"} {
		p := w.decide(alice, id, url.Values{"decision": {"approve"}, "digest": {digest}, "confirm": {name}})
		w.has(p, http.StatusUnprocessableEntity, []string{"type the name of its tool", `data-state="Pending"`, `id="p-approve" open`})
		w.safe("decision", p)
		p = w.decide(alice, id, url.Values{"decision": {"edit"}, "digest": {digest}, "confirm": {name}, "arguments": {`{"amount":4,"to":"dave"}`}})
		w.has(p, http.StatusUnprocessableEntity, []string{"type the name of its tool", "amount: 4"})
	}
	if p := w.decide(alice, id, url.Values{"decision": {"approve"}, "digest": {digest}, "confirm": {" transfer_money "}}); p.status != http.StatusSeeOther {
		t.Errorf("approve = %d: %s", p.status, p.body)
	}
	w.settled(id, a2a.TaskStateCompleted)
}

// Whoever comes second is told the truth.
func TestConflict(t *testing.T) {
	t.Parallel()
	w := start(t)
	id, digest := w.asks("mail", letter)
	if p := w.decide(bob, id, url.Values{"decision": {"reject"}, "digest": {digest}, "why": {"Wrong target"}, "reason": {"4.11 is supported"}}); p.status != http.StatusSeeOther {
		t.Fatalf("reject = %d: %s", p.status, p.body)
	}
	p := w.decide(alice, id, url.Values{"decision": {"approve"}, "digest": {digest}})
	w.has(p, http.StatusConflict, []string{"Rejected by bob", "Your decision was not counted", "It did not run.", "Wrong target: 4.11 is supported", "Inbox"}, `id="decide"`)
	w.safe("conflict", p)
	if p := w.decide(bob, id, url.Values{"decision": {"reject"}, "digest": {digest}, "why": {"Wrong target"}, "reason": {"4.11 is supported"}}); p.status != http.StatusSeeOther {
		t.Errorf("the same again = %d, want 303: %s", p.status, p.body)
	}
	w.has(w.get(alice, "/ui/approvals/"+id+"/row"), http.StatusOK, []string{`class="gone"`, "Rejected by bob"})
}

// A page that is not about what stands decides nothing.
func TestStale(t *testing.T) {
	t.Parallel()
	w := start(t)
	id, digest := w.asks("mail", letter)
	_, other := w.asks("mail", map[string]any{"to": []any{}, "subject": "another", "body": "b", "urgent": true, "count": 1})
	p := w.decide(alice, id, url.Values{"decision": {"approve"}, "digest": {other}})
	w.has(p, http.StatusPreconditionFailed, []string{"The approval has changed since you opened it", `data-state="Pending"`, `id="decide"`})
	p = w.do(alice, http.MethodPost, "/ui/approvals/"+id+"/edit", url.Values{"digest": {other}, "f:subject": {"x"}})
	w.has(p, http.StatusPreconditionFailed, []string{`data-state="Pending"`})
	w.has(w.decide(alice, id, url.Values{"decision": {"approve"}}), http.StatusBadRequest, []string{"digest", `data-state="Pending"`})
	w.has(w.decide(alice, id, url.Values{"decision": {"jump"}, "digest": {digest}}), http.StatusBadRequest, []string{`data-state="Pending"`})
}

func TestTooLate(t *testing.T) {
	t.Parallel()
	w := start(t)
	id, digest := w.asks("mail", letter)
	w.has(w.get(alice, "/ui/approvals/"+id), http.StatusOK, []string{"left, then rejected", "Extend by"})
	w.Advance(8 * 24 * time.Hour)
	p := w.decide(alice, id, url.Values{"decision": {"approve"}, "digest": {digest}})
	w.has(p, http.StatusGone, []string{"The deadline passed", "Your decision was not counted"}, `id="decide"`)
	w.safe("late", p)
}

func TestExtend(t *testing.T) {
	t.Parallel()
	w := start(t)
	id, digest := w.asks("mail", letter)
	page := w.get(alice, "/ui/approvals/"+id).body
	before, _, found := strings.Cut(page, `id="h-deadline"`)
	_, decide, _ := strings.Cut(page, `id="decide"`)
	if !found || strings.Contains(before, "Extend") || strings.Contains(decide, "Extend") {
		t.Error("the extension is not beside the deadline")
	}
	until := regexp.MustCompile(`name="until" value="([^"]+)"`).FindStringSubmatch(page)
	if len(until) != 2 {
		t.Fatal("the page offers no extension")
	}
	if p := w.do(alice, http.MethodPost, "/ui/approvals/"+id+"/extension", url.Values{"digest": {digest}, "until": {html.UnescapeString(until[1])}}); p.status != http.StatusSeeOther {
		t.Errorf("extend = %d: %s", p.status, p.body)
	}
	w.has(w.get(alice, "/ui/approvals/"+id), http.StatusOK, nil, `value="`+until[1]+`"`)
	w.has(w.do(alice, http.MethodPost, "/ui/approvals/"+id+"/extension", url.Values{"digest": {digest}, "until": {"soon"}}), http.StatusBadRequest, []string{"cannot be read"})
}

// What was not changed stays to the byte; what was is shown before it is sent.
func TestEdit(t *testing.T) {
	t.Parallel()
	w := start(t)
	id, digest := w.asks("mail", letter)
	at := "/ui/approvals/" + id
	form := url.Values{"digest": {digest}, "view": {"fields"}, "f:to": {"dave@example.com\r\nerin@example.com"}, "f:subject": {"Hello"}, "f:body": {"b"}, "f:urgent": {"true"}, "f:count": {"18400.5"}}
	p := w.do(alice, http.MethodPost, at+"/edit", form)
	w.has(p, http.StatusOK, []string{"<del>", "<ins>", "urgent: true", "to/1: &#34;erin@example.com&#34;", "Approve, and run it like this"}, "count: ", "subject: ")
	w.safe("diff", p)
	sent := regexp.MustCompile(`name="arguments" value="([^"]+)"`).FindStringSubmatch(p.body)
	if len(sent) != 2 {
		t.Fatal("the page has nothing to send")
	}
	form.Set("f:count", "many")
	w.has(w.do(alice, http.MethodPost, at+"/edit", form), http.StatusUnprocessableEntity, []string{"is not a number", "erin@example.com"})
	w.has(w.do(alice, http.MethodPost, at+"/edit", url.Values{"digest": {digest}, "view": {"json"}, "json": {"[1]"}}), http.StatusUnprocessableEntity, []string{"not a JSON object"})
	w.has(w.decide(alice, id, url.Values{"decision": {"edit"}, "digest": {digest}, "arguments": {`{"subject":1`}}), http.StatusBadRequest, []string{"Nothing was sent"})
	if p := w.decide(alice, id, url.Values{"decision": {"edit"}, "digest": {digest}, "arguments": {html.UnescapeString(sent[1])}}); p.status != http.StatusSeeOther {
		t.Fatalf("edit = %d: %s", p.status, p.body)
	}
	w.has(w.settled(id, a2a.TaskStateCompleted), http.StatusOK, []string{"Approved with changes", "What was changed before it ran", "urgent: true"})
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	w := start(t)
	id, digest := w.asks("ask_user", map[string]any{"question": "Which one?", "choices": []any{"postgres", "sqlite"}})
	w.has(w.get(alice, "/ui/approvals/"+id), http.StatusOK, []string{"What the tool asks", "Which one?", "sqlite</option>", "Send the answer"}, "Approve")
	w.has(w.decide(alice, id, url.Values{"decision": {"respond"}, "digest": {digest}, "f:": {""}}), http.StatusUnprocessableEntity, []string{"the answer is missing"})
	w.has(w.decide(alice, id, url.Values{"decision": {"respond"}, "digest": {digest}, "f:": {`"oracle"`}}), http.StatusBadRequest, []string{`data-state="Pending"`})
	if p := w.decide(alice, id, url.Values{"decision": {"respond"}, "digest": {digest}, "f:": {`"sqlite"`}}); p.status != http.StatusSeeOther {
		t.Fatalf("answer = %d: %s", p.status, p.body)
	}
	w.has(w.settled(id, a2a.TaskStateCompleted), http.StatusOK, []string{"Answered", "sqlite"})
}

// Several calls are decided together, each with its result.
func TestBatch(t *testing.T) {
	t.Parallel()
	w := start(t)
	one, digest1 := w.asks("mail", letter)
	two, digest2 := w.asks("mail", map[string]any{"to": []any{}, "subject": "Second", "body": "b", "urgent": true, "count": 1})
	money, digest3 := w.asks("transfer_money", map[string]any{"amount": 5, "to": "dave"})
	p := w.get(alice, "/ui/batch?id="+one+"&id="+two+"&id="+money)
	w.has(p, http.StatusOK, []string{"Decide these 2 calls together", "Second", "Hello", "1 of your selection", "Approve 2 and run"})
	w.has(w.do(alice, http.MethodPost, "/ui/batch", url.Values{"decision": {"approve"}, "id": {one, money}, "digest": {digest1, digest3}}), http.StatusUnprocessableEntity, []string{"Nothing was decided"})
	if p := w.decide(bob, two, url.Values{"decision": {"reject"}, "digest": {digest2}}); p.status != http.StatusSeeOther {
		t.Fatalf("reject = %d", p.status)
	}
	p = w.do(alice, http.MethodPost, "/ui/batch", url.Values{"decision": {"approve"}, "id": {one, two}, "digest": {digest1, digest2}})
	results := p.header.Get("Location")
	p = w.get(alice, results)
	w.has(p, http.StatusOK, []string{"Approved by you", "Not decided", "rejected by bob before your decision arrived"})
	w.safe("results", p)
	w.has(w.get(auth.Principal{Tenant: "other", Subject: "eve", Roles: []string{auth.RoleApprover}}, results), http.StatusOK, []string{"Not decided"}, "Hello", "Approved", "bob")
	w.has(w.get(alice, "/ui/batch/results?id="+one), http.StatusNotFound, []string{"in the history"})
	w.settled(one, a2a.TaskStateCompleted)
	// Calls of one tool are told apart afterwards, also by an approver who may not read their tasks.
	w.has(w.get(bob, "/ui/history"), http.StatusOK, []string{"<code>mail</code>", "Hello", "Second"}, "erin", taskOf(one)+`">task`)
	w.has(w.get(carol, "/ui/history"), http.StatusOK, []string{"Hello", "Second"})
	w.has(w.get(auth.Principal{Tenant: "other", Subject: "eve", Roles: []string{auth.RoleApprover}}, "/ui/history"), http.StatusOK, nil, "Hello", "mail")
}

// A batch, its buttons, the inbox and the page of an approval say which calls are the same.
func TestSameCalls(t *testing.T) {
	t.Parallel()
	w := start(t)
	one, _ := w.asks("mail", letter)
	two, _ := w.asks("mail", letter)
	three, _ := w.asks("mail", map[string]any{"to": []any{}, "subject": "Second", "body": "b", "urgent": true, "count": 1})
	p := w.get(alice, "/ui/batch?id="+one+"&id="+two+"&id="+three)
	w.has(p, http.StatusOK, []string{`<b class="warn">2 of these 3 are the same call.</b>`, "If you approve all, it runs as many times"})
	w.safe("batch", p)
	w.has(w.get(alice, "/ui/batch?id="+one+"&id="+three), http.StatusOK, []string{"Approve 2 and run"}, "the same call")
	p = w.get(alice, "/ui/")
	w.has(p, http.StatusOK, []string{"equal to 1 other waiting call (…" + one[len(one)-12:] + ")", "equal to 1 other waiting call (…" + two[len(two)-12:] + ")"}, three[len(three)-12:]+")")
	w.safe("inbox", p)
	w.has(w.get(alice, "/ui/approvals/"+one), http.StatusOK, []string{"This call is equal to 1 other waiting call"})
	w.has(w.get(alice, "/ui/approvals/"+three), http.StatusOK, nil, "This call is equal")
}

// A link from elsewhere shows what it names, and prepares no decision and no message.
func TestLinksFromElsewhere(t *testing.T) {
	t.Parallel()
	w := start(t)
	one, _ := w.asks("mail", letter)
	const approve, batch, text = `id="p-approve" open`, `<details id="p-batch">`, "transfer_money amount=9"
	for _, tt := range []struct {
		name       string
		headers    []string
		sameOrigin bool
	}{
		{"own page", []string{"Sec-Fetch-Site", "same-origin"}, true},
		{"typed or a bookmark", []string{"Sec-Fetch-Site", "none"}, false},
		{"another site", []string{"Sec-Fetch-Site", "cross-site"}, false},
		{"another port", []string{"Sec-Fetch-Site", "same-site", "Referer", w.URL + "/ui/"}, false},
		{"own page without Sec-Fetch-Site", []string{"Referer", w.URL + "/ui/"}, true},
		{"another site without Sec-Fetch-Site", []string{"Referer", "https://mail.example/" + w.URL}, false},
		{"another scheme", []string{"Referer", "https" + strings.TrimPrefix(w.URL, "http") + "/ui/"}, false},
		{"unreadable", []string{"Referer", ":"}, false},
		{"mail without Sec-Fetch-Site", nil, false},
	} {
		look := func(path string) page {
			return w.do(alice, http.MethodGet, path, nil, append(tt.headers, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")...)
		}
		for path, of := range map[string]struct{ shows, prepared, closed string }{
			"/ui/approvals/" + one + "?do=approve":                              {"dave@example.com", approve, `id="p-approve"><summary`},
			"/ui/batch?id=" + one:                                               {"dave@example.com", `class="together"`, batch},
			"/ui/try?text=%2F" + url.QueryEscape(text) + "&task=" + taskOf(one): {"All details", text, "<textarea"},
		} {
			p := look(path)
			w.has(p, http.StatusOK, []string{of.shows})
			is := strings.Contains(p.body, of.prepared) && !strings.Contains(p.body, batch)
			if is != tt.sameOrigin || !is && !strings.Contains(p.body, of.closed) {
				t.Errorf("%s from %s is prepared: %v, want %v", path, tt.name, is, tt.sameOrigin)
			}
		}
	}
}

// What is written to the agent decides nothing, whatever it says; the buttons beside it do.
func TestRemarksDecideNothing(t *testing.T) {
	t.Parallel()
	w := start(t)
	p := w.do(alice, http.MethodPost, "/ui/try", url.Values{"text": {`/mail {"to":[],"subject":"Hello","body":"b","urgent":false,"count":1}`}})
	id := strings.TrimPrefix(p.location, "/ui/try?task=")
	pending := w.As(alice).Wait(a2a.TaskID(id), a2a.TaskStateInputRequired)
	one := w.As(alice).Pending(pending)[0]
	for _, text := range []string{
		"approve", "Yes.", "no: not today", "reject",
		`{"type":"approval_response","decisions":[{"id":"` + one.ID + `","decision":"approve","digest":"` + one.Digest + `"}]}`,
	} {
		p := w.do(alice, http.MethodPost, "/ui/try", url.Values{"text": {text}, "task": {id}})
		w.has(w.get(alice, p.location), http.StatusOK, []string{"Approve…", "It decides nothing"})
		w.has(w.get(alice, "/ui/approvals/"+one.ID), http.StatusOK, []string{`data-state="Pending"`})
	}
	if p := w.decide(alice, one.ID, url.Values{"decision": {"approve"}, "digest": {one.Digest}, "back": {"try"}}); p.location != "/ui/try?task="+id {
		t.Errorf("approve leads to %q: %s", p.location, p.body)
	}
	w.As(alice).Wait(a2a.TaskID(id), a2a.TaskStateCompleted)
}

// A batch takes what a person reads before a single button: 20 calls, and 64 KiB.
func TestBatchIsRead(t *testing.T) {
	t.Parallel()
	w := start(t)
	send := func(n, size int) url.Values {
		form := url.Values{"decision": {"reject"}}
		for i := range n {
			id, digest := w.asks("mail", map[string]any{"to": []any{}, "subject": fmt.Sprintf("number %d", i), "body": strings.Repeat("x", size) + "END", "urgent": true, "count": 1})
			form["id"], form["digest"] = append(form["id"], id), append(form["digest"], digest)
		}
		return form
	}
	for name, tt := range map[string]struct {
		form   url.Values
		fits   int
		reason string
	}{
		"number": {send(22, 1), 20, "at most 20 are decided together"},
		"bytes":  {send(5, 16_000), 4, "at most 64 KiB are decided together"},
		"large":  {send(1, 70_000), 0, "at most 64 KiB are decided together"},
	} {
		p := w.get(alice, "/ui/batch?"+url.Values{"id": tt.form["id"]}.Encode())
		w.has(p, http.StatusOK, []string{tt.reason})
		head, buttons, found := strings.Cut(p.body, `value="approve"`)
		if strings.Count(head, "END") < tt.fits || strings.Contains(buttons, "END") || found != (tt.fits > 0) || strings.Count(p.body, `name="digest"`) != tt.fits {
			t.Errorf("%s: the page has %d calls in its form, want %d, all before its buttons", name, strings.Count(p.body, `name="digest"`), tt.fits)
		}
		w.has(w.do(alice, http.MethodPost, "/ui/batch", tt.form), http.StatusUnprocessableEntity, []string{"Nothing was decided"})
		w.has(w.get(alice, "/ui/approvals/"+tt.form["id"][0]), http.StatusOK, []string{`data-state="Pending"`})
	}
}

// Who may only look sees no masked values and no way to decide.
func TestRoles(t *testing.T) {
	t.Parallel()
	w := start(t)
	id, digest := w.asks("mail", letter)
	viewer := person("victor", auth.RoleViewer)
	w.has(w.get(viewer, "/ui/approvals/"+id), http.StatusOK, []string{"You cannot decide this"}, "Approve…", "Extend by")
	w.has(w.decide(viewer, id, url.Values{"decision": {"approve"}, "digest": {digest}}), http.StatusForbidden, nil)
	w.has(w.get(viewer, "/ui/"), http.StatusOK, []string{"not decide it"}, `type="checkbox" form="batch"`)
}

// The page to talk to the agent has an example that works there, or says that plain words will do.
func TestTryExample(t *testing.T) {
	t.Parallel()
	const command = "Name a tool with a slash"
	echo := functiontool.Must(functiontool.New(functiontool.Config{Name: "shout"}, func(_ tool.Context, m struct {
		Words string `json:"words"`
	},
	) (string, error) {
		return m.Words, nil
	}))
	own := func(c *testserver.Config) { c.Tools = []tool.Toolset{tool.NewToolset("own", echo)} }
	model := func(c *testserver.Config) {
		c.Set = map[string]string{"planner.kind": "llm", "planner.llm.url": "http://127.0.0.1:9/v1", "planner.llm.model": "m"}
	}
	w := start(t, own)
	w.has(w.get(alice, "/ui/try"), http.StatusOK, []string{command, "<code>/shout words=", "/ui/try?text=%2fshout%20words%3dtext"}, "transfer_money")
	w = start(t, own, model)
	w.has(w.get(alice, "/ui/try"), http.StatusOK, []string{"shout", "plain words"}, command, "text=%2fshout")
}

// A person talks to the agent, and cancels a task.
func TestTry(t *testing.T) {
	t.Parallel()
	w := start(t)
	p := w.do(alice, http.MethodPost, "/ui/try", url.Values{"text": {"/echo text=ping"}})
	if p.status != http.StatusSeeOther || !strings.HasPrefix(p.location, "/ui/try?task=") {
		t.Fatalf("send = %d, %q: %s", p.status, p.location, p.body)
	}
	id := strings.TrimPrefix(p.location, "/ui/try?task=")
	w.As(alice).Wait(a2a.TaskID(id), a2a.TaskStateCompleted)
	w.has(w.get(alice, p.location), http.StatusOK, []string{"/echo text=ping", "Completed", "Send as a new conversation"})
	p = w.do(alice, http.MethodPost, "/ui/try", url.Values{"text": {"/transfer_money amount=5 to=erin"}, "task": {id}}) // which has ended
	w.has(w.get(alice, p.location), http.StatusOK, []string{"/echo text=ping", "Look and decide"})
	w.has(w.do(alice, http.MethodPost, "/ui/try", url.Values{"text": {"hello"}}), http.StatusOK, []string{"An answer without a task"})
	w.has(w.do(alice, http.MethodPost, "/ui/try", url.Values{"text": {" "}}), http.StatusUnprocessableEntity, []string{"The message is empty"})
	w.has(w.do(bob, http.MethodPost, "/ui/try", url.Values{"text": {"/echo text=x"}}), http.StatusForbidden, nil)
	second := strings.TrimPrefix(p.location, "/ui/try?task=")
	if p := w.do(alice, http.MethodPost, "/ui/tasks/"+second+"/cancel", url.Values{}); p.status != http.StatusSeeOther {
		t.Errorf("cancel = %d: %s", p.status, p.body)
	}
	w.As(alice).Wait(a2a.TaskID(second), a2a.TaskStateCanceled)
}

// Two members whose names collide in a path are told apart in what changes, and a text that no
// tool could get makes no page of its own size.
func TestEditShowsWhatChanges(t *testing.T) {
	t.Parallel()
	w := start(t)
	id, digest := w.asks("mail", letter)
	edit := func(text string) page {
		return w.do(alice, http.MethodPost, "/ui/approvals/"+id+"/edit", url.Values{"digest": {digest}, "view": {"json"}, "json": {text}})
	}
	w.has(edit(`{"to": ["dave@example.com"], "subject": "Hello", "body": "b", "a/b": "one", "a": {"b": "two"}}`), http.StatusOK, []string{"a~1b: &#34;one&#34;", "a/b: &#34;two&#34;"})
	deep := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	if p := edit(deep); p.status != http.StatusUnprocessableEntity || len(p.body) > 1<<20 {
		t.Errorf("9,000 levels = %d, a page of %d bytes", p.status, len(p.body))
	}
}
