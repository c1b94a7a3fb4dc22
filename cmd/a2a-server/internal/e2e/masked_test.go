package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/cmd/a2a-server/internal/notify/mailtest"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/commandtool"
	"a2a-server/tool/functiontool"
)

// careless is a tool with the text of its arguments in everything that it says.
type careless struct {
	tool.CallableTool
	gate string // "fails" or "panics"
}

func (c careless) Unwrap() tool.Tool      { return c.CallableTool }
func (c careless) RequiresApproval() bool { return true }

func (c careless) Gate(_ agent.ReadonlyContext, args map[string]any) (bool, error) {
	switch c.gate {
	case "fails":
		return false, errors.New(inEveryForm(args))
	case "panics":
		panic(inEveryForm(args))
	}
	return true, nil
}

func (careless) Hint(_ agent.ReadonlyContext, args map[string]any) (string, error) {
	return inEveryForm(args), nil
}

// inEveryForm writes a value as programs write values in texts.
func inEveryForm(v any) string {
	raw, _ := json.Marshal(v)
	plain := fmt.Sprint(v)
	all := fmt.Sprintf("%v %+v %#v %q %s %s %s %x %s", v, v, v, plain, raw, url.QueryEscape(plain), url.PathEscape(plain), plain, base64.StdEncoding.EncodeToString([]byte(plain)))
	if object, ok := v.(map[string]any); ok {
		for _, member := range object {
			all += " " + inEveryForm(member)
		}
	}
	return all
}

// traces are the texts by which a value can be recognized: every encoding of a word keeps its letters
// and digits, except hexadecimal digits and base64.
func traces(v any) []string {
	plain := fmt.Sprint(v)
	if text, ok := v.(string); ok {
		plain = text[:lettersOfWord]
	}
	all := []string{plain, hex.EncodeToString([]byte(plain))}
	for skip := range 3 { // the part of base64 that does not depend on what is around the value
		rest := plain[skip:]
		all = append(all, base64.StdEncoding.EncodeToString([]byte(rest[:len(rest)/3*3])))
	}
	if n, ok := v.(int64); ok {
		all = append(all, fmt.Sprint(float64(n)), strconv.FormatFloat(float64(n), 'e', -1, 64))
	}
	return all
}

const lettersOfWord = 12

type nested struct {
	B string `json:"b"`
	C int64  `json:"c"`
}

type several struct {
	A string   `json:"a"`
	N int64    `json:"n"`
	O nested   `json:"o"`
	L []string `json:"l"`
}

// A value that a gate masks is in nothing that the server makes of the arguments for people who do
// not decide: lists, the feed, pages, messages with their subjects, audit, log and metrics, whatever tools, gates,
// hooks and providers say about it.
func TestMaskedArgumentsAreNowhere(t *testing.T) {
	t.Parallel()
	for range 2 {
		seed := rand.Uint64()
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			maskedNowhere(t, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

func maskedNowhere(t *testing.T, random *rand.Rand) {
	dir := t.TempDir()
	keys, hook := filepath.Join(dir, "keys.yaml"), filepath.Join(dir, "secret")
	rewrite(t, hook, hookSecret+"\n")
	bot := newKey(t, keys, apikey.Key{ID: "bot", Tenant: "acme", Roles: []string{auth.RoleRequester}})
	viewer := newKey(t, keys, apikey.Key{ID: "viewer", Tenant: "acme", Roles: []string{auth.RoleViewer}})
	mails, webhook := mailtest.Start(t, "none", nil), newAnnounced(t, http.StatusOK)
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	pointers := []string{"/a", "/n", "/o", "/o/b", "/o/c", "/l", "/l/*", "/l/1"}
	text := fmt.Sprintf(`
allowed_hosts: [127.0.0.1]
admin: {listen: "127.0.0.1:0"}
auth: {keys: {file: %q}}
notify:
  - {name: hook, kind: webhook, url: %q, secret: {file: %q}, networks: [127.0.0.0/8], all: true, arguments: true, events: [asked, resolved]}
  - {name: short, kind: webhook, url: %q, secret: {file: %q}, networks: [127.0.0.0/8], all: true}
  - {name: mail, kind: smtp, smtp: {host: 127.0.0.1, port: %d, tls: none, from: a2a@example.com}, to: [ops@example.com], all: true, arguments: true}
tools:
  - command: run
    description: Runs.
    run: [%q, "{a}", "--n={n}"]
    args: {a: {type: string}, n: {type: integer}}
  - http: path
    description: Posts.
    request: POST http://127.0.0.1:1/pay/{a}?n={n}&l={l}
    body: {o: "{o}", text: "-{a}-"}
    args: &args {a: {type: string}, n: {type: integer}, o: {type: object}, l: {type: array}}
    networks: [127.0.0.1]
  - http: form
    description: Posts.
    request: POST http://127.0.0.1:1/
    form: {a: "{a}", n: "{n}"}
    args: {a: {type: string}, n: {type: integer}}
    networks: [127.0.0.1]
  - openapi: bank
    spec: bank.yaml
    server: http://127.0.0.1:1/v1
    only: ["*"]
    networks: [127.0.0.1]
gates:
`, keys, webhook.URL, hook, webhook.URL, hook, mails.Port, program)
	rewrite(t, filepath.Join(dir, "bank.yaml"), `openapi: 3.0.3
info: {title: bank, version: "1"}
paths:
  /pay/{a}:
    post:
      operationId: pay
      parameters: [{name: a, in: path, required: true, schema: {type: string}}, {name: n, in: query, schema: {type: integer}}]
      requestBody: {content: {application/json: {schema: {type: object}}}}
      responses: {"200": {description: paid}}
`)
	names := []string{"run", "free", "path", "form", "bank_pay", "typed", "asks", "unsure", "shows", "fails", "panics", "denied", "hooked", "bursts", "after"}
	masks := map[string][]string{}
	for _, name := range names {
		mask := []string{pointers[random.IntN(2)]} // of which every tool has an argument
		switch {
		case name == "free":
			mask = []string{"/argv/1"}
		case random.IntN(2) > 0:
			mask = append(mask, pointers[2+random.IntN(len(pointers)-2)])
		}
		masks[name] = mask
		hint, action := `, hint: "Pay {a} {n} {/o/b} {o} {l} {/argv/1}?"`, ""
		if random.IntN(2) > 0 {
			hint = ""
		}
		if name == "denied" {
			action = ", action: deny"
		}
		text += fmt.Sprintf("  - {name: %s, tool: %[1]s, mask: [%s]%s%s}\n", name, strings.Join(mask, ", "), hint, action)
	}
	text += `  - {name: broken, tool: "*", when: 'int(args.a) > 0 || int(args.o.b) > 0'}` + "\n"
	file := filepath.Join(dir, "a2a-server.yaml")
	rewrite(t, file, text)

	c := load(t, map[string]string{"store": "memory"})
	c.File, c.Tools = file, nil
	say := func(_ agent.ReadonlyContext, a several) (string, error) {
		return inEveryForm(a) + inEveryForm(a.A) + inEveryForm(a.N), nil
	}
	function := func(name string, f func(tool.Context, several) (string, error)) tool.CallableTool {
		return functiontool.Must(functiontool.New(functiontool.Config{
			Name: name, Description: "x", RequireApproval: true, HintFunc: functiontool.Hint(say),
		}, f))
	}
	done := func(tool.Context, several) (string, error) { return "done", nil }
	free, err := commandtool.New(commandtool.Config{Name: "free", Description: "x", Free: &commandtool.Free{Allow: []commandtool.Pattern{{program, "..."}}}})
	if err != nil {
		t.Fatal(err)
	}
	c.Tools = []tool.Toolset{tool.NewToolset("mine", free, function("typed", done), function("denied", done), function("hooked", done),
		function("asks", func(ctx tool.Context, a several) (string, error) {
			return "", tool.RequestConfirmation(ctx, inEveryForm(a), a)
		}),
		function("unsure", func(_ tool.Context, a several) (string, error) {
			return "", fmt.Errorf("%w: %s", tool.ErrOutcomeUnknown, inEveryForm(a.A)+inEveryForm(a.N)+inEveryForm(a.O.B)+inEveryForm(a.O.C)+inEveryForm(a.L[1]))
		}),
		function("bursts", func(_ tool.Context, a several) (string, error) { panic(inEveryForm(a.A) + inEveryForm(a.N)) }), function("after", done),
		careless{function("shows", done), ""}, careless{function("fails", done), "fails"}, careless{function("panics", done), "panics"},
	)}
	c.Hooks = []task.Hook{func(_ agent.ReadonlyContext, c tool.ToolCall) (task.HookResult, error) {
		if c.Name == "hooked" {
			return task.HookResult{}, errors.New(inEveryForm(c.Args))
		}
		return task.HookResult{}, nil
	}}
	c.AfterHooks = []task.AfterHook{func(_ agent.ReadonlyContext, c tool.ToolCall, _ *task.Result) error {
		switch c.Name {
		case "after":
			return errors.New(inEveryForm(c.Args))
		case "path":
			panic(inEveryForm(c.Args))
		}
		return nil
	}}
	c.ErrorHooks = c.AfterHooks
	c.Decider = task.ProviderDecider(func(_ context.Context, r tool.ConfirmationRequest) (bool, error) {
		return false, errors.New(r.Input + r.Hint)
	})
	in := start(t, c)

	feed := make(chan string, 1)
	events := in.open(t, http.MethodGet, "/api/v1/events", "", "X-API-Key", viewer)
	t.Cleanup(func() { _ = events.Body.Close() })
	go func() {
		raw, _ := io.ReadAll(events.Body)
		feed <- string(raw)
	}()

	w := &hidden{traces: map[string]string{}}
	first := true
	for _, name := range names {
		call := map[string]any{"messageId": name, "role": "ROLE_USER", "parts": []any{map[string]any{"data": map[string]any{"tool": name, "args": w.draw(name, program, random, masks[name])}}}}
		sent, said := in.sendAs(t, map[string]any{"message": call}, "X-API-Key", bot)
		if name != "denied" && sent.Status.State != "TASK_STATE_INPUT_REQUIRED" {
			t.Fatalf("%s does not ask: %s", name, said)
		}
	}
	approver := auth.Principal{Tenant: "acme", Subject: "key:approver", Roles: []string{auth.RoleApprover}, Method: "key"}
	all := in.server.Approvals()
	see := func(paths ...string) {
		for _, path := range paths {
			_, body := in.do(t, http.MethodGet, path, "", "X-API-Key", viewer)
			w.look(t, path, body)
		}
	}
	see("/api/v1/approvals?limit=200", "/ui/")
	for range 2 * (len(names) - 1) { // of two routes; a call is denied
		w.look(t, "a webhook", fmt.Sprint(webhook.next(t)["text"]))
	}
	until(t, "the mails are here", func() bool { return len(mails.All()) >= len(names)-1 })
	decided := 0
	until(t, "all calls have ended", func() bool {
		page, err := all.List(t.Context(), approver, engine.ApprovalQuery{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Approvals {
			a := &page.Approvals[i]
			d := approval.Decision{ID: a.ID, Type: approval.Approve}
			switch {
			case a.Kind == approval.KindOutcome || a.AskKind != "":
				see("/api/v1/approvals?limit=200")
				d.Type = approval.Reject
			case a.Tool == "typed" && first:
				first = false
				d.Type = approval.Edit
				d.Args, _ = json.Marshal(w.draw(a.Tool, program, random, masks[a.Tool]))
			}
			if err := all.Decide(t.Context(), approver, d); err != nil {
				t.Errorf("decide %s: %v", a.Tool, err)
			}
			decided++
		}
		_, body := in.do(t, http.MethodGet, "/api/v1/tasks?limit=200", "", "X-API-Key", bot)
		return len(page.Approvals) == 0 && strings.Count(body, `"state":`) == len(names) && !strings.Contains(body, "_REQUIRED") && !strings.Contains(body, "WORKING") && !strings.Contains(body, "SUBMITTED")
	})
	see("/api/v1/approvals?state=ended&limit=200", "/api/v1/audit?limit=1000", "/api/v1/tasks", "/ui/history", "/ui/history?what=all")
	for _, m := range mails.All() {
		header, body := mailtest.Read(t, m.Content)
		w.look(t, "a mail", body)
		w.look(t, "a subject", header.Get("Subject"))
	}
	_, metrics := in.scraped(t, "/metrics")
	w.look(t, "the metrics", metrics)
	in.halt(t)
	for len(webhook.got) > 0 {
		w.look(t, "a webhook", fmt.Sprint(webhook.next(t)["text"]))
	}
	w.look(t, "the feed", <-feed)
	for _, line := range in.log.all() {
		raw, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		w.look(t, "the log", string(raw))
	}
	if w.looked < 50 || decided < len(names)+1 {
		t.Errorf("%d texts, and %d decisions", w.looked, decided)
	}
}

// hidden knows the masked values of all calls.
type hidden struct {
	traces map[string]string // and what they are of
	looked int
}

// draw returns random arguments of a tool, and hides those that its mask names.
func (w *hidden) draw(name, program string, random *rand.Rand, mask []string) map[string]any {
	word := func() string {
		var b strings.Builder
		for range lettersOfWord {
			b.WriteByte("bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ0123456789"[random.IntN(50)])
		}
		return b.String() + []string{"", `"`, " ", "/", "+&", "é", "<", "\n", "%"}[random.IntN(9)] + strconv.Itoa(1e6+random.IntN(9e6))
	}
	number := func() int64 { return 1e11 + random.Int64N(8e11) }
	a := several{word(), number(), nested{word(), number()}, []string{word(), word()}}
	argv := []any{program, word(), word()}
	for pointer, values := range map[string][]any{
		"/a": {a.A}, "/n": {a.N}, "/o": {a.O.B, a.O.C}, "/o/b": {a.O.B}, "/o/c": {a.O.C}, "/l": {a.L[0], a.L[1]}, "/l/*": {a.L[0], a.L[1]}, "/l/1": {a.L[1]}, "/argv/1": {argv[1]},
	} {
		for _, v := range values {
			if slices.Contains(mask, pointer) {
				for _, trace := range traces(v) {
					w.traces[trace] = name + pointer
				}
			}
		}
	}
	args := map[string]any{"a": a.A, "n": a.N, "o": a.O, "l": a.L}
	switch name {
	case "free":
		return map[string]any{"argv": argv}
	case "run", "form", "bank_pay":
		delete(args, "o")
		delete(args, "l")
	}
	return args
}

// look reports masked values in a text. HTML and JSON may have escaped it.
func (w *hidden) look(t *testing.T, where, text string) {
	t.Helper()
	w.looked++
	text += html.UnescapeString(text)
	for trace, of := range w.traces {
		if at := strings.Index(text, trace); at >= 0 {
			t.Errorf("%s has %s of %s: …%s…", where, trace, of, text[max(0, at-200):min(len(text), at+len(trace)+50)])
			delete(w.traces, trace)
		}
	}
}
