package e2e_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	a2aserver "a2a-server"
	"a2a-server/approval"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Four eyes with a local user who is no known person, or one who has to be seen first, is a warning.
func TestFourEyesWithoutAPerson(t *testing.T) {
	t.Parallel()
	const (
		noPerson = "auth.socket[0].subject: duty has no person, so under four_eyes (gate for transfer_money)"
		toSee    = `socket:duty is the person "proxy:alice", who counts for gate for transfer_money once`
	)
	for name, c := range map[string]struct {
		gate, user string
		want       string // the warning; "": none
	}{
		"no person":                   {"four_eyes: true", "subject: duty, roles: [approver]", noPerson},
		"no person and default roles": {"four_eyes: true", "subject: duty", noPerson},
		"a name of the operator":      {"four_eyes: true", "subject: duty, person: alice", ""},
		"a name of a login":           {"four_eyes: true", "subject: duty, person: 'proxy:alice'", toSee},
		"with votes":                  {"people: 2", "subject: duty, person: 'proxy:alice'", toSee},
		"a user who may not decide":   {"four_eyes: true", "subject: duty, roles: [viewer]}, {uid: 54322, subject: d, person: d", ""},
		"no four eyes":                {"expires: 1h", "subject: duty", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf, _ := configured(t, "auth: {tenant: acme, default_roles: [approver], proxy: {header: X-User, from: [127.0.0.1]}, socket: [{uid: 54321, "+c.user+"}]}\n"+doorFor("uid: 54321")+"gates: [{tool: transfer_money, "+c.gate+"}]\n")
			log := newLogs(t)
			conf.NoListen, conf.Log = true, zerolog.New(log)
			if err := testserver.Check(conf); err != nil {
				t.Fatal(err)
			}
			if all := log.all(); c.want == "" && len(all) > 0 || c.want != "" && (len(all) != 1 || len(log.saying(c.want)) != 1) {
				t.Errorf("the log says %v; want the warning %q", all, c.want)
			}
		})
	}
}

// A gate that is about no tool is an error that says which tool was meant; one that may
// be about a tool that is to come is a warning.
func TestGateOfNoTool(t *testing.T) {
	t.Parallel()
	static := load(t, nil).Tools[0]
	dynamic := tool.Filter(static, func(agent.ReadonlyContext, tool.Tool) bool { return true })
	inGo := func(name string) *approval.Policy {
		p, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{{Tool: name}}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, c := range map[string]struct {
		gates    string // a file; "": none
		policy   *approval.Policy
		tools    tool.Toolset
		want     []string // what the error says
		warnings []string
	}{
		"every kind of name":  {gates: "[{tool: echo}, {tool: transfer_*}, {tool: \"*\"}]", tools: static},
		"misspelled":          {gates: "[{tool: ehco}]", tools: static, want: []string{`:1:`, `gates[0].tool: there is no tool "ehco"; did you mean echo?`}},
		"all of them":         {gates: "[{tool: ehco}, {tool: paint}]", tools: static, want: []string{`gates[0].tool: `, `gates[1].tool: there is no tool "paint"`}},
		"a pattern":           {gates: "[{tool: pay_*}]", tools: static, warnings: []string{`no tool matches "pay_*"`}},
		"a tool to come":      {gates: "[{tool: ehco}]", tools: dynamic, warnings: []string{`there is no tool "ehco"; did you mean echo?`}},
		"a policy in Go":      {policy: inGo("ehco"), tools: static, want: []string{`gate 0 of the policy: there is no tool "ehco"; did you mean echo?`}},
		"not those of a file": {gates: "[{tool: ehco}]", policy: inGo("echo"), tools: static},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := newLogs(t)
			config := testserver.Config{Policy: c.policy, Tools: []tool.Toolset{c.tools}, NoListen: true, Set: map[string]string{"store": "memory", "data": t.TempDir()}, Log: zerolog.New(log)}
			if c.gates != "" {
				config.File = filepath.Join(t.TempDir(), "config.yaml")
				rewrite(t, config.File, "gates: "+c.gates)
			}
			err := testserver.Check(config)
			if wrong := err != nil; wrong != (len(c.want) > 0) {
				t.Errorf("Check() = %v, want an error: %t", err, !wrong)
			}
			for _, want := range c.want {
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("Check() = %v, want it to say %s", err, want)
				}
			}
			if c.policy != nil && err != nil && !errors.Is(err, a2aserver.ErrConfig) {
				t.Errorf("Check() = %v, which is not ErrConfig", err)
			}
			for _, warning := range c.warnings {
				if len(log.saying(".tool: "+warning)) != 1 {
					t.Errorf("the log does not warn: %s", warning)
				}
			}
			if all := log.all(); len(all) != len(c.warnings) {
				t.Errorf("the log says %v, want only %q", all, c.warnings)
			}
			if s, err := testserver.New(config); err == nil {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if len(c.want) > 0 {
					t.Error("New takes what Check refuses")
				}
			}
		})
	}
}
