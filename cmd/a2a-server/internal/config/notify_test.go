package config_test

import (
	"cmp"
	"strings"
	"testing"

	"a2a-server/cmd/a2a-server/internal/config"
)

// The check names the people who may decide and are told nowhere, and routes that tell nobody.
func TestNotifyWarnings(t *testing.T) {
	t.Parallel()
	const auth = "insecure_no_auth: true\n"
	const gates = `gates:
  - {tool: pay, notify: [ops], approvers: {roles: [sre]}}
  - {tool: mail, approvers: {roles: [sre, boss], subjects: ["corp:alice"]}}
  - {tool: drop, notify: [ends]}
  - {tool: none, action: deny}
`
	const ops, ends = "  - {name: ops, kind: slack, url: {env: A}}\n", "  - {name: ends, kind: slack, url: {env: A}, events: [resolved]}\n"
	for name, tt := range map[string]struct {
		routes string
		want   []string // in order, a part of each
		gates  string   // "": as above
	}{
		"some": {ops + ends, []string{
			"gates[1].tool: role sre, role boss, corp:alice may decide the calls that this gate asks about, and is told on no route",
			"gates[2].tool: every approver may decide",
		}, ""},
		"everything": {ops + ends + "  - {name: all, kind: slack, url: {env: A}, all: true}\n", nil, ""},
		"unused": {ops + ends + "  - {name: idle, kind: slack, url: {env: A}}\n", []string{
			"notify[2].name: no gate names the route \"idle\"", "gates[1].tool:", "gates[2].tool:",
		}, ""},
		"reminders": {ops + "  - {name: late, kind: slack, url: {env: A}, events: [asked], all: true}\n", []string{
			"gates[1].tool: remind reminds nobody: no route announces it",
		}, "gates: [{tool: pay, notify: [ops], remind: 1h}, {tool: mail, remind: 1h}, {tool: drop}]\n"},
		"requesters": {ops + "  - {name: ends, kind: smtp, smtp: {host: h, from: a@b.example}, requester: true, events: [asked], all: true}\n", []string{
			"notify[1].requester: mails nobody, because only tokens of auth.oidc", "gates[1].tool:", "gates[2].tool:",
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := load(t, config.Source{File: write(t, auth+"notify:\n"+tt.routes+cmp.Or(tt.gates, gates)), Callers: true})
			got := config.NotifyWarnings(c)
			for i, want := range tt.want {
				if i >= len(got) || !strings.Contains(got[i], want) {
					t.Fatalf("NotifyWarnings() = %q, want %q", got, tt.want)
				}
			}
			if len(got) != len(tt.want) {
				t.Errorf("NotifyWarnings() = %q, want %q", got, tt.want)
			}
		})
	}
	c := load(t, config.Source{File: write(t, "gates: [{tool: pay}]\n")})
	if got := config.NotifyWarnings(c); got != nil {
		t.Errorf("without routes: %q, want none", got)
	}
}
