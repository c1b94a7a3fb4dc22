package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/cmd/a2a-server/internal/toolset"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/functiontool"
)

// inspect returns the tools of a server's configuration.
func inspect(ctx context.Context, c testserver.Config) (*toolset.Inventory, error) {
	conf, err := configuration(c)
	if err != nil {
		return nil, err
	}
	return toolset.Inspect(ctx, toolset.Config{Operator: conf, Environment: c.Environment, Tools: c.Tools, DefaultTools: c.DefaultTools, Log: c.Log})
}

// configuration reads the configuration of a server.
func configuration(c testserver.Config) (*config.Config, error) {
	return config.Load(config.Source{File: c.File, Environment: c.Environment, Flags: c.Set})
}

// TestInspect shows each tool with where it comes from and what asks about it.
func TestInspect(t *testing.T) {
	t.Parallel()
	c, file := configured(t, `approve_tools: [echo]
gates:
  - {name: all, tool: "r*"}
tools:
  - {command: run, description: x, run: [sh]}
  - command: read
    description: x
    run: [sh]
    approve: true
  - {command: free, description: x, run: [sh], approve: false}
  - {builtin: demo}
  - {mcp: gone, command: [/no/such/program], only: [a]}
`)
	c.Tools = load(t, nil).Tools[:0]
	in, err := inspect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tl := range in.Tools {
		line := fmt.Sprintf("%s %s", tl.Name, tl.Origin)
		for _, g := range tl.Gates {
			line += fmt.Sprintf("; %s %s %s", g.Action, g.Why, g.Place())
		}
		got = append(got, strings.ReplaceAll(line, filepath.Dir(file)+"/", ""))
	}
	want := []string{
		"run command run (a2a-server.yaml:5); ask gate all a2a-server.yaml:3; ask default of command a2a-server.yaml:5",
		"read command read (a2a-server.yaml:6); ask gate all a2a-server.yaml:3; ask approve a2a-server.yaml:9",
		"free command free (a2a-server.yaml:10)",
		"echo builtin demo (a2a-server.yaml:11); ask approve_tools a2a-server.yaml:1",
		"stream builtin demo (a2a-server.yaml:11)",
		"transfer_money builtin demo (a2a-server.yaml:11); ask the tool ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if len(in.Problems) != 1 || in.Problems[0].Origin.Entry != "gone" || in.Problems[0].Origin.Line != 12 || !strings.Contains(in.Problems[0].Problem, "/no/such/program") {
		t.Errorf("the problems are %v, want only that a server is down", in.Problems)
	}
}

// TestInspectDocument shows that an operation that cannot be served is a problem of its
// entry, and that a server starts with the others.
func TestInspectDocument(t *testing.T) {
	t.Parallel()
	c, file := configured(t, `tools:
  - openapi: pets
    spec: pets.json
    server: https://pets.example.com
    only: ["*"]
`)
	rewrite(t, filepath.Join(filepath.Dir(file), "pets.json"), `{"openapi": "3.0.3", "paths": {"/pets": {"get": {"operationId": "list"}},
		"/photo": {"put": {"operationId": "photo", "requestBody": {"content": {"image/png": {}}}}}}}`)
	in, err := inspect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Tools) != 1 || in.Tools[0].Name != "pets_list" {
		t.Errorf("the tools are %v, want pets_list", in.Tools)
	}
	const want = `openapi pets (a2a-server.yaml:2): operation "photo" (PUT /photo) is not offered: /paths/~1photo/put/requestBody/content: `
	if got := strings.ReplaceAll(fmt.Sprint(in.Problems), filepath.Dir(file)+"/", ""); len(in.Problems) != 1 || !strings.Contains(got, want) {
		t.Errorf("the problems are %s, want one with %s", got, want)
	}
	if in := start(t, c); in.skills(t) != "pets_list" {
		t.Errorf("the server has the skills %s", in.skills(t))
	}
}

// TestInspectGo shows the gates that tools given in Go declare, what takes their effect
// away, and that no toolset can break the inventory.
func TestInspectGo(t *testing.T) {
	t.Parallel()
	type none struct{}
	make1 := func(c functiontool.Config) tool.Tool {
		c.Description = "x"
		return functiontool.Must(functiontool.New(c, func(tool.Context, none) (string, error) { return "", nil }))
	}
	gate := func(agent.ReadonlyContext, map[string]any) (bool, error) { return true, nil }
	for name, one := range map[string]struct{ file, want string }{
		"the tools' own": {"tools: []\n", "free allow false; always ask false; some ask true"},
		"gates ignored":  {"tools: []\ndeclared_gates: ignore\n", "free allow false; always allow false; some allow false"},
		"allowed":        {"tools: []\ngates: [{tool: always, action: allow}, {tool: \"s*\", action: allow}]\n", "free allow false; always allow false; some ask true"},
		"denied":         {"tools: []\ngates: [{tool: \"*\", action: deny}, {tool: some}]\n", "free deny false; always deny false; some deny false"},
		"asked":          {"tools: []\ngates: [{tool: some}]\n", "free allow false; always ask false; some ask false"},
	} {
		c, _ := configured(t, one.file)
		c.Tools = []tool.Toolset{
			tool.NewToolset("mine", make1(functiontool.Config{Name: "free"}), make1(functiontool.Config{Name: "always", RequireApproval: true}), make1(functiontool.Config{Name: "some", Gate: gate})),
			badSet{},
			tool.NewToolset("again", make1(functiontool.Config{Name: "free"})),
		}
		in, err := inspect(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range in.Tools[:3] {
			got = append(got, fmt.Sprintf("%s %s %t", in.Tools[i].Name, in.Tools[i].Decision, in.Tools[i].Sometimes))
		}
		if got := strings.Join(got, "; "); got != one.want {
			t.Errorf("%s: %s, want %s", name, got, one.want)
		}
		problems := fmt.Sprint(in.Problems)
		for _, want := range []string{"panicked: no tools today", "tool free: there is another one of that name"} {
			if !strings.Contains(problems, want) {
				t.Errorf("%s: the problems have no %q: %s", name, want, problems)
			}
		}
	}
}

// badSet is a toolset that panics.
type badSet struct{}

func (badSet) Name() string                                     { return "bad" }
func (badSet) Tools(agent.ReadonlyContext) ([]tool.Tool, error) { panic("no tools today") }

// TestInspectErrors shows that what keeps a server from starting is an error.
func TestInspectErrors(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"value": "listen: nowhere\n", "gate of no tool": "tools: []\ngates: [{tool: nope}]\n",
		"no such spec": "tools: [{openapi: pets, spec: nope.yaml, server: \"https://pets.example.com\", only: [\"*\"]}]\n",
	} {
		c, _ := configured(t, file)
		in, err := inspect(t.Context(), c)
		var wrong *config.Error
		if in != nil || !errors.As(err, &wrong) {
			t.Errorf("%s: Inspect() = %v, %v", name, in, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, _ := configured(t, "tools: [{mcp: slow, command: [/bin/sleep, \"600\"], only: [a]}]\n")
	if _, err := inspect(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted Inspect returns %v", err)
	}
}
