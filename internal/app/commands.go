package app

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"a2a-server/internal/suggest"
)

// commands returns the program's root command with all its subcommands.
func (p *program) commands() *cobra.Command {
	root := &cobra.Command{Use: "a2a-server", SilenceErrors: true, SilenceUsage: true}
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { _ = p.help(c) }) // help, the command, returns it

	config := group(
		"config", "check or show the configuration",
		configured("check", "report all problems of the configuration", p.configCheck),
		configured("show", "print the whole configuration and where each value comes from", p.configShow),
	)
	root.AddCommand(
		p.serveCommand(),
		config,
		p.approvalsCommand(),
		p.tasksCommand(), p.callsCommand(), p.pushCommand(),
		p.sendCommand(), p.chatCommand(),
		p.contextCommand(),
		p.toolsCommand(),
		p.keysCommand(),
		p.signingCommand(),
		p.healthCommand(),
		&cobra.Command{Use: "version", Short: "print the version", RunE: func(*cobra.Command, []string) error { return p.version() }},
	)
	// Many people try --version first.
	asked := root.Flags().Bool("version", false, "print the version")
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		c.Short = "print a script that completes commands and flags in a shell"
	}
	settle(root)
	p.helpCommand(root) // it takes arguments
	ofRoot := root.RunE
	root.RunE = func(c *cobra.Command, args []string) error {
		if *asked && len(args) == 0 {
			return p.version()
		}
		return ofRoot(c, args)
	}
	return root
}

// group is a command that only has subcommands.
func group(use, short string, all ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short}
	c.AddCommand(all...)
	return c
}

// configured is a command that takes the flags of the configuration.
func configured(name, short string, run func(context.Context, *flags) error) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short}
	given := configFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error { return run(c.Context(), given) }
	return c
}

// serveCommand is serve.
func (p *program) serveCommand() *cobra.Command {
	start := false
	c := configured("serve", "serve until SIGINT or SIGTERM; SIGHUP reloads tools, secrets, gates and log.level", func(ctx context.Context, given *flags) error {
		given.init = start
		return p.serve(ctx, given)
	})
	c.Flags().BoolVar(&start, "init", false, "Begin with an empty store if the data folder had one and its file is missing.")
	return c
}

// settle makes c and its subcommands refuse arguments that they do not take.
func settle(c *cobra.Command) {
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

// takesPairs is the annotation of a command with arguments of the form key=value.
const takesPairs = "takes pairs"

// needsCommand refuses a command line that names no command.
func needsCommand(c *cobra.Command, args []string) error {
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	switch {
	case len(args) > 0 && slices.Contains(names, args[0]): // it comes after --
		return usage("%s comes after --, where no command is read; remove the --", args[0])
	case len(args) > 0 && c.HasParent():
		return usage("there is no command '%s %s'%s", c.Name(), args[0], suggest.DidYouMean(args[0], "", names))
	case len(args) > 0:
		return usage("there is no command %q%s", args[0], suggest.DidYouMean(args[0], "", names))
	case c.HasParent():
		return usage("%s takes one of %s", c.Name(), strings.Join(names, ", "))
	}
	return usage("no command given; 'a2a-server serve' starts the server")
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
	return usage("%s takes no %q%s", within(c), strings.Join(args, " "), how)
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
		where = within(c) + ": "
	}
	var unknown *pflag.NotExistError
	var empty *pflag.ValueRequiredError
	switch {
	case errors.As(err, &empty):
		return usage("%s--%s needs a value: %s", where, empty.GetFlag().Name, empty.GetFlag().Value.Type())
	case !errors.As(err, &unknown):
		return usage("%s%v", where, err)
	}
	dashes, name := "--", unknown.GetSpecifiedName()
	if short := unknown.GetSpecifiedShortnames(); short != "" {
		dashes = "-"
		name, _, _ = strings.Cut(short, "=")
		if c.Flags().Lookup(name) != nil {
			return usage("%sthere is no flag -%s; flags have two dashes: --%[2]s", where, name)
		}
	}
	meant := suggest.DidYouMean(name, "", known)
	if meant == "" && c.Annotations[takesPairs] != "" {
		meant = "; an argument of the tool has no dashes: " + name + "=VALUE"
	}
	return usage("%sthere is no flag %s%s%s", where, dashes, name, strings.Replace(meant, "mean ", "mean --", 1))
}

// within returns the name of c below the program's.
func within(c *cobra.Command) string {
	return strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
}

// helpCommand gives root cobra's help command, with our text and our errors.
func (p *program) helpCommand(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	c, _, _ := root.Find([]string{"help"}) // it is there
	c.Short, c.Long, c.Run = "list the commands, or describe one", "", nil
	c.RunE = func(c *cobra.Command, args []string) error {
		about, left, err := c.Root().Find(args)
		if err != nil || len(left) > 0 {
			return usage("there is no help for %q", strings.Join(args, " "))
		}
		return p.help(about)
	}
}

// leaves returns the subcommands of c that do something, in order.
func leaves(c *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, sub := range c.Commands() {
		switch {
		case sub.Hidden:
		case sub.HasSubCommands() && sub.Name() != "completion":
			all = append(all, leaves(sub)...)
		default:
			all = append(all, sub)
		}
	}
	return all
}
