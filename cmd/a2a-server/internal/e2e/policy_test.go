package e2e_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/auth/apikey"
	"a2a-server/cmd/a2a-server/internal/app"
)

// echoTool is a tool that runs without an approval.
const echoTool = "tools: [{command: say, description: x, run: [echo, \"a{text}\", \"b{amount}\"], args: {text: {type: string}, amount: {type: number}}, optional: [text, amount], approve: false}]\n"

// A reload takes all files of the policy, or none of them: with a problem in any, or without
// one of them, the gates stay as they were. Approvals that exist keep their terms.
func TestReloadOfPolicyFiles(t *testing.T) {
	t.Parallel()
	c, file := configured(t, "policy: {files: [managed.yaml, rules.yaml]}\n"+echoTool)
	c.Authenticator = byHeader{}
	managed, rules := filepath.Join(filepath.Dir(file), "managed.yaml"), filepath.Join(filepath.Dir(file), "rules.yaml")
	const none = "gates: []\n"
	asks := func(name, more string) string {
		return "gates: [{name: " + name + ", tool: [say, other_*]" + more + "}]\n"
	}
	rewrite(t, managed, asks("first", ""))
	rewrite(t, rules, none)
	in := start(t, c)
	send := func(id string) (task taskAnswer, answer string) {
		return in.sendAs(t, message(id, "/say {}"), "Authorization", "alice")
	}
	asked := func(id string) string {
		task, answer := send(id)
		if task.Status.State != "TASK_STATE_INPUT_REQUIRED" {
			t.Fatalf("the call does not ask: %s", answer)
		}
		return task.ID
	}
	before := asked("m1")

	for name, change := range map[string]func(){
		"a wrong file":    func() { rewrite(t, managed, none); rewrite(t, rules, "gates: [{tool: say, action: aks}]\n") },
		"a file is gone":  func() { rewrite(t, managed, none); _ = os.Remove(rules) },
		"a file is empty": func() { rewrite(t, managed, ""); rewrite(t, rules, none) },
	} {
		change()
		if err := in.server.Reload(); err == nil || !strings.Contains(err.Error(), ".yaml") {
			t.Errorf("%s: Reload() = %v, want an error with the file", name, err)
		}
		asked(strings.ReplaceAll(name, " ", "-"))
	}

	rewrite(t, managed, none)
	rewrite(t, rules, none)
	in.reload(t)
	if task, answer := send("m2"); task.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("without its gate the call does not run: %s", answer)
	}
	rewrite(t, rules, asks("second", `, action: deny, when: 'args.text == "no"'`)) // which fails without a text
	in.reload(t)
	if _, answer := send("m3"); !strings.Contains(answer, "second") {
		t.Errorf("the gate of the second file does not deny: %s", answer)
	}
	rewrite(t, rules, asks("second", ", no_text: true"))
	in.reload(t)
	if _, answer := in.sendAs(t, approve("m4", before, before+".a1"), "Authorization", "alice"); !strings.Contains(answer, "TASK_STATE_COMPLETED") {
		t.Errorf("the approval of the former policy cannot be approved: %s", answer)
	}
}

// A gate with when and who is about the calls that they name: whose requester, arguments and
// edited arguments they fit. A condition that cannot be evaluated asks, and denies.
func TestGatesWithConditions(t *testing.T) {
	t.Parallel()
	c, file := configured(t, "policy: {files: [rules.yaml]}\n"+echoTool)
	c.Authenticator = byHeader{}
	rewrite(t, filepath.Join(filepath.Dir(file), "rules.yaml"), `
gates:
  - name: large
    tool: say
    when: has(args.amount) && args.amount > 100
  - name: too-large
    tool: say
    when: |
      has(args.amount) &&
      args.amount > 10000
    action: deny
  - name: bots
    tool: say
    who: {callers: ["bot-*"]}
    when: args.amount < 50
    action: deny
`)
	in := start(t, c)
	for _, tt := range []struct{ by, args, want string }{
		{"alice", `{"amount": 100}`, "TASK_STATE_COMPLETED"},
		{"alice", `{}`, "TASK_STATE_COMPLETED"},
		{"alice", `{"amount": 101}`, "TASK_STATE_INPUT_REQUIRED"},
		{"alice", `{"amount": 10001}`, "too-large"},
		{"bot-1", `{"amount": 5}`, "bots"},
		{"bot-1", `{"amount": 60}`, "TASK_STATE_COMPLETED"},
		{"bot-1", `{}`, "failed"}, // there is no amount
	} {
		if _, answer := in.sendAs(t, message(tt.by+tt.args, "/say "+tt.args), "Authorization", tt.by); !strings.Contains(answer, tt.want) {
			t.Errorf("%s by %s: %s, want %s", tt.args, tt.by, answer, tt.want)
		}
	}
	task, _ := in.sendAs(t, message("m1", `/say {"amount": 500}`), "Authorization", "alice")
	decision := map[string]any{"id": task.ID + ".a1", "decision": "edit", "arguments": map[string]any{"amount": 20000}}
	edit := map[string]any{"message": map[string]any{"messageId": "m2", "taskId": task.ID, "role": "ROLE_USER", "parts": []any{
		map[string]any{"data": map[string]any{"type": "approval_response", "decisions": []any{decision}}},
	}}}
	if _, answer := in.sendAs(t, edit, "Authorization", "alice"); !strings.Contains(answer, "too-large") {
		t.Errorf("an edit passes a gate that denies it: %s", answer)
	}
}

// policy explain and policy test judge the call of a caller as the server does: a caller whose credential names no
// tenant and no roles has those of auth.tenant and auth.default_roles.
func TestExplainKnowsTheDefaultsOfCallers(t *testing.T) {
	t.Parallel()
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	key := newKey(t, keys, apikey.Key{ID: "ann"})
	cases := filepath.Join(t.TempDir(), "cases.yaml")
	rewrite(t, cases, "cases: [{tool: say, args: {}, caller: {subject: 'key:ann'}, expect: {action: deny, rules: [closed]}}]\n")
	for name, who := range map[string]string{"tenant": "tenants: [acme]", "role": "roles: [requester]", "caller": "callers: ['acme/key:ann']"} {
		c, file := configured(t, "auth: {keys: {file: "+keys+"}, tenant: acme, default_roles: [requester]}\n"+
			"gates: [{name: closed, tool: say, action: deny, who: {"+who+"}}]\n"+echoTool)
		in := start(t, c)
		if _, served := in.sendAs(t, message("m1", "/say {}"), "X-API-Key", key); !strings.Contains(served, "closed") {
			t.Errorf("%s: the server does not deny: %s", name, served)
		}
		for command, want := range map[string]string{"explain --caller key:ann say": "is denied", "test " + cases: "1 cases are as expected"} {
			var out, problems bytes.Buffer
			code := app.Run(t.Context(), append(append([]string{"policy"}, strings.Fields(command)...), "--config", file), c.Environment, strings.NewReader(""), &out, &problems)
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: policy %s (exit code %d) says: %s%s", name, command, code, out.String(), problems.String())
			}
		}
	}
}
