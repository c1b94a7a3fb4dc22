package config_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	a2aserver "a2a-server"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"a2a-server/approval"
	"a2a-server/cmd/a2a-server/internal/config"
)

// values compares configurations without where their values came from.
func values() cmp.Option {
	return cmp.Options{cmpopts.IgnoreUnexported(config.Config{}), cmpopts.EquateComparable(netip.Prefix{}), cmpopts.EquateEmpty()}
}

// load returns the configuration of s, which must be right.
func load(t testing.TB, s config.Source) *config.Config {
	t.Helper()
	c, err := config.Load(s)
	if err != nil {
		t.Fatalf("Load() = %v", err)
	}
	return c
}

func defaults() *config.Config {
	return &config.Config{
		Settings: a2aserver.Settings{
			Listen: "127.0.0.1:8080", Data: "./data", Store: "bolt",
			Log:         a2aserver.Log{Level: "info", Format: "auto"},
			Agent:       a2aserver.Agent{Name: "a2a-server", InputModes: []string{"text/plain", "application/json"}},
			Idempotency: true, Keywords: true, ProviderError: "pending",
			Versions: a2aserver.Versions{V03: true},
			Limits: a2aserver.Limits{
				Memory: 1 << 30, Body: 4 << 20, Task: 64 << 20, Connections: 16_384, Streams: 10_000, Turns: 2048, Queue: 10_000, PerCaller: 25, AuthFailures: 60,
				ReadTimeout: 30 * time.Second, ToolTimeout: 5 * time.Minute, PlanTimeout: 2 * time.Minute, Grace: 8 * time.Second,
			},
			Card:   a2aserver.Card{SecurityForm: "go", GRPC: true},
			Grants: a2aserver.Grants{SeenWithin: 72 * time.Hour},
			Push:   a2aserver.Push{Timeout: 15 * time.Second},
			UI:     a2aserver.UI{Enabled: true, SessionIdle: time.Hour, SessionLifetime: 12 * time.Hour},
		},
		Planner:       config.Planner{Kind: "direct", LLM: config.LLM{Context: 32_000, Steps: 25}},
		DeclaredGates: "ask",
		WaitingState:  approval.WaitsWorking, Deadlines: config.Deadlines{Expires: 168 * time.Hour, OnExpiry: approval.ExpiryRejects},
		TLS:   config.TLS{ClientAuth: "optional"},
		Auth:  config.Auth{Keys: config.APIKeys{Header: "X-API-Key"}, MTLS: config.MTLS{Subject: config.NoName}},
		Admin: config.Admin{Mode: "0600"},
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "# nothing\n", "---\n", "null\n", "\ufeff", "log:\nlimits:\ngates:\n", "gates: []\nallowed_hosts: []\n"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(defaults(), load(t, config.Source{File: write(t, text)}), values()); diff != "" {
				t.Errorf("Load() (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("no file", func(t *testing.T) {
		t.Parallel()
		if diff := cmp.Diff(defaults(), load(t, config.Source{}), values()); diff != "" {
			t.Errorf("Load() (-want +got):\n%s", diff)
		}
	})
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	file := "listen: 127.0.0.1:1\nlog: {level: warn}\nagent: {name: file}\nlimits: {body: 1MiB}\nallowed_hosts: [file]\n"
	env := []string{
		"A2A_SERVER_LISTEN=127.0.0.1:2", "A2A_SERVER_LOG_LEVEL=error", "A2A_SERVER_LIMITS_BODY=2MiB", "A2A_SERVER_CONFIG=other.yaml",
		"A2A_SERVER_ALLOWED_HOSTS=a, B,[::1]", "PATH=/bin", "A2A_SERVERLESS=1", "not a variable",
	}
	flags := map[string]string{"listen": "127.0.0.1:3", "allowed_origins": "https://a,https://b", "limits.queue": "100"}

	want := defaults()
	want.Listen = "127.0.0.1:3"
	want.Log.Level = "error"
	want.Agent.Name = "file"
	want.Limits.Body = 2 << 20
	want.Limits.Queue = 100
	want.AllowedHosts = []string{"a", "b", "[::1]"}
	want.AllowedOrigins = []string{"https://a", "https://b"}
	got := load(t, config.Source{File: write(t, file), Environment: env, Flags: flags})
	if diff := cmp.Diff(want, got, values()); diff != "" {
		t.Errorf("Load() (-want +got):\n%s", diff)
	}
}

// TestOverriddenIsChecked shows that a wrong value is reported although another layer
// overrides it, and that what depends on several values looks at the last.
func TestOverriddenIsChecked(t *testing.T) {
	t.Parallel()
	flags := map[string]string{"listen": "127.0.0.1:3"}
	if all := problems(t, config.Source{File: write(t, "listen: nowhere\n"), Flags: flags}); len(all.Problems) != 1 {
		t.Errorf("problems = %v, want the one of the file", all)
	}
	load(t, config.Source{File: write(t, "listen: 0.0.0.0:80\n"), Flags: flags})
	load(t, config.Source{File: write(t, "listen: 0.0.0.0:80\n"), Flags: map[string]string{"insecure_no_auth": "true"}})
}

// TestKubernetes shows that the variables by which a cluster tells of a service
// called a2a-server, or a2a-server-db, stop nobody.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	load(t, config.Source{Environment: []string{
		"A2A_SERVER_SERVICE_HOST=10.0.0.1", "A2A_SERVER_SERVICE_PORT=80", "A2A_SERVER_SERVICE_PORT_HTTP=80",
		"A2A_SERVER_PORT=tcp://10.0.0.1:80", "A2A_SERVER_PORT_80_TCP=tcp://10.0.0.1:80", "A2A_SERVER_PORT_80_TCP_PROTO=tcp",
		"A2A_SERVER_PORT_80_TCP_PORT=80", "A2A_SERVER_PORT_80_TCP_ADDR=10.0.0.1", "A2A_SERVER_DB_SERVICE_HOST=10.0.0.2",
		"A2A_SERVER_DB_PORT=udp://10.0.0.2:53", "A2A_SERVER_DB_PORT_53_UDP=udp://10.0.0.2:53",
	}})
	wrong := []string{
		"A2A_SERVER_ADMIN_PORT=9000", "A2A_SERVER_DB_SERVICE_PORT=9000", "A2A_SERVER_GRPC_PORT=:9000", "A2A_SERVER_GRPC_PORT_80_TCP=tcp://10.0.0.1:80",
		"A2A_SERVER_LISTEN_PORT=http://a", "A2A_SERVER_PORT=9000", "A2A_SERVER_PORTS=80", "A2A_SERVER_SERVICE_HOST=10.0.0.1",
	}
	all := problems(t, config.Source{Environment: append(wrong, "A2A_SERVER_X_PORT=tcp://10.0.0.1:80", "A2A_SERVER_X_SERVICE_PORT=80")}).Problems
	for i, line := range wrong {
		if name, _, _ := strings.Cut(line, "="); len(all) != len(wrong) || all[i].Key != name {
			t.Errorf("problems = %v, want one with each of %s", all, wrong)
			break
		}
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	got := load(t, config.Source{File: write(t, `
deadlines: {expires: 72h, on_expiry: keep}
declared_gates: ignore
notify:
  - {name: ops, kind: slack, url: {env: SLACK}}
  - {name: Jane.Doe-1_x, kind: slack, url: {env: JANE}}
gates:
  - name: deletions
    tool: delete_*
    hint: "Delete {path}?"
    expires: 30m
    on_expiry: cancel
    allowed: [approve, reject]
    four_eyes: false
    elsewhere: false
    destructive: true
    no_text: true
    on_reject: cancel
    risk: low
    mask: [/path, /users/*/name, /a~1b]
    notify: [ops, Jane.Doe-1_x]
  - tool: send
    expires: never
  - {tool: read, action: allow}
  - {tool: drop, action: deny, hint: Never., mask: [/a]}
`)})
	want := []approval.Gate{
		{
			Name: "deletions", Tool: "delete_*", Action: approval.ActionAsk, Hint: "Delete {path}?",
			Terms: approval.Terms{
				Expires: 30 * time.Minute, OnExpiry: approval.ExpiryCancels, Allowed: []approval.DecisionType{approval.Approve, approval.Reject},
				Destructive: true, NoText: true, CancelsTask: true,
				Risk: approval.RiskLow, Mask: []string{"/path", "/users/*/name", "/a~1b"}, Notify: []string{"ops", "Jane.Doe-1_x"},
			},
		},
		{Tool: "send", Action: approval.ActionAsk, Terms: approval.Terms{Expires: -1}},
		{Tool: "read", Action: approval.ActionAllow},
		{Tool: "drop", Action: approval.ActionDeny, Hint: "Never.", Terms: approval.Terms{Mask: []string{"/a"}}},
	}
	if diff := cmp.Diff(want, got.Gates); diff != "" {
		t.Errorf("Gates (-want +got):\n%s", diff)
	}
	if want := (config.Deadlines{Expires: 72 * time.Hour, OnExpiry: approval.ExpiryKeeps}); want != got.Deadlines {
		t.Errorf("Deadlines = %+v, want %+v", got.Deadlines, want)
	}
	if p, err := config.Policy(got); p == nil || err != nil {
		t.Errorf("Policy() = %v, %v", p, err)
	}
	if got.DeclaredGates != config.IgnoreDeclared {
		t.Errorf("Confirmation = %q", got.DeclaredGates)
	}
	got.Gates[0].Action = "aks"
	if _, err := config.Policy(got); err == nil {
		t.Error("Policy() of a wrong gate = nil, want an error")
	}
}

// Gates on which the A2A client may not decide are allowed when somebody else has a way to.
func TestDeciders(t *testing.T) {
	t.Parallel()
	const gates = "gates:\n  - {tool: a, four_eyes: true}\n  - {tool: b, elsewhere: true}\n  - {tool: c, approvers: {roles: [sre], subjects: [\"keys:bob\"], when: args.a in decider.roles}}\n"
	want := []approval.Gate{
		{Tool: "a", Action: approval.ActionAsk, Terms: approval.Terms{FourEyes: true}},
		{Tool: "b", Action: approval.ActionAsk, Terms: approval.Terms{Elsewhere: true}},
		{Tool: "c", Action: approval.ActionAsk, Terms: approval.Terms{Approvers: &approval.Approvers{Roles: []string{"sre"}, Subjects: []string{"keys:bob"}, When: "args.a in decider.roles"}}},
	}
	const keys = "auth:\n  keys: {file: keys.yaml}\n"
	const issuer = "auth:\n  oidc: [{name: corp, issuer: \"https://login.example.com\", audiences: [a], roles: {claim: groups, map: {sre: [%s]}}}]\n"
	callers, approvers := fmt.Sprintf(issuer, "requester"), fmt.Sprintf(issuer, "approver")
	for name, source := range map[string]config.Source{
		"an approver":                      {File: write(t, keys+"  socket: [{uid: 1, subject: bob, tenant: acme, roles: [approver]}]\n"+gates)},
		"an approver, by default":          {File: write(t, keys+"  tenant: acme\n  default_roles: [requester, approver]\n  socket: [{uid: 1, subject: bob}]\n"+gates)},
		"people of an issuer":              {File: write(t, approvers+gates)},
		"keys, which may be approvers'":    {File: write(t, keys+gates)},
		"a proxy's people":                 {File: write(t, "auth:\n  proxy: {header: X-User, from: [127.0.0.1], roles: {header: X-Groups, map: {sre: [approver]}}}\n"+gates)},
		"the program authenticates":        {File: write(t, gates), Callers: true},
		"an admin decides for anonymous":   {File: write(t, "auth: {socket: [{uid: 1, subject: bob, roles: [admin]}]}\ngates: [{tool: b, elsewhere: true}]\n")},
		"approvers who are the requesters": {File: write(t, keys+"gates: [{tool: c, approvers: {roles: [sre], subjects: [\"keys:bob\"], when: args.a in decider.roles}}]\n")},
	} {
		got := load(t, source).Gates
		want := slices.DeleteFunc(slices.Clone(want), func(g approval.Gate) bool {
			return len(got) == 1 && g.Tool != got[0].Tool
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: Gates (-want +got):\n%s", name, diff)
		}
	}
	for name, text := range map[string]string{
		"an approver without a tenant":         callers + "  socket: [{uid: 1, subject: bob, roles: [approver]}]\n" + gates,
		"a default tenant, and no approver":    callers + "  tenant: acme\n  default_roles: [requester]\n  socket: [{uid: 1, subject: bob}]\n" + gates,
		"nobody, and no local users":           callers + gates,
		"an approver, without authentication":  "auth: {socket: [{uid: 1, subject: bob, tenant: acme, roles: [approver]}]}\n" + gates,
		"an admin, and four eyes of anonymous": "auth: {socket: [{uid: 1, subject: bob, roles: [admin]}]}\ngates: [{tool: a, four_eyes: true}]\n",
	} {
		for _, p := range problems(t, config.Source{File: write(t, text)}).Problems {
			if !strings.HasPrefix(p.Key, "gates[") || !strings.HasPrefix(p.Problem, "no caller could decide: ") {
				t.Errorf("%s: %s", name, p)
			}
		}
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := filepath.Join(folder, "instructions.txt")
	file := filepath.Join(folder, "a2a-server.yaml")
	for path, text := range map[string]string{text: "Be brief.\n", file: "planner: {kind: llm, llm: {url: 'http://127.0.0.1:1', model: m, instructions: instructions.txt}}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	here, err := filepath.Abs("config.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		from config.Source
		want string
	}{
		{"beside the file", config.Source{File: file}, text},
		{"absolute in the environment", config.Source{File: file, Environment: []string{"A2A_SERVER_PLANNER_LLM_INSTRUCTIONS=" + here}}, here},
		{"below the working directory", config.Source{File: file, Flags: map[string]string{"planner.llm.instructions": "config.go"}}, here},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := load(t, tt.from).Planner.LLM.Instructions; got != tt.want {
				t.Errorf("Instructions = %q, want %q", got, tt.want)
			}
		})
	}
}
