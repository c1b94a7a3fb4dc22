package app

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/approvals"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/contexts"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/terminal"
	"a2a-server/internal/visible"
)

const contextHelp = `A context is a server with a credential, under a name. They are in contexts.yaml in the
folder a2a-server of your configuration (~/.config), which has no secrets: only where a token
or a key is.
`

func contextList(p *cli.Program) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "list the contexts; * marks the current one", Long: contextHelp}
	as := cli.OutputFlag(c)
	c.RunE = func(*cobra.Command, []string) error {
		all, _, err := contexts.Read(p)
		if err != nil {
			return err
		}
		out := struct {
			Current  string        `json:"current,omitempty"`
			Contexts []contextJSON `json:"contexts"`
		}{all.Current, []contextJSON{}}
		lines := []string{"\tNAME\tSERVER\tCREDENTIAL"}
		for _, name := range all.Names() {
			one := all.All[name]
			mark := " "
			if name == all.Current {
				mark = "*"
			}
			out.Contexts = append(out.Contexts, contextJSON{name, one})
			lines = append(lines, mark+"\t"+display.Row(name, one.URL+one.Socket, one.CredentialText()))
		}
		return p.List(*as, out, lines, "there are no contexts; 'a2a-server context set NAME --url URL' adds one", false, nil)
	}
	return c
}

// contextJSON is a context in the output of commands.
type contextJSON struct {
	Name string `json:"name"`
	contexts.Context
}

func contextUse(p *cli.Program) *cobra.Command {
	c := &cobra.Command{Use: "use NAME", Short: "make a context the current one; - means none", Long: contextHelp}
	cli.Takes(c, "; 'a2a-server context list' has them", "the name of a context")
	c.RunE = func(_ *cobra.Command, args []string) error {
		all, path, err := contexts.Read(p)
		if err != nil {
			return err
		}
		all.Current = args[0]
		if all.Current == "-" {
			all.Current = ""
		}
		if _, err := all.Get(all.Current); err != nil {
			return err
		}
		if err := all.Write(path); err != nil {
			return err
		}
		text := "commands ask the server of this machine's configuration"
		if all.Current != "" {
			one := all.All[all.Current]
			text = "commands ask " + visible.Line(one.URL+one.Socket)
		}
		return p.Printf("%s\n", text)
	}
	return c
}

func contextSet(p *cli.Program) *cobra.Command {
	c := &cobra.Command{Use: "set NAME", Short: "add or replace a context; the first one is the current one", Long: contextHelp}
	cli.Takes(c, "", "the name of a context")
	var one contexts.Context
	c.Flags().StringVar(&one.URL, "url", "", "The `url` of the server.")
	c.Flags().StringVar(&one.Socket, "socket", "", "The admin socket of a server on this machine instead, a `file`.")
	c.Flags().StringVar(&one.TokenFile, "token-file", "", "The `file` that has a bearer token. It is read for each request.")
	c.Flags().StringVar(&one.KeyFile, "key-file", "", "The `file` that has an API key.")
	command := c.Flags().String("token-command", "", "The `command` that prints a bearer token, its arguments separated by spaces. No shell runs it.")
	remove := c.Flags().Bool("remove", false, "Remove the context.")
	c.RunE = func(_ *cobra.Command, args []string) error {
		all, path, err := contexts.Read(p)
		if err != nil {
			return err
		}
		name, past := args[0], "was set"
		if !contexts.Name.MatchString(name) {
			return cli.Usage("%s is no name for a context: use letters, digits, dots, dashes and underscores", visible.Quote(name, 80))
		}
		if *remove {
			if _, err := all.Get(name); err != nil {
				return err
			}
			delete(all.All, name)
			if all.Current == name {
				all.Current = ""
			}
			past = "was removed"
		} else {
			one.TokenCommand = strings.Fields(*command)
			for _, path := range []*string{&one.Socket, &one.TokenFile, &one.KeyFile} {
				if *path != "" {
					if *path, err = filepath.Abs(*path); err != nil {
						return fmt.Errorf("find %s: %w", *path, err)
					}
				}
			}
			if err := one.Check(); err != nil {
				return cli.Usage("context set: %v", err)
			}
			if len(all.All) == 0 {
				all.Current = name
			}
			all.All[name] = one
		}
		if err := all.Write(path); err != nil {
			return err
		}
		return p.Printf("%s %s\n", name, past)
	}
	return c
}

func contextShow(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{Use: "show", Short: "print the current server, and your identity there", Long: contextHelp}, "", true /* prints */)
	return c.Do(func(ctx context.Context, s *remote.Server, _ []string) error {
		me, err := s.WhoAmI(ctx)
		if err != nil {
			return s.Explain(err)
		}
		var may []string
		for action, is := range me.May {
			if is {
				may = append(may, action)
			}
		}
		slices.Sort(may)
		f := display.Facts{Columns: terminal.Columns(p.Stdout)}
		f.Add("server", visible.Line(s.Address()))
		f.Add("agent", visible.Line(me.Server+" "+me.Version))
		f.Add("you", approvals.PrincipalText(&me.Caller))
		f.Add("roles", visible.Line(strings.Join(me.Caller.Roles, ", ")))
		f.Add("may", strings.Join(may, ", "))
		return p.Show(*c.As, struct {
			Server string        `json:"server"`
			Who    client.WhoAmI `json:"who"`
		}{s.Address(), me}, f.String())
	})
}
