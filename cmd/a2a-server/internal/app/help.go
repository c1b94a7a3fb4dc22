package app

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	a2aserver "a2a-server"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/internal/terminal"
)

// helpWidth is the columns of the help.
const helpWidth = 80

// firstCommands is the answer to a command line without a command.
const firstCommands = `  serve              start the server
  send MESSAGE       send a message such as "/echo hello", and follow its task
  approvals list     list the calls that wait for a decision
  approvals approve  let a call run, and see its result
  tools list         list the tools of the local configuration, and their gates
  help serve         list the flags of the server

'a2a-server help' lists all commands, 'a2a-server help COMMAND' describes one.`

const helpHead = `a2a-server serves the A2A protocol: it takes messages, runs tools, and asks a person
before it runs those that need approval.

Usage: a2a-server COMMAND [flags]
`

const helpTail = `
'a2a-server help serve' lists the flags. Each has a key in the configuration file and
an environment variable too; a flag overrides a variable, and a variable the file.
The file is named by --config, or else by A2A_SERVER_CONFIG. 'a2a-server config show'
lists all keys; the variable of limits.grace is A2A_SERVER_LIMITS_GRACE.

Exit codes:
`

// help prints the list of commands, or the flags of a command.
func help(p *cli.Program, c *cobra.Command) error {
	var b strings.Builder
	switch {
	case !c.HasParent():
		b.WriteString(helpHead)
		for _, g := range c.Groups() {
			b.WriteString("\n" + g.Title + "\n")
			listed(&b, leaves(c, g.ID), cli.Within)
		}
		b.WriteString(helpTail + cli.ExitCodes("  %2d  %s\n"))
	case c.HasSubCommands():
		fmt.Fprintf(&b, "a2a-server %s COMMAND: %s\n\n", cli.Within(c), c.Short)
		listed(&b, c.Commands(), (*cobra.Command).Name)
	default:
		fmt.Fprintf(&b, "a2a-server %s: %s\n\nUsage: %s\n", cli.Within(c), c.Short, c.UseLine())
		if c.Example != "" {
			b.WriteString("Example: " + c.Example + "\n")
		}
		if c.Long != "" {
			b.WriteString("\n" + c.Long)
		}
		more := false
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			switch {
			case f.Name == "help" || f.Hidden:
			case cli.IsKey(f) && c.Name() != "serve":
				more = true
			default:
				describe(&b, f)
			}
		})
		if more {
			b.WriteString("\nand the flags of the configuration: 'a2a-server help serve' lists them\n")
		}
	}
	return p.Printf("%s", b.String())
}

// listed prints names and descriptions of commands in two columns.
func listed(b *strings.Builder, commands []*cobra.Command, name func(*cobra.Command) string) {
	longest := 0
	for _, c := range commands {
		longest = max(longest, len(name(c)))
	}
	for _, c := range commands {
		left := fmt.Sprintf("  %-*s  ", longest, name(c))
		for _, line := range terminal.Wrap(c.Short, helpWidth-len(left)) {
			b.WriteString(left + strings.TrimRight(line, " ") + "\n")
			left = strings.Repeat(" ", len(left))
		}
	}
}

// describe prints a flag and its description, wrapped to the width.
func describe(b *strings.Builder, f *pflag.Flag) {
	const indent = "        "
	fmt.Fprintf(b, "\n  --%s", f.Name)
	value, about := pflag.UnquoteUsage(f)
	if value != "" {
		fmt.Fprintf(b, " (%s)", value)
	}
	b.WriteByte('\n')
	for _, line := range terminal.Wrap(strings.Join(strings.Fields(about), " "), helpWidth-len(indent)) {
		b.WriteString(indent + strings.TrimRight(line, " ") + "\n")
	}
}

// versionCommand prints the version.
func versionCommand(p *cli.Program) *cobra.Command {
	c := &cobra.Command{Use: "version", Short: "print the version, its commit and the commit's date"}
	as := cli.OutputFlag(c)
	c.RunE = func(*cobra.Command, []string) error { return version(p, *as) }
	return c
}

func version(p *cli.Program, as cli.Form) error {
	b := a2aserver.ThisBuild()
	made := runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH
	if b.Commit != "" {
		made = "commit " + b.Commit[:min(12, len(b.Commit))] + " of " + b.Date + ", " + made
	}
	about := struct {
		a2aserver.Build
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{b, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	return p.Show(as, about, fmt.Sprintf("a2a-server %s (%s)\n", b.Version, made))
}
