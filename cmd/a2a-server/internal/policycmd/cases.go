package policycmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/toolset"
	"a2a-server/internal/catalog"
	"a2a-server/internal/lists"
	"a2a-server/internal/setting"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// expectation is a case of a file of expectations.
type expectation struct {
	name   string
	line   int
	call   catalog.TrialCall
	action approval.Action
	rules  []string // that decide; nil: any
	fewest int      // people who have to approve; 0: any number
	people []string // the same for each need, in words; nil: any
}

const testHelp = `FILE has a list of cases:

  cases:
    - tool: transfer_money
      args: {amount: 20000, to: bob}
      caller: {subject: "corp:alice", roles: [requester]}
      expect: {action: ask, rules: [big-transfer, tool], people: 2}

rules are the gates that decide, in any order; the tool's own gate is "tool". people is how
many people have to approve at least, or each need as in [2 of role finance, 1 of role legal].
Exit codes: 0 all cases are as expected, 1 some are not, 2 a file is wrong.
`

func test(p *cli.Program, try try) *cobra.Command {
	c := &cobra.Command{Use: "test FILE", Short: "judge the calls of a file, and compare with what it expects", Long: testHelp}
	cli.Takes(c, "", "the name of a file of cases")
	given := cli.ConfigFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		cases, err := read(args[0])
		if err != nil {
			return err
		}
		var failed []string
		if err := try(c.Context(), given, func(ctx context.Context, s *toolset.State) error {
			for _, e := range cases {
				if why := e.run(ctx, s); why != "" {
					failed = append(failed, fmt.Sprintf("%s:%d: %s: %s", visible.Line(args[0]), e.line, visible.Line(e.name), visible.Line(why)))
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if len(failed) > 0 {
			return cli.Exit(cli.ExitFailure, fmt.Sprintf("%d of %d cases are not as expected:\n%s", len(failed), len(cases), strings.Join(failed, "\n")))
		}
		return p.Printf("%d cases are as expected\n", len(cases))
	}
	return c
}

// run judges the call, and returns how the result differs; "": it is as expected.
func (e *expectation) run(ctx context.Context, s *toolset.State) string {
	got, err := s.Explain(ctx, e.call)
	if err != nil {
		return err.Error()
	}
	rules := got.Decisive()
	slices.Sort(rules)
	fewest, people := got.Merged.Voters()
	if got.Action != approval.ActionAsk {
		fewest, people = 0, nil
	}
	switch {
	case got.Action != e.action:
		return fmt.Sprintf("is %s, by %s; expected %s", got.Action, list(rules), e.action)
	case e.rules != nil && !slices.Equal(rules, e.rules):
		return fmt.Sprintf("is %s by %s; expected by %s", got.Action, list(rules), list(e.rules))
	case e.fewest > 0 && e.fewest != fewest, e.people != nil && !slices.Equal(people, e.people):
		return fmt.Sprintf("needs people: %d (%s); expected %s", fewest, strings.Join(people, ", "), cmp.Or(strings.Join(e.people, ", "), fmt.Sprint(e.fewest)))
	}
	return ""
}

func list(names []string) string { return cmp.Or(strings.Join(names, ", "), "no gate") }

// read reads a file of cases.
func read(path string) ([]expectation, error) {
	if err := strictyaml.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Usage("policy test: there is no file %s", visible.Quote(path, 80))
	}
	r := &strictyaml.Report{File: visible.Line(path)}
	var cases []expectation
	if root, ok := r.Open(path); ok {
		var file struct{ Cases strictyaml.Node }
		root.Decode(&file)
		items, _ := file.Cases.Items("a list of cases", "; begin each with a dash, as in - tool: transfer_money")
		cases = lists.Map(items, readCase)
		if len(items) == 0 && r.Count() == 0 {
			root.Add("has no cases")
		}
	}
	if r.Count() == 0 {
		return cases, nil
	}
	return nil, cli.Exit(cli.ExitUsage, "the file of cases is wrong:\n"+strings.Join(lists.Map(r.Problems(), strictyaml.Problem.String), "\n"))
}

// readCase reads a case.
func readCase(n strictyaml.Node) expectation {
	e := expectation{line: n.Place().Line, call: catalog.TrialCall{Args: map[string]any{}}}
	var c struct {
		Name                       string
		Tool, Args, Caller, Expect strictyaml.Node
	}
	if !n.Decode(&c) {
		return e
	}
	e.call.Tool, _ = c.Tool.Text()
	e.name = cmp.Or(c.Name, "the call of "+e.call.Tool)
	if c.Args.IsMapping() {
		object, err := strictjson.Canonical(c.Args.JSON())
		if err == nil {
			e.call.Args, err = tool.DecodeArgs(object)
		}
		if err != nil {
			c.Args.Add("%v", err)
		}
	} else if !c.Args.Missing() {
		c.Args.Expected("a mapping", "")
	}
	var by struct {
		Subject, Tenant string
		Roles, Chain    []string
	}
	if !c.Caller.Missing() {
		c.Caller.Decode(&by)
	}
	e.call.By = auth.Trial(by.Subject, by.Tenant, by.Roles, by.Chain)
	var want struct {
		Action strictyaml.Node
		Rules  []string
		People strictyaml.Node
	}
	if !c.Expect.Decode(&want) {
		return e
	}
	if _, one := want.People.Scalar(); one {
		want.People.Into(setting.Count(&e.fewest, 1, approval.MaxPeople))
	} else if !want.People.Missing() {
		e.people = want.People.Texts()
	}
	if want.Action.Null() {
		want.Action.Expected("ask, allow or deny", "")
	} else {
		want.Action.Into(setting.Choice(&e.action, "an action", approval.ActionAsk, approval.ActionAllow, approval.ActionDeny))
	}
	slices.Sort(want.Rules)
	e.rules = want.Rules
	return e
}
