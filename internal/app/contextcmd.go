package app

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"a2a-server/client"
	"a2a-server/internal/visible"
)

const contextHelp = `A context is a server with a credential, under a name. They are in contexts.yaml in the
folder a2a-server of your configuration (~/.config), which has no secrets: only where a token
or a key is.
`

func (p *program) contextCommand() *cobra.Command {
	return group("context", "name servers, and choose the one that commands ask", p.contextList(), p.contextUse(), p.contextSet(), p.contextShow())
}

func (p *program) contextList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "list the contexts; * marks the current one", Long: contextHelp}
	as := outputFlag(c)
	c.RunE = func(*cobra.Command, []string) error {
		all, _, err := p.contexts()
		if err != nil {
			return err
		}
		out := struct {
			Current  string        `json:"current,omitempty"`
			Contexts []contextJSON `json:"contexts"`
		}{all.current, []contextJSON{}}
		lines := []string{"\tNAME\tSERVER\tCREDENTIAL"}
		for _, name := range all.names() {
			one := all.all[name]
			mark := " "
			if name == all.current {
				mark = "*"
			}
			out.Contexts = append(out.Contexts, contextJSON{name, one})
			lines = append(lines, mark+"\t"+columns(name, one.URL+one.Socket, one.credential()))
		}
		return p.list(*as, out, lines, "there are no contexts; 'a2a-server context set NAME --url URL' adds one", false)
	}
	return c
}

// contextJSON is a context in the output of commands.
type contextJSON struct {
	Name string `json:"name"`
	serverContext
}

// credential says where the credential is.
func (c *serverContext) credential() string {
	switch {
	case c.TokenFile != "":
		return "token in " + c.TokenFile
	case c.KeyFile != "":
		return "key in " + c.KeyFile
	case len(c.TokenCommand) > 0:
		return "token of " + strings.Join(c.TokenCommand, " ")
	}
	return ""
}

func (p *program) contextUse() *cobra.Command {
	c := &cobra.Command{Use: "use NAME", Short: "make a context the current one; - means none", Long: contextHelp}
	takes(c, "; 'a2a-server context list' has them", "the name of a context")
	c.RunE = func(_ *cobra.Command, args []string) error {
		all, path, err := p.contexts()
		if err != nil {
			return err
		}
		all.current = args[0]
		if all.current == "-" {
			all.current = ""
		}
		if _, err := all.get(all.current); err != nil {
			return err
		}
		if err := all.write(path); err != nil {
			return err
		}
		text := "commands ask the server of this machine's configuration"
		if all.current != "" {
			one := all.all[all.current]
			text = "commands ask " + visible.Line(one.URL+one.Socket)
		}
		_, err = fmt.Fprintln(p.stdout, text)
		return err
	}
	return c
}

func (p *program) contextSet() *cobra.Command {
	c := &cobra.Command{Use: "set NAME", Short: "add or replace a context; the first one is the current one", Long: contextHelp}
	takes(c, "", "the name of a context")
	var one serverContext
	c.Flags().SortFlags = false
	c.Flags().StringVar(&one.URL, "url", "", "The `url` of the server.")
	c.Flags().StringVar(&one.Socket, "socket", "", "The admin socket of a server on this machine instead, a `file`.")
	c.Flags().StringVar(&one.TokenFile, "token-file", "", "The `file` that has a bearer token. It is read for each request.")
	c.Flags().StringVar(&one.KeyFile, "key-file", "", "The `file` that has an API key.")
	command := c.Flags().String("token-command", "", "The `command` that prints a bearer token, its arguments separated by spaces. No shell runs it.")
	remove := c.Flags().Bool("remove", false, "Remove the context.")
	c.RunE = func(_ *cobra.Command, args []string) error {
		all, path, err := p.contexts()
		if err != nil {
			return err
		}
		name, past := args[0], "was set"
		if !contextName.MatchString(name) {
			return usage("%s is no name for a context: use letters, digits, dots, dashes and underscores", visible.Quote(name, 80))
		}
		if *remove {
			if _, err := all.get(name); err != nil {
				return err
			}
			delete(all.all, name)
			if all.current == name {
				all.current = ""
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
			if err := one.check(); err != nil {
				return usage("context set: %v", err)
			}
			if len(all.all) == 0 {
				all.current = name
			}
			all.all[name] = one
		}
		if err := all.write(path); err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.stdout, "%s %s\n", name, past)
		return err
	}
	return c
}

func (p *program) contextShow() *cobra.Command {
	c := p.remote(&cobra.Command{Use: "show", Short: "print the current server, and your identity there", Long: contextHelp}, "", true /* prints */)
	return c.asks(func(ctx context.Context, s *server, _ []string) error {
		me, err := s.WhoAmI(ctx)
		if err != nil {
			return s.explain(err)
		}
		var may []string
		for action, is := range me.May {
			if is {
				may = append(may, action)
			}
		}
		slices.Sort(may)
		f := facts{columns: columnsOf(p.stdout)}
		f.add("server", visible.Line(s.at.String()))
		f.add("agent", visible.Line(me.Server+" "+me.Version))
		f.add("you", principalText(&me.Caller))
		f.add("roles", visible.Line(strings.Join(me.Caller.Roles, ", ")))
		f.add("may", strings.Join(may, ", "))
		return p.show(*c.as, struct {
			Server string        `json:"server"`
			Who    client.WhoAmI `json:"who"`
		}{s.at.String(), me}, f.String())
	})
}
