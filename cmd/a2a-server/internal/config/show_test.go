package config_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/golden"
)

func show(t testing.TB, c *config.Config) string {
	t.Helper()
	var out bytes.Buffer
	if err := config.Show(&out, c); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestShow(t *testing.T) {
	t.Parallel()
	path := write(t, `listen: 127.0.0.1:1
agent:
  description: |
    Says "hello",
    then # stops.
limits: {task: 2MiB, read_timeout: 90s}
gates:
  - name: all deletions
    tool: delete_*
    allowed: [approve, reject]
    destructive: true
    risk: high
    mask: [/path, "/a,b"]
    notify: [ops]
  - tool: "*"
    expires: never
    on_reject: cancel
notify:
  - {name: ops, kind: slack, url: {file: slack.url}, all: true}
  - {name: mail, kind: smtp, smtp: {host: mx, user: u, password: {env: SMTP}, from: a@b.example}, to: [c@d.example], events: [resolved]}
`)
	got := show(t, load(t, config.Source{
		File:        path,
		Environment: []string{"A2A_SERVER_LOG_LEVEL=debug", "A2A_SERVER_ALLOWED_HOSTS=a,[::1]"},
		Flags:       map[string]string{"listen": "127.0.0.1:2", "planner.kind": "direct"},
	}))
	golden.File(t, filepath.Join("testdata", "show.yaml"), strings.ReplaceAll(got, filepath.Dir(path), "/etc/a2a"))
}

func TestShowRoundTrip(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text string }{
		{"defaults", ""},
		{"texts", `agent: {name: " a: b # c ", description: "\u2028\ufeff\t\n- 'x' \\ \"y\" null ~ \U0010ffff"}` + "\ndata: 'null'\nstore: bolt:a:b\n"},
		{"words that YAML knows", "data: 'NULL'\nagent: {name: 'yes:', description: '~'}\n"},
		{"lists", "allowed_hosts: [a, '[::1]', 127.0.0.1]\nallowed_origins: ['http://a:81', 'http://[::1]:8']\n"},
		{"numbers", "limits: {body: 1234567, memory: 1GiB, grace: 1h0m1s, plan_timeout: 1h, tool_timeout: 1.5ms, per_caller: 10}\n"},
		{"deadlines", "deadlines: {expires: 720h, on_expiry: cancel}\ngates: [{tool: a}, {tool: b, expires: never}, {tool: c, expires: 10m}]\n"},
		{"bools", "keywords: false\nidempotency: false\nhold_siblings: true\ninsecure_no_auth: true\nlisten: ':0'\ndeclared_gates: ignore\n"},
		{"gates", `gates: [{tool: "*", hint: "Do {a}?\n", on_reject: cancel, no_text: true, four_eyes: false}, {name: "- x", tool: x, action: deny, hint: "no: #"}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			roundTrip(t, load(t, config.Source{File: write(t, tt.text)}), false)
		})
	}
}

// roundTrip loads what Show writes. callers is as in [config.Source].
func roundTrip(t testing.TB, c *config.Config, callers bool) {
	t.Helper()
	text := show(t, c)
	again, err := config.Load(config.Source{File: write(t, text), Callers: callers})
	if err != nil {
		t.Fatalf("Load() of what Show() wrote = %v\n%s", err, text)
	}
	if diff := cmp.Diff(c, again, values()); diff != "" {
		t.Errorf("shown and loaded again (-want +got):\n%s\n%s", diff, text)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("disk full")

func TestShowFails(t *testing.T) {
	t.Parallel()
	if err := config.Show(full{}, load(t, config.Source{})); !errors.Is(err, errFull) {
		t.Errorf("Show() = %v, want %v", err, errFull)
	}
}
