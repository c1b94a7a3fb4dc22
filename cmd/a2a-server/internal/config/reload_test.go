package config_test

import (
	"slices"
	"strings"
	"testing"

	"a2a-server/cmd/a2a-server/internal/config"
)

// A list of mappings that a running server does not read again needs a restart when one of
// its entries has changed.
func TestReloadedEntries(t *testing.T) {
	t.Parallel()
	const one = "auth:\n  oidc:\n    - {name: corp, issuer: \"https://idp.example.com\", audiences: [a2a], roles: [requester]}\n"
	before := load(t, config.Source{File: write(t, one)})
	for text, want := range map[string][]string{
		one: nil,
		one + "    - {name: other, issuer: \"https://b.example.com\", audiences: [a2a], roles: [requester]}\n":               {"auth.oidc"},
		"auth:\n  oidc:\n    - {name: corp, issuer: \"https://idp.example.com\", audiences: [a2a, b], roles: [requester]}\n": {"auth.oidc"},
		"log: {level: warn, format: json}\n": {"log.format", "auth.oidc"},
	} {
		_, got, err := config.Reload(config.Source{File: write(t, text)}, before)
		if err != nil {
			t.Errorf("%v, after\n%s", err, text)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("a restart is needed for %q, want %q, after\n%s", got, want, text)
		}
	}
}

// A running server takes a configuration only if it is valid together with the keys that need a restart, and
// only from a file that has not lost its gates, as by a write that was cut off.
func TestReloadRefuses(t *testing.T) {
	t.Parallel()
	const (
		open = "data: d\ngates:\n  - {tool: echo, action: deny}\n"
		keys = "data: d\nauth: {keys: {file: keys.yaml}, tenant: acme}\n"
	)
	for name, tc := range map[string]struct{ before, after, want string }{
		"who without auth":    {open, keys + "gates:\n  - {tool: echo, action: deny, who: {callers: [\"key:*\"]}}\n", "a2a-server.yaml:4:37: gates[0].who: without authentication requesters cannot be told apart; set auth (docs/security.md), or remove callers, roles and tenants; or restart the server: until then these stay as they were: auth.keys.file auth.tenant"},
		"for without auth":    {open, keys + "tools:\n  - {builtin: demo, for: {callers: [\"key:alice\"]}}\n", "no caller could use these tools"},
		"nobody who decides":  {open, keys + "gates:\n  - {tool: echo, four_eyes: true}\n", "no caller could decide"},
		"a shorter deadline":  {open, "data: d\ndeadlines: {expires: 500h}\ngates:\n  - {tool: echo, remind: 400h}\n", "a2a-server.yaml:4:26: gates[0].remind: is not before the deadline of 168h"},
		"a secret of before":  {"secrets: {a: {env: A}}\nadmin: {listen: \"127.0.0.1:0\", token: {secret: a}}\n", "secrets: {b: {env: A}}\nadmin: {listen: \"127.0.0.1:0\", token: {secret: b}}\n", "admin.token: there is no secret \"a\""},
		"a header of before":  {"secrets: {a: {env: A}}\nplanner: {kind: llm, llm: {url: \"https://m\", model: m, header: {X: \"{secret:a}\"}}}\n", "data: d\n", "planner.llm.header: there is no secret \"a\""},
		"an empty file":       {open, "", "a2a-server.yaml: gates: all gates are gone; write them, or gates: [] if there are none any more"},
		"only comments":       {open, "# data: d\n", "gates: all gates are gone"},
		"gates without value": {open, "data: d\ngates:\n", "gates: all gates are gone"},
		"no key gates":        {open, "data: d\n", "gates: all gates are gone"},
		"no approve_tools":    {"approve_tools: [echo]\n", "data: d\n", "gates: all gates are gone"},
	} {
		_, _, err := config.Reload(config.Source{File: write(t, tc.after)}, load(t, config.Source{File: write(t, tc.before)}))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// A variable or a flag that is empty, as of a deployment whose own variable is not set, removes nothing.
func TestEmptyVariables(t *testing.T) {
	t.Parallel()
	file := write(t, "policy: {files: [a.yaml]}\nauth: {keys: {file: keys.yaml}}\napprove_tools: [echo]\nlisten: 127.0.0.1:0\n")
	for _, name := range []string{"POLICY_FILES", "AUTH_KEYS_FILE", "APPROVE_TOOLS", "LISTEN"} {
		got := problems(t, config.Source{File: file, Environment: []string{"A2A_SERVER_" + name + "="}}).Error()
		if !strings.Contains(got, "A2A_SERVER_"+name+": is empty, and would remove the value of "+file+":") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := problems(t, config.Source{File: file, Flags: map[string]string{"policy.files": " "}}).Error(); !strings.Contains(got, "--policy-files: is empty, and would remove the value of "+file+":1; unset it, or remove that value") {
		t.Error(got)
	}
	load(t, config.Source{Environment: []string{"A2A_SERVER_POLICY_FILES=", "A2A_SERVER_PUBLIC_URL="}})
}

// What a reload takes and what it leaves are compared by their values, wherever they come from now.
func TestReloadTakes(t *testing.T) {
	t.Parallel()
	gate := "gates:\n  - {tool: echo, action: deny}\n"
	managed := write(t, gate)
	for name, tc := range map[string]struct{ before, after string }{
		"a planner that is not used":  {"planner: {kind: direct, llm: {url: \"https://m\", model: m}}\n", "data: d\n"},
		"files without gates":         {gate, "policy: {files: [" + write(t, "gates: []\n") + "]}\n"},
		"braces around no secret":     {"planner: {kind: llm, llm: {url: \"https://m\", model: m, header: {X: \"{{secret:a}}\"}}}\n", "data: d\n"},
		"the last gate":               {gate, "gates: []\n"},
		"gates that move to a file":   {gate, "policy: {files: [" + managed + "]}\ngates:\n"},
		"sections without keys":       {"data: d\n", "auth: {keys: }\nplanner: {llm: }\n"},
		"texts that look like logins": {"data: d\n", "agent: {name: \"acct://user@host\"}\ncard: {required_extensions: [\"acct://user@host\"]}\n"},
	} {
		if _, _, err := config.Reload(config.Source{File: write(t, tc.after)}, load(t, config.Source{File: write(t, tc.before)})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
