package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/cmd/a2a-server/internal/config"
)

// folder writes files into a folder of their own and returns it.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Gates of all files are one policy, in the order of the files, and each knows its place.
func TestPolicyFiles(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"a.yaml":       "policy: {files: [managed.yaml, rules.yaml]}\ngates:\n  - tool: a\n",
		"managed.yaml": "gates:\n\n  - {name: money, tool: [pay, \"refund_*\"], four_eyes: false}\n  - tool: b\n",
		"rules.yaml":   "gates:\n  - {tool: pay, action: allow}\n",
	})
	c := load(t, config.Source{File: filepath.Join(dir, "a.yaml")})
	var got []string
	for i, g := range config.AllGates(c) {
		file, line := c.Place(config.GatePath(c, i))
		got = append(got, fmt.Sprintf("%s %s:%d", strings.Join(g.Patterns(), "+"), strings.TrimPrefix(file, dir+"/"), line))
	}
	want := []string{"a a.yaml:3", "pay+refund_* managed.yaml:3", "b managed.yaml:4", "pay rules.yaml:2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("gates (-want +got)\n%s", diff)
	}
	p, err := config.Policy(c)
	if err != nil || len(p.Gates()) != len(want) {
		t.Errorf("Policy() has %d gates, %v, want %d", len(p.Gates()), err, len(want))
	}
	if with := load(t, config.Source{Flags: map[string]string{"policy.files": filepath.Join(dir, "managed.yaml")}}); len(config.AllGates(with)) != 2 {
		t.Errorf("a flag reads %d gates, want 2", len(config.AllGates(with)))
	}
}

func TestPolicyFilesThatAreWrong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ main, managed, want string }{
		"missing":        {"policy: {files: [none.yaml]}\n", "", `a.yaml:1:17: policy.files: "none.yaml" does not exist, so its gates would be missing; it was looked for at none.yaml`},
		"twice":          {"policy: {files: [managed.yaml, ./managed.yaml]}\n", "gates: []\n", `a.yaml:1:17: policy.files: "managed.yaml" is in the list twice; remove one`},
		"empty":          {"policy: {files: [managed.yaml]}\n", "", "managed.yaml:1:1: policy.files[0]: the file is empty; write its gates, or gates: [] if it has none"},
		"without gates":  {"policy: {files: [managed.yaml]}\n", "{}\n", "managed.yaml:1:1: policy.files[0]: has no gates; write them, or gates: [] if it has none"},
		"no list":        {"policy: {files: [managed.yaml]}\n", "gates:\n", "managed.yaml:1:7: policy.files[0].gates: expected a list, found nothing; begin each gate with a dash, as in - tool: delete_*"},
		"another key":    {"policy: {files: [managed.yaml]}\n", "gates: []\nlisten: a\n", "managed.yaml:2:1: policy.files[0].listen: there is no such key; the only one is gates"},
		"a list":         {"policy: {files: [managed.yaml]}\n", "- tool: a\n", "managed.yaml:1:1: policy.files[0]: expected keys with values, found a list; write them as gates: [...]"},
		"names":          {"policy: {files: [managed.yaml]}\ngates:\n - tool: a\n", "gates:\n  - tool: a\n", `managed.yaml:2:5: policy.files[0].gates[0].tool: the gate at a.yaml:3 is also called "gate:a"; give each gate its own name`},
		"no name":        {"policy: {files: [managed.yaml]}\n", "gates:\n  - tool: [a, b]\n", "managed.yaml:2:5: policy.files[0].gates[0].tool: lists several tools; add a name to this gate"},
		"no tool":        {"policy: {files: [managed.yaml]}\n", "gates:\n  - tool: []\n", `managed.yaml:2:11: policy.files[0].gates[0].tool: is empty; write the name of a tool, or "*" for all`},
		"a gate":         {"policy: {files: [managed.yaml]}\n", "gates:\n  - {tool: a, action: aks}\n", `managed.yaml:2:23: policy.files[0].gates[0].action: "aks" is not an action; use ask, allow or deny`},
		"both":           {"policy: {files: [managed.yaml]}\ngates:\n  - {tool: a, action: x}\n", "gates:\n  - {tool: b, action: y}\n", "a.yaml:3:23: gates[0].action: \"x\" is not an action; use ask, allow or deny\nmanaged.yaml:2:23: policy.files[0].gates[0].action: \"y\" is not an action; use ask, allow or deny"},
		"no effect":      {"policy: {files: [managed.yaml]}\n", "gates:\n  - {tool: a, action: deny, four_eyes: false}\n", "managed.yaml:2:29: policy.files[0].gates[0].four_eyes: has no effect with action deny, which never asks; remove it, or use action: ask"},
		"when":           {"policy: {files: [managed.yaml]}\n", "gates:\n  - tool: a\n    when: args.a > 1 && arg.b == 1\n", "managed.yaml:3:25: policy.files[0].gates[0].when: there is no \"arg\" here; known are args, tool, agent, caller.subject, caller.tenant, caller.roles and caller.chain"},
		"when quoted":    {"policy: {files: [managed.yaml]}\n", "gates:\n  - {tool: a, when: \"args.a == 1 && arg.b == 1\"}\n", "managed.yaml:2:37: policy.files[0].gates[0].when: there is no \"arg\" here; known are args, tool, agent, caller.subject, caller.tenant, caller.roles and caller.chain"},
		"when of lines":  {"policy: {files: [managed.yaml]}\n", "gates:\n  - tool: a\n    when: |\n      args.a == 1 &&\n        arg.b == 1\n", "managed.yaml:5:9: policy.files[0].gates[0].when: there is no \"arg\" here; known are args, tool, agent, caller.subject, caller.tenant, caller.roles and caller.chain"},
		"when of a word": {"policy: {files: [managed.yaml]}\n", "gates:\n  - {tool: a, when: yes}\n", "managed.yaml:2:21: policy.files[0].gates[0].when: there is no \"yes\" here; known are args, tool, agent, caller.subject, caller.tenant, caller.roles and caller.chain"},
		"who":            {"policy: {files: [managed.yaml]}\n", "gates:\n  - {tool: a, who: {annotations: [risky]}}\n", "managed.yaml:2:35: policy.files[0].gates[0].who.annotations[0]: \"risky\" is not an annotation; use read-only, idempotent or destructive"},
		"who is empty":   {"policy: {files: [managed.yaml]}\n", "gates:\n  - {tool: a, who: {}}\n", "managed.yaml:2:20: policy.files[0].gates[0].who: is empty; write callers, roles, tenants, agents or annotations, or remove who for all calls"},
		"who of nobody":  {"policy: {files: [managed.yaml]}\n", "gates:\n  - {tool: a, action: allow, who: {callers: [], annotations: [read-only]}}\n", "managed.yaml:2:36: policy.files[0].gates[0].who.callers: is empty; name somebody, or remove it"},
		"who is nobody":  {"policy: {files: [managed.yaml]}\n", "gates:\n  - {tool: a, who: {roles: [ops]}}\n", "managed.yaml:2:20: policy.files[0].gates[0].who: without authentication requesters cannot be told apart; set auth (docs/security.md), or remove callers, roles and tenants"},
		"no decider":     {"policy: {files: [managed.yaml]}\n", "gates:\n  - {tool: a, four_eyes: true}\n", "managed.yaml:2:26: policy.files[0].gates[0].four_eyes: no caller could decide: without authentication no approver can be told apart from the requester; set auth (docs/security.md), or remove the line"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, map[string]string{"a.yaml": tt.main, "managed.yaml": tt.managed})
			got := strings.ReplaceAll(problems(t, config.Source{File: filepath.Join(dir, "a.yaml")}).Error(), dir+"/", "")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Load() (-want +got)\n%s", diff)
			}
		})
	}
}

// A file that other users can write is refused, as the configuration is.
func TestPolicyFileOfOthers(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.yaml": "policy: {files: [managed.yaml]}\n", "managed.yaml": "gates: []\n"})
	if err := os.Chmod(filepath.Join(dir, "managed.yaml"), 0o666); err != nil { //nolint:gosec // that is the case
		t.Fatal(err)
	}
	if got := problems(t, config.Source{File: filepath.Join(dir, "a.yaml")}).Error(); !strings.Contains(got, "managed.yaml: policy.files[0]: ") {
		t.Errorf("Load() = %s, want a problem with the mode", got)
	}
}
