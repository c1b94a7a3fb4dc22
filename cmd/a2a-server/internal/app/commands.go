package app

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"a2a-server/cmd/a2a-server/internal/approvals"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/cmd/a2a-server/internal/debug"
	"a2a-server/cmd/a2a-server/internal/keys"
	"a2a-server/cmd/a2a-server/internal/notifications"
	"a2a-server/cmd/a2a-server/internal/policycmd"
	"a2a-server/cmd/a2a-server/internal/push"
	"a2a-server/cmd/a2a-server/internal/storecmd"
	"a2a-server/cmd/a2a-server/internal/tasks"
	"a2a-server/internal/lists"
	"a2a-server/internal/suggest"
)

// commands returns the program's root command with all its subcommands.
func commands(p *cli.Program) *cobra.Command {
	root := &cobra.Command{Use: "a2a-server", SilenceErrors: true, SilenceUsage: true}
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { _ = help(p, c) }) // help, the command, returns it

	config := cli.Group(
		"config", "check or show the configuration",
		cli.Configured("check", "report all problems of the configuration", func(_ context.Context, given *cli.Flags) error { return configCheck(p, given) }),
		cli.Configured("show", "print the whole configuration and where each value comes from", func(_ context.Context, given *cli.Flags) error { return configShow(p, given) }),
	)
	contexts := cli.Group("context", "name servers, and choose the one that commands ask", contextList(p), contextUse(p), contextSet(p), contextShow(p))
	signing := cli.Group("signing", "make new keys for the server's own signatures", signingRotate(p))
	tools := cli.Group("tools", "list, show or call the tools of the local configuration", toolsList(p), toolsShow(p), toolsCall(p))
	groups := []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Start: run a server, and talk to it", []*cobra.Command{serveCommand(p), sendCommand(p), chatCommand(p), config, contexts, versionCommand(p)}},
		{"Decide: approvals, and the tasks that wait for them", []*cobra.Command{approvals.Command(p), tasks.Command(p, tasksWatch(p)), tasks.CallsCommand(p)}},
		{"Operate: look after a server", []*cobra.Command{healthCommand(p), reloadCommand(p), keys.Command(p), signing, storecmd.Command(p), push.Command(p), notifications.Command(p), debug.Command(p), debug.LogCommand(p)}},
		{"Develop: try tools and gates", []*cobra.Command{tools, policycmd.Command(p, toolsetOf)}},
	}
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID(groups[0].title)
	root.SetCompletionCommandGroupID(groups[0].title)
	// Many people try --version first.
	asked := root.Flags().Bool("version", false, "print the version")
	completionCommand(p, root)
	settle(root)
	helpCommand(p, root) // it takes arguments
	ofRoot := root.RunE
	root.RunE = func(c *cobra.Command, args []string) error {
		if *asked && len(args) == 0 {
			return version(p, "")
		}
		return ofRoot(c, args)
	}
	return root
}

// bashWords ends the completion for bash. It finds the words of the line without the package
// bash-completion, too.
const bashWords = `
__a2a-server_init_completion()
{
    if declare -F _get_comp_words_by_ref >/dev/null; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local line=${COMP_LINE:0:COMP_POINT}
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    cword=$((${#words[@]} - 1))
    cur=${words[cword]} prev=${words[cword - 1]}
}
`

// completionCommand gives root cobra's completion command, for a bash without packages too.
func completionCommand(p *cli.Program, root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	c, _, _ := root.Find([]string{"completion"}) // it was added just now
	c.Short = "print a script that completes commands and flags in a shell"
	bash, _, _ := c.Find([]string{"bash"}) // likewise
	script := bash.RunE
	bash.RunE = func(c *cobra.Command, args []string) error {
		if err := script(c, args); err != nil {
			return err
		}
		_, err := io.WriteString(p.Stdout, bashWords)
		return err
	}
}

// serveCommand is serve.
func serveCommand(p *cli.Program) *cobra.Command {
	start, demo := false, false
	c := cli.Configured("serve", "serve until SIGINT or SIGTERM; SIGHUP reloads tools, secrets, gates and log.level", func(ctx context.Context, given *cli.Flags) error {
		given.Init, given.Demo = start, demo
		return serve(ctx, p, given)
	})
	c.Flags().BoolVar(&start, "init", false, "Begin with an empty store if the data folder had one and its file is missing.")
	c.Flags().BoolVar(&demo, "demo", false, "Serve a demo, with a scripted model that reads plain words, in ./demo-data. It takes no configuration.")
	return c
}

// settle makes c and its subcommands refuse arguments that they do not take, and list their flags as they are added.
func settle(c *cobra.Command) {
	c.Flags().SortFlags = false
	for _, sub := range c.Commands() {
		settle(sub)
	}
	switch {
	case c.HasSubCommands():
		c.Args, c.RunE = cobra.ArbitraryArgs, needsCommand
	case c.Args == nil, c.Parent().Name() == "completion": // whose own check has another message
		c.Args = takesNone
	}
}

// needsCommand refuses a command line that names no command.
func needsCommand(c *cobra.Command, args []string) error {
	names := lists.Map(c.Commands(), (*cobra.Command).Name)
	switch {
	case len(args) > 0 && slices.Contains(names, args[0]): // it comes after --
		return cli.Usage("%s comes after --, where no command is read; remove the --", args[0])
	case len(args) > 0 && c.HasParent():
		return cli.Usage("there is no command '%s %s'%s", c.Name(), args[0], suggest.DidYouMean(args[0], "", names))
	case len(args) > 0:
		return cli.Usage("there is no command %q%s", args[0], suggest.DidYouMean(args[0], "", names))
	case c.HasParent():
		return cli.Usage("%s takes one of %s", c.Name(), strings.Join(names, ", "))
	}
	return cli.Exit(cli.ExitUsage, "no command given\n\n"+firstCommands)
}

// takesNone refuses arguments that are not flags.
func takesNone(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	how := ""
	if c.Flags().Lookup("listen") != nil {
		how = ": values are given with flags, such as --listen 127.0.0.1:8080"
	}
	return cli.Usage("%s takes no %q%s", cli.Within(c), strings.Join(args, " "), how)
}

// flagError describes an error in a flag.
func flagError(c *cobra.Command, err error) error {
	if c.HasSubCommands() && c.Flags().NArg() > 0 {
		return needsCommand(c, c.Flags().Args()) // the flag belongs to a misspelled command
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	where := ""
	if c.HasParent() {
		where = cli.Within(c) + ": "
	}
	var unknown *pflag.NotExistError
	var empty *pflag.ValueRequiredError
	switch {
	case errors.As(err, &empty):
		return cli.Usage("%s--%s needs a value: %s", where, empty.GetFlag().Name, empty.GetFlag().Value.Type())
	case !errors.As(err, &unknown):
		return cli.Usage("%s%v", where, err)
	}
	dashes, name := "--", unknown.GetSpecifiedName()
	if short := unknown.GetSpecifiedShortnames(); short != "" {
		dashes = "-"
		name, _, _ = strings.Cut(short, "=")
		if c.Flags().Lookup(name) != nil {
			return cli.Usage("%sthere is no flag -%s; flags have two dashes: --%[2]s", where, name)
		}
	}
	for _, k := range config.Keys() {
		if k.Flag() == name {
			return cli.Usage("%sthere is no flag --%s; set %s in the configuration file, or the variable %s", where, name, k.Name, k.Variable())
		}
	}
	meant := suggest.DidYouMean(name, "", known)
	if meant == "" && c.Annotations[cli.TakesPairs] != "" {
		meant = "; an argument of the tool has no dashes: " + name + "=VALUE"
	}
	return cli.Usage("%sthere is no flag %s%s%s", where, dashes, name, strings.Replace(meant, "mean ", "mean --", 1))
}

// helpCommand gives root cobra's help command, with our text and our errors.
func helpCommand(p *cli.Program, root *cobra.Command) {
	root.InitDefaultHelpCmd()
	c, _, _ := root.Find([]string{"help"}) // it is there
	c.Short, c.Long, c.Run = "list the commands, or describe one", "", nil
	c.RunE = func(c *cobra.Command, args []string) error {
		about, left, err := c.Root().Find(args)
		if err != nil || len(left) > 0 {
			return cli.Usage("there is no help for %q", strings.Join(args, " "))
		}
		return help(p, about)
	}
}

// leaves returns the subcommands of c that do something, in order; of the group, unless that is "".
func leaves(c *cobra.Command, group string) []*cobra.Command {
	var all []*cobra.Command
	for _, sub := range c.Commands() {
		switch {
		case sub.Hidden, group != "" && sub.GroupID != group:
		case sub.HasSubCommands() && sub.Name() != "completion":
			all = append(all, leaves(sub, "")...)
		default:
			all = append(all, sub)
		}
	}
	return all
}
