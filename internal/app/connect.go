package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/client"
	"a2a-server/internal/adminsocket"
	"a2a-server/internal/app/config"
	"a2a-server/internal/visible"
)

const (
	urlVariable   = config.URLVariable
	tokenVariable = config.TokenVariable
)

// connectHelp is the end of the help of each command that asks a running server.
const connectHelp = `
Which server: --url, --socket or --context; else --data or --config, for a server on this
machine; else the variable A2A_SERVER_URL; else the current context ('a2a-server context');
else the server of this machine's configuration, at its socket or, without one, at its
address. The variable A2A_SERVER_TOKEN is a bearer token or an API key for a URL.

Exit codes: 0 it was done, 1 it was not, 2 the command line or the configuration is
invalid, 3 you have not confirmed it, 4 it is not known whether it was done.
`

// target is how a command reaches a running server.
type target struct {
	url, socket, context, data string
	anonymous                  bool
	a2a                        bool   // messages are sent to the server, which its socket does not take
	given                      *flags // of the configuration of a server on this machine
}

// targetFlags gives c the flags that name a running server.
func targetFlags(c *cobra.Command) *target {
	t := &target{given: &flags{}}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&t.url, "url", "", "The `url` of the server.")
	c.Flags().StringVar(&t.socket, "socket", "", "The admin socket of the server, a `file`.")
	c.Flags().StringVar(&t.context, "context", "", "The `name` of a context.")
	c.Flags().StringVar(&t.data, "data", "", "The data `folder` of a server on this machine. Defaults to the one in its configuration.")
	fileFlag(c, t.given)
	c.Flags().BoolVar(&t.anonymous, "anonymous", false, "Act on data created without authentication; needs the role admin.")
	c.Long += connectHelp
	return t
}

// place is the address of a server, and the credential for it. It has a URL or a Socket.
type place struct {
	client.Config
	local bool // of the configuration of this machine
}

// String names the place for people.
func (at *place) String() string {
	if at.Socket != "" {
		return at.Socket
	}
	return at.URL
}

// exposed reports whether a credential is sent over a network without TLS.
func (at *place) exposed() bool {
	return strings.HasPrefix(strings.ToLower(at.URL), "http://") && at.Credential != nil && !at.local && !config.LocalURL(at.URL)
}

// place returns where the server is that t names.
func (p *program) place(t *target) (*place, error) {
	here := t.data != "" || t.given.file != ""
	if count(t.url != "", t.socket != "", t.context != "", here) > 1 {
		return nil, usage("name the server in one way: --url, --socket, --context, or --data and --config")
	}
	at := &place{}
	var err error
	switch {
	case t.url != "":
		at.URL, at.Credential = t.url, p.given()
	case t.socket != "":
		at.Socket = t.socket
	case t.context != "":
		at, err = p.contextPlace(t.context)
	case here:
		at, err = p.localPlace(t)
	case p.variable(urlVariable) != "":
		at.URL, at.Credential = p.variable(urlVariable), p.given()
	default:
		if at, err = p.contextPlace(""); err == nil && at == nil {
			at, err = p.localPlace(t)
		}
	}
	if err == nil && t.a2a && at.Socket != "" {
		err = usage("messages are sent to the URL of a server, and not to its socket: name it with --url")
	}
	if err != nil {
		return nil, err
	}
	if at.Socket != "" {
		if at.Socket, err = filepath.Abs(at.Socket); err != nil {
			return nil, fmt.Errorf("find the socket: %w", err)
		}
	}
	at.Dial, at.Anonymous, at.Retries = adminsocket.Dial, t.anonymous, 2
	return at, nil
}

// given returns the credential in the environment; nil: there is none.
func (p *program) given() client.Credential { return credential(p.variable(tokenVariable)) }

// credential returns a bearer token or, if it looks like an API key of this server, an API
// key.
func credential(text string) client.Credential {
	switch text = strings.TrimSpace(text); {
	case text == "":
		return nil
	case strings.HasPrefix(text, "a2ak_"):
		return client.Key(text)
	}
	return client.Token(text)
}

// localPlace returns where the server of a configuration of this machine is: at its socket, if
// that is there or no address is known, and else at its address.
func (p *program) localPlace(t *target) (*place, error) {
	c, err := p.load(t.given)
	if err != nil {
		return nil, err
	}
	if t.data != "" {
		c.Data = t.data
		if t.given.file == "" {
			c.Admin.Socket = "" // of another server
		}
	}
	socket, url := c.AdminSocket(), localURL(c)
	if t.a2a && url == "" {
		return nil, usage("the configuration does not say at which port the server listens: name its URL with --url")
	}
	if _, err := os.Lstat(socket); !t.a2a && (url == "" || !errors.Is(err, fs.ErrNotExist)) {
		return &place{Config: client.Config{Socket: socket}, local: true}, nil
	}
	return &place{Config: client.Config{URL: url, Credential: p.given()}, local: true}, nil
}

// localURL returns the URL at which this machine reaches a server with a configuration; "": that
// is not known.
func localURL(c *config.Config) string {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil || port == "0" {
		return ""
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1" // a server on [::] listens there too
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}
	if c.TLS.Cert != "" {
		u.Scheme = "https"
	}
	return u.String()
}

// client returns the client of the server that t names.
func (p *program) client(t *target) (*server, error) {
	at, err := p.place(t)
	if err != nil {
		return nil, err
	}
	at.OnRetry = func(cause error, pause time.Duration) {
		if pause >= time.Second { // shorter pauses are over before the note is read
			p.note(visible.Text(cause.Error()) + "; trying again")
		}
	}
	c, err := client.New(at.Config)
	if err != nil {
		return nil, usage("%v", err)
	}
	if at.exposed() {
		_, _ = fmt.Fprintf(p.stderr, "warning: your credential goes to %s unencrypted, and a reader of the traffic can act as you; use an https URL, here or in the context\n", visible.Line(at.URL)) // nothing depends on it
	}
	return &server{Client: c, at: at}, nil
}

// server is a running server that a command asks.
type server struct {
	*client.Client
	at *place
}

// explain returns an error of the server for display: with advice if the server does not
// answer, and with its invisible characters escaped.
func (s *server) explain(err error) error {
	if refused, is := errors.AsType[*client.Error](err); is {
		text := visible.Text(refused.Error())
		if refused.Reason == client.ReasonUnauthenticated && s.at.Socket == "" && s.at.Credential == nil {
			text += "\nSet " + tokenVariable + " to a bearer token or an API key, or add one to a context"
		}
		return errors.New(text)
	}
	at := visible.Line(s.at.String())
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, fs.ErrNotExist) && s.at.Socket != "":
		return fmt.Errorf("there is no socket %s: start the server, with users in auth.socket, or name its data folder with --data or its URL with --url", at)
	case errors.Is(err, syscall.ECONNREFUSED) && s.at.Socket != "":
		return fmt.Errorf("no server listens on %s: the server that created it has ended; start it again", at)
	case errors.Is(err, fs.ErrPermission) && s.at.Socket != "":
		return fmt.Errorf("no permission to open %s: run the command as a user in auth.socket with access by admin.mode and admin.group, or as root", at)
	case errors.Is(err, syscall.ECONNREFUSED) && s.at.local:
		return fmt.Errorf("no server listens on %s: start it with 'a2a-server serve'. If it was started with --listen, name its URL with --url or a context", at)
	}
	return fmt.Errorf("ask the server at %s: %w", at, err)
}

// changed returns the error of a change for display. If the server has not answered, the error
// says that the outcome is unknown, and how to find out.
func (s *server) changed(err error, what, look string) error {
	if unknown, is := errors.AsType[*client.OutcomeError](err); is {
		return &exitError{exitUnknown, fmt.Sprintf("it is not known whether %s: %s\nWhen the server answers again, '%s' shows it", what, visible.Text(unknown.Cause.Error()), look)}
	}
	return s.explain(err)
}

// remote is a command that asks a running server.
type remote struct {
	*cobra.Command
	p      *program
	target *target
	as     *form // of --output, if the command has the flag
}

// remote makes c a command that asks a running server. of is what the command takes the id of, such
// as task; "": nothing. prints says whether it has the flag --output.
func (p *program) remote(c *cobra.Command, of string, prints bool) *remote {
	if of != "" {
		takes(c, "; 'a2a-server "+of+"s list' has them", "the id of one "+of)
	}
	r := &remote{Command: c, p: p, as: new(form)}
	if prints {
		r.as = outputFlag(c)
	}
	r.target = targetFlags(c)
	return r
}

// asks sets the function of the command, which runs until the person interrupts it.
func (r *remote) asks(do func(ctx context.Context, s *server, args []string) error) *cobra.Command {
	r.RunE = func(c *cobra.Command, args []string) error {
		s, err := r.p.client(r.target)
		if err != nil {
			return err
		}
		ctx, stop := interruptible(c.Context())
		defer stop()
		return do(ctx, s, args)
	}
	return r.Command
}

// takes makes a command take arguments with these names, each of which must be there.
func takes(c *cobra.Command, hint string, names ...string) {
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) != len(names) || slices.Contains(args, "") {
			return usage("%s takes %s%s", within(c), strings.Join(names, " and "), hint)
		}
		return nil
	}
}
