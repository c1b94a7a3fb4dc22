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
	"a2a-server/internal/app/cli"
	"a2a-server/internal/lists"
	"a2a-server/internal/setting"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/toolset"
	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// expectation is a case of a file of expectations.
type expectation struct {
	name   string
	line   int
	call   toolset.TrialCall
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

func test(p *cli.Program, try Try) *cobra.Command {
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
		_, err = fmt.Fprintf(p.Stdout, "%d cases are as expected\n", len(cases))
		return err
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
		fields, _ := root.Fields("cases")
		items, _ := fields.Get("cases").Items("a list of cases", "; begin each with a dash, as in - tool: transfer_money")
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
	e := expectation{line: n.Place().Line, call: toolset.TrialCall{Args: map[string]any{}}}
	f, ok := n.Fields("name", "tool", "args", "caller", "expect")
	if !ok {
		return e
	}
	e.call.Tool, _ = f.Get("tool").Text()
	e.name = "the call of " + e.call.Tool
	if !f.Get("name").Missing() {
		e.name, _ = f.Get("name").Text()
	}
	if args := f.Get("args"); !args.Missing() {
		object, err := strictjson.Canonical(args.Object())
		if err == nil {
			e.call.Args, err = tool.DecodeArgs(object)
		}
		if err != nil {
			args.Add("%v", err)
		}
	}
	e.call.By = auth.Anonymous()
	if who := f.Get("caller"); !who.Missing() {
		caller, _ := who.Fields("subject", "tenant", "roles", "chain")
		e.call.By = auth.Trial(optionalText(caller.Get("subject")), optionalText(caller.Get("tenant")), texts(caller.Get("roles")), texts(caller.Get("chain")))
	}
	want, ok := f.Get("expect").Fields("action", "rules", "people")
	if !ok {
		return e
	}
	if _, one := want.Get("people").Scalar(); one {
		want.Get("people").Into(setting.Count(&e.fewest, 1, approval.MaxPeople))
	} else {
		e.people = texts(want.Get("people"))
	}
	if action := want.Get("action"); action.Null() {
		action.Expected("ask, allow or deny", "")
	} else {
		action.Into(setting.Choice(&e.action, "an action", approval.ActionAsk, approval.ActionAllow, approval.ActionDeny))
	}
	if rules := want.Get("rules"); !rules.Missing() {
		e.rules = append([]string{}, texts(rules)...)
		slices.Sort(e.rules)
	}
	return e
}

// optionalText returns a text, or "" for a missing node.
func optionalText(n strictyaml.Node) string {
	if n.Missing() {
		return ""
	}
	text, _ := n.Text()
	return text
}

// texts returns a list of texts; nil for a missing node.
func texts(n strictyaml.Node) (all []string) {
	if n.Missing() {
		return nil
	}
	items, _ := n.Items("a list", "; write it as [one, two]")
	for _, item := range items {
		text, _ := item.Text()
		all = append(all, text)
	}
	return all
}
