package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withPolicy is a console with two files of gates.
func withPolicy(t *testing.T) *console {
	t.Helper()
	c := withFile(t, `
policy: {files: [managed.yaml, rules.yaml]}
auth: {keys: {file: keys.yaml}, default_roles: [requester, approver], tenant: acme}
tools:
  - {command: pay, description: pays, run: [echo, "{to}", "{amount}", "{region}"], args: {to: {type: string}, amount: {type: number}, region: {type: string}}, optional: [region]}
  - {command: deploy, description: deploys, run: [echo], for: {callers: ["corp:ann"]}}
gates:
  - {name: any-payment, tool: pay, action: allow}
`)
	c.write("keys.yaml", "[]\n")
	c.write("managed.yaml", `
gates:
  - {name: big-payment, tool: [pay], when: args.amount > 1000, four_eyes: true, expires: 24h, hint: "{to} gets {amount}."}
  - {name: never, tool: pay, action: deny, who: {callers: ["corp:eve"]}}
`)
	c.write("rules.yaml", "gates: []\n")
	return c
}

// write writes a file into the folder of c.
func (c *console) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.folder, name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func TestPolicyExplain(t *testing.T) {
	t.Parallel()
	c := withPolicy(t)
	const want = `The call has to be approved: gate "big-payment" asks.

Gates about the tool:
  allow any-payment (a2a-server.yaml:8): applies, always
  ask big-payment (managed.yaml:3): applies, when is true
  deny never (managed.yaml:4): does not apply, the callers under who do not include this call

The approval:
  decisions: approve, edit, reject, cancel
  not the requester, nor parties that act for it
  deadline after 24h, then it is rejected

The question:
  "bob" gets 5000.
`
	code, stdout, stderr := c.run(nil, "policy", "explain", "pay", "to=bob", "amount=5000", "--caller", "corp:alice", "--roles", "requester")
	if diff := cmp.Diff(want, stdout); code != 0 || diff != "" {
		t.Errorf("exit code %d: %s (-want +got)\n%s", code, stderr, diff)
	}
	_, stdout, _ = c.run(strings.NewReader(`{"to": "5", "amount": 5}`), "policy", "explain", "pay", "--json", "-", "--caller", "corp:eve", "-o", "json")
	var got struct{ Action, Gate string }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Action != "deny" || got.Gate != "never" {
		t.Errorf("explain -o json prints %s, %v", stdout, err)
	}
	c.want(0, "runs without an approval", "policy", "explain", "pay", "to=5", "amount=5") // to is a text
	c.want(1, `this caller has no tool "paj"; did you mean pay?`, "policy", "explain", "paj")
	c.want(1, `this caller has no tool "p\u0430y"`, "policy", "explain", "p\u0430y")
	c.want(2, "an object of arguments follows --json", "policy", "explain", "pay", `{"to":"5","amount":5}`)
	c.want(1, `this caller has no tool "deploy"`, "policy", "explain", "deploy")
	c.want(0, "has to be approved: the tool itself asks", "policy", "explain", "deploy", "--caller", "corp:ann")
	c.want(1, "no gate is asked, because the arguments are wrong", "policy", "explain", "pay", "to=bob")
	c.want(1, "is not an argument", "policy", "explain", "pay", "bob")
	c.want(2, "takes the name of a tool", "policy", "explain")
	c.want(2, "not both", "policy", "explain", "pay", "to=bob", "--json", "{}")
	c.want(1, "duplicate", "policy", "explain", "pay", "--json", `{"to": "a", "to": "b"}`)
}

func TestPolicyTest(t *testing.T) {
	t.Parallel()
	c := withPolicy(t)
	const good = `cases:
  - {tool: pay, args: {to: bob, amount: 5}, expect: {action: allow, rules: [any-payment]}}
  - {tool: pay, args: {to: bob, amount: 5000}, caller: {subject: "corp:alice", roles: [requester]}, expect: {action: ask, people: 1}}
`
	c.write("cases.yaml", good)
	file := filepath.Join(c.folder, "cases.yaml")
	c.want(0, "2 cases are as expected", "policy", "test", file)
	c.write("cases.yaml", good+`  - {name: eve, tool: pay, args: {to: bob, amount: 5}, caller: {subject: "corp:eve"}, expect: {action: ask}}
  - {tool: pay, args: {to: bob, amount: 5000}, expect: {action: ask, rules: [big]}}
  - {tool: paj, expect: {action: deny}}
`)
	c.want(1, `3 of 5 cases are not as expected:
cases.yaml:4: eve: is deny, by never; expected ask
cases.yaml:5: the call of pay: is ask by big-payment; expected by big
cases.yaml:6: the call of paj: this caller has no tool "paj"; did you mean pay?
`, "policy", "test", file)
	c.write("rules.yaml", "gates:\n  - {name: two, tool: pay, people: 2, approvers: {roles: [finance]}}\n  - {name: legal, tool: pay, approvers: {roles: [legal]}}\n")
	for people, want := range map[string]string{
		"2": "", "[2 of role finance, 1 of role legal]": "",
		"3":                   "needs people: 2 (2 of role finance, 1 of role legal); expected 3",
		"[2 of role finance]": "; expected 2 of role finance",
		"0":                   "0 is too small", "11": "11 is too large",
	} {
		c.write("cases.yaml", "cases: [{tool: pay, args: {to: bob, amount: 5}, expect: {action: ask, people: "+people+"}}]\n")
		c.want(map[bool]int{true: 0, false: 1}[want == ""]+map[bool]int{true: 1}[strings.Contains(want, "too")], want, "policy", "test", file)
	}
	c.write("cases.yaml", "cases: [{tool: deploy, caller: {subject: \"corp:ann\"}, expect: {action: ask, people: 2}}]\n")
	c.want(1, "needs people: 1 (1 more); expected 2", "policy", "test", file)
	for text, want := range map[string]string{
		"":                     "cases: is missing",
		"cases: []\n":          "has no cases",
		"cases: [{tool: a}]\n": "cases[0].expect: is missing",
		"cases: [{tool: a, expect: {action: maybe}}]\n":                             `"maybe" is not an action`,
		"cases: [{tool: a, expect: {rules: [b]}}]\n":                                "cases[0].expect.action: is missing; write ask, allow or deny",
		"cases: [{tool: a, expect: {action: }}]\n":                                  "cases[0].expect.action: expected ask, allow or deny, found nothing",
		"cases: [{tool: a, caller: {name: b}, expect: {action: ask}}]\n":            "cases[0].caller.name: there is no such key",
		"cases: [{tool: a, args: {n: 12345678901234567}, expect: {action: ask}}]\n": "cases[0].args: ",
	} {
		c.write("cases.yaml", text)
		c.want(2, want, "policy", "test", file)
	}
	c.write("cases.yaml", "cases: [{tool: a, expect: {people: 1}}]\n")
	if _, _, stderr := c.run(nil, "policy", "test", file); strings.Count(stderr, "cases[0].expect.action: ") != 1 || !strings.Contains(stderr, "; write ask, allow or deny") {
		t.Errorf("a case without an action: %q, want what to write, once", stderr)
	}
	c.want(2, "there is no file", "policy", "test", filepath.Join(c.folder, "none.yaml"))
}

func TestPolicyCheck(t *testing.T) {
	t.Parallel()
	c := withPolicy(t)
	c.want(0, "the policy has no problems", "policy", "check")
	for gate, want := range map[string]string{
		"{name: g, tool: pay, action: deny, when: 'false'}":                                        "has no effect: when is false for every call",
		"{name: g, tool: pay, action: deny, when: '1 > 2 || false'}":                               "has no effect: when is false for every call",
		"{name: g, tool: pay, when: args.region == \"EU\"}":                                        "when reads args.region, which is an optional argument of pay; without it the condition fails, and counts as true; write has(args.region) && before it",
		"{name: g, tool: pay, when: args.regon == \"EU\"}":                                         "when reads args.regon, which is no argument of pay: correct the name",
		"{name: g, tool: pay, mask: [/to, /too]}":                                                  "mask reads /too, which is no argument of pay: correct the name ('a2a-server tools show pay' lists them)",
		"{name: g, tool: pay, mask: [/too/iban]}":                                                  "mask reads /too/iban, which is no argument of pay: correct the name",
		"{name: g, tool: pay, hint: \"Pay {to} {amuont}?\"}":                                       "hint reads {amuont}, which is no argument of pay: correct the name",
		"{name: g, tool: \"*\", hint: \"{/amuont}?\"}":                                             "hint reads {/amuont}, which is no argument of any of its tools: correct the name",
		"{name: g, tool: pay, grants: {scopes: [task], vary: [/amount, /amuont]}}":                 "grants.vary reads /amuont, which is no argument of pay: correct the name",
		"{name: g, tool: pay, approvers: {roles: [bosses]}}":                                       `approvers.roles: no caller gets the role "bosses"; known are approver, requester`,
		"{name: g, tool: pay, approvers: {roles: [approver], when: args.region in decider.roles}}": "approvers.when reads args.region, which is an optional argument of pay; without it the condition fails, and nobody may decide; write has(args.region) && before it",
		"{name: g, tool: pay, who: {roles: [bosses]}}":                                             `who.roles: no caller gets the role "bosses"`,
		"{name: g, tool: \"p*\", action: allow}":                                                   "has no effect: only an allow with the exact name of a tool",
		"{name: g, tool: pay, remind: 5m}":                                                         "rules.yaml:2:21: policy.files[1].gates[0].tool: remind reminds nobody: no route announces it; add notify to the gate, or a route with all: true",
		"{name: g, tool: \"x*\"}":                                                                  `no tool matches "x*"`,
		"{name: g, tool: \"*\", action: deny}":                                                     "has no effect: g has the last word about every call of its tools",
		"{name: g, tool: pay, allowed: [approve]}\n  - {name: h, tool: pay, allowed: [reject]}":    "no call of pay could run: the gates g, h allow neither approve nor edit together",
	} {
		c.write("rules.yaml", "gates:\n  - "+gate+"\n")
		c.want(1, want, "policy", "check")
	}
	for gate, want := range map[string]string{
		"{name: g, tool: null}": `tool: has no value; write a name, "*" for all, or a list`,
		"{name: g, tool: pay, people: 2, approvers: {subjects: [\"key:bob\"]}}": "rules.yaml:2:34: policy.files[1].gates[0].people: 2 people have to approve, and approvers names only 1; name more, or roles",
		"{name: g, tool: \"p\u0430y\"}":                                         `there is no tool "p\u0430y"`,
	} {
		c.write("rules.yaml", "gates:\n  - "+gate+"\n")
		c.want(2, want, "policy", "check")
	}
	c.write("rules.yaml", "gates:\n  - {name: g, tool: \"*\", when: has(args.to), mask: [/to, /*], hint: 'Pay {amount} {EUR to} {\"a\": 1}?'}\n")
	c.want(0, "the policy has no problems", "policy", "check")
	c.write("rules.yaml", "gates: [{name: g, tool: pay, when: \"has(args.region) && args.region == 'EU'\"}]\n")
	c.want(0, "the policy has no problems", "policy", "check")
	c.write("rules.yaml", "gates:\n  - name: g\n    tool: pay\n    approvers:\n      roles: [approver]\n      when: |\n        has(args.region) &&\n          args.region in decider.regions\n")
	c.want(2, "rules.yaml:8:33: ", "policy", "check")
	c.write("rules.yaml", "gates: [{name: g, tool: pay, approvers: {roles: [approver], when: decider.subject in args.to}}]\n")
	c.want(0, "  approvers: role approver for whom decider.subject in args.to\n", "policy", "explain", "pay", "to=bob", "amount=5")
	c.write("rules.yaml", "gates: [{name: g, tool: pay, action: deny}, {name: h, tool: deploy, action: deny}, {name: i, tool: \"*\"}]\n")
	c.want(1, "has no effect: g, h have the last word about every call of its tools", "policy", "check")
	c.write("rules.yaml", "gates: [{name: g, tool: paj}]\n")
	c.want(2, `there is no tool "paj"; did you mean pay?`, "policy", "check")
}

// A mask is reported only where the schemas on the way to it leave nothing open.
func TestPolicyCheckMask(t *testing.T) {
	t.Parallel()
	const a, b = "type: object, properties: {a: {type: string}}", "type: object, properties: {b: {type: string}}"
	for _, test := range []struct {
		schema, mask string
		reported     bool
	}{
		{a, "/p/a", false},
		{a, "/p/b", true},
		{a, "/p/a/b", true},
		{"title: P, additionalProperties: false, " + a, "/p/b", true},
		{"type: object", "/p/b", false},
		{"additionalProperties: true, " + a, "/p/b", false},
		{"additionalProperties: {type: string}, " + a, "/p/b", false},
		{"patternProperties: {^b: {type: string}}, " + a, "/p/b", false},
		{"anyOf: [{" + b + "}], " + a, "/p/b", false},
		{"allOf: [{properties: {a: {" + b + "}}}], type: object, properties: {a: {" + a + "}}", "/p/a/b", false},
		{"oneOf: [{" + b + "}], " + a, "/p/b", false},
		{"if: {" + a + "}, then: {" + b + "}, " + a, "/p/b", false},
		{"dependentSchemas: {a: {" + b + "}}, " + a, "/p/b", false},
		{"$ref: \"#/properties/q\", " + a, "/p/b", false},
		{"type: array, items: {" + a + "}", "/p/*/a", false},
		{"type: array, items: {" + a + "}", "/p/0/a", false},
		{"type: array, items: {" + a + "}", "/p/*/b", true},
		{"type: array, items: {" + a + "}", "/p/a", true},
		{"type: array, prefixItems: [{" + b + "}], items: {" + a + "}", "/p/0/b", false},
		{"type: array, contains: {" + b + "}, items: {" + a + "}", "/p/*/b", false},
		{"type: [object, array], items: {" + b + "}, properties: {a: {type: string}}", "/p/0/b", false},
	} {
		c := withFile(t, "tools: [{ask: g, description: d, args: {p: {"+test.schema+"}, q: {"+b+"}}}]\n"+
			"gates: [{tool: g, mask: ["+test.mask+"]}]\n")
		if code, _, stderr := c.run(nil, "policy", "check"); strings.Contains(stderr, "mask reads "+test.mask) != test.reported || code > 1 {
			t.Errorf("%s of {%s}: exit code %d, %q; want a report: %t", test.mask, test.schema, code, stderr, test.reported)
		}
	}
}

// A server or agent that is down may have the argument, unless the gate names its tools.
func TestPolicyCheckMaskDown(t *testing.T) {
	t.Parallel()
	for _, down := range []string{
		"mcp: down, command: [/bin/false], only: [read]",
		"mcp: down, url: \"http://127.0.0.1:1/mcp\", networks: [127.0.0.1], only: [read]",
		"agent: down, card: \"http://127.0.0.1:1/card\", networks: [127.0.0.1]",
	} {
		for gate, reported := range map[string]bool{`"*"`: false, `[pay, "down*"]`: false, "pay": true} {
			c := withFile(t, "tools: [{ask: pay, description: d, args: {to: {type: string}}}, {"+down+"}]\n"+
				"gates: [{name: g, tool: "+gate+", mask: [/token], hint: \"{token}?\"}]\n")
			if _, _, stderr := c.run(nil, "policy", "check"); strings.Contains(stderr, "reads") != reported {
				t.Errorf("%s, a gate of %s: %q; want a report: %t", down, gate, stderr, reported)
			}
		}
	}
}

// When all callers are known, a gate that needs more people than may approve is reported: people of
// one tenant, who hold the role, each once. Otherwise anybody may come.
func TestPolicyCheckPeople(t *testing.T) {
	t.Parallel()
	c := withPolicy(t)
	const keys = `
- {id: bob, sha256: "0000000000000000000000000000000000000000000000000000000000000001", roles: [approver, finance]}
- {id: bob-laptop, sha256: "0000000000000000000000000000000000000000000000000000000000000002", roles: [approver, finance]}
- {id: carl, sha256: "0000000000000000000000000000000000000000000000000000000000000003", roles: [approver, finance]}
- {id: dora, sha256: "0000000000000000000000000000000000000000000000000000000000000004", roles: [approver]}
- {id: eve, sha256: "0000000000000000000000000000000000000000000000000000000000000005", roles: [approver, finance], tenant: other}
- {id: fred, sha256: "0000000000000000000000000000000000000000000000000000000000000006", roles: [approver, finance], revoked: 2026-01-01T00:00:00Z}
- {id: robot, kind: service, sha256: "0000000000000000000000000000000000000000000000000000000000000007", roles: [approver, finance]}
`
	c.write("keys.yaml", keys)
	config, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	c.write("a2a-server.yaml", strings.Replace(string(config), "auth: {", `auth: {people: {bob: ["key:bob", "key:bob-laptop"]}, `, 1))
	for gate, want := range map[string]string{
		"people: 2, approvers: {roles: [finance]}": "",
		"people: 3, approvers: {roles: [finance]}": "no call could run: it needs people: 3, and of the callers with a key or in auth.socket at most 2 may approve",
		"people: 3":                              "",
		"people: 4":                              "it needs people: 4, and of the callers with a key or in auth.socket at most 3 may approve",
		"approvers: {subjects: [\"key:robot\"]}": "at most 0 may approve",
		"people: 2, action: ask, approvers: {roles: [finance]}":                                  "",
		"people: 3, approvers: {roles: [finance]}, escalate: {after: 1h, add_roles: [approver]}": "",
	} {
		c.write("rules.yaml", "gates: [{name: g, tool: pay, when: args.amount > 1, "+gate+"}]\n")
		if want == "" {
			c.want(0, "the policy has no problems", "policy", "check")
		} else {
			c.want(1, want, "policy", "check")
		}
	}
	c.write("a2a-server.yaml", strings.Replace(string(config), "auth: {", "auth: {delegated_decisions: true, ", 1))
	c.write("rules.yaml", "gates: [{name: g, tool: pay, when: args.amount > 1, approvers: {subjects: [\"key:robot\"]}}]\n")
	c.want(0, "the policy has no problems", "policy", "check")
	c.write("rules.yaml", "gates: [{name: g, tool: pay, when: args.amount > 1, human: true, approvers: {subjects: [\"key:robot\"]}}]\n")
	c.want(1, "at most 0 may approve", "policy", "check")
}

// A policy of 10,000 gates is read and checked, and its last gate has its place.
func TestPolicyOfManyGates(t *testing.T) {
	t.Parallel()
	c := withPolicy(t)
	var gates strings.Builder
	gates.WriteString("gates:\n")
	for i := range 2000 {
		fmt.Fprintf(&gates, "  - {name: g%d, tool: [\"tool%d_*\"], people: 2}\n", i, i)
	}
	c.write("rules.yaml", gates.String()+"  - {name: last, tool: pay, who: {callers: [\"corp:*\"]}}\n")
	c.want(0, "ask last (rules.yaml:2002): applies", "policy", "explain", "pay", "to=bob", "amount=5", "--caller", "corp:alice")
	c.want(1, "the policy has problems (2000):\nrules.yaml:2:22: policy.files[1].gates[0].tool: no tool matches \"tool0_*\"", "policy", "check")
	c.write("rules.yaml", gates.String()+"  - {name: last, tool: pay, when: args.amount >}\n")
	c.want(2, "rules.yaml:2002:", "policy", "check")
}

// The page about the policy shows what the commands print.
func TestPolicyDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(begin string) string {
		t.Helper()
		_, rest, ok := strings.Cut(string(page), "```"+begin+"\n")
		text, _, closed := strings.Cut(rest, "```\n")
		if !ok || !closed {
			t.Fatalf("docs/policy.md has no %s", begin)
		}
		return text
	}
	c := withFile(t, "auth: {keys: {file: keys.yaml}, default_roles: [requester, approver], tenant: acme}\npolicy: {files: [rules.yaml]}\n")
	c.write("keys.yaml", "[]\n")
	c.write("rules.yaml", block("yaml rules"))
	c.write("cases.yaml", block("yaml cases"))
	c.want(0, "2 cases are as expected", "policy", "test", filepath.Join(c.folder, "cases.yaml"))
	c.want(0, "the policy has no problems", "policy", "check")
	command, shown, _ := strings.Cut(strings.TrimPrefix(block("console"), "$ a2a-server "), "\n")
	code, stdout, stderr := c.run(nil, strings.Fields(command)...)
	if code != 0 || !strings.HasPrefix(stdout, shown) {
		t.Errorf("exit code %d, %s, want the beginning\n%s\ngot\n%s", code, stderr, shown, stdout)
	}
	_, managed, _ := strings.Cut(string(page), "cat >managed.yaml <<EOF\n")
	managed, _, _ = strings.Cut(managed, "EOF\n")
	logins := withFile(t, block("yaml logins")+"policy: {files: [managed.yaml]}\n")
	logins.write("keys.yaml", "[]\n")
	logins.write("managed.yaml", managed)
	logins.want(0, "the policy has no problems", "policy", "check")
}

const withRoutes = `
policy: {files: [rules.yaml]}
auth: {keys: {file: keys.yaml}, default_roles: [requester, approver], tenant: acme}
notify: [{name: oncall, kind: slack, url: {env: HOOK}}, {name: ops, kind: slack, all: true, url: {env: HOOK}, events: [asked]}]
tools:
  - {command: pay, description: pays, run: [echo, "{to}"], args: {to: {type: string}}}
`

// A reminder after the escalation reminds the routes of the escalation, and a reminder of calls about which
// two gates ask the routes of both.
func TestPolicyCheckReminders(t *testing.T) {
	t.Parallel()
	for name, gates := range map[string]string{
		"the route of the escalation": "- {name: g, tool: pay, expires: 24h, remind: 8h, escalate: {after: 4h, notify: [oncall]}}",
		"the route of another gate":   "- {name: g, tool: pay, expires: 24h, remind: 8h}\n  - {name: h, tool: pay, expires: 24h, notify: [oncall]}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withFile(t, withRoutes)
			c.write("keys.yaml", "[]\n")
			c.write("rules.yaml", "gates:\n  "+gates+"\n")
			c.want(0, "the policy has no problems", "policy", "check")
		})
	}
}

// Of two people who may approve, and who alone may request, four_eyes always excludes one.
func TestPolicyCheckFourEyes(t *testing.T) {
	t.Parallel()
	c := withPolicy(t)
	c.write("keys.yaml", `
- {id: bob, person: bob, sha256: "0000000000000000000000000000000000000000000000000000000000000001", roles: [requester, approver]}
- {id: carl, person: carl, sha256: "0000000000000000000000000000000000000000000000000000000000000002", roles: [requester, approver]}
`)
	file, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	c.write("a2a-server.yaml", strings.Replace(string(file), "  - {name: any-payment, tool: pay, action: allow}", "  []", 1))
	c.write("managed.yaml", "gates: []\n")
	c.write("rules.yaml", "gates: [{name: g, tool: pay, people: 2, four_eyes: true}]\n")
	c.want(1, "no call could run", "policy", "check")
}
