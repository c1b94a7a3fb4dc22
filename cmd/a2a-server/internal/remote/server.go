package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"syscall"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/internal/visible"
)

// Server is a running server that a command asks.
type Server struct {
	*client.Client
	at *place
}

// Local returns the server of this process that a client asks.
func Local(c *client.Client) *Server { return &Server{c, &place{}} }

// Address returns the URL or the socket of the server.
func (s *Server) Address() string { return s.at.String() }

// Command returns a command line for the same server, for a person to copy: with the flags that named it.
func (s *Server) Command(words ...string) string {
	return cli.CommandLine(append(words, s.at.flags...)...)
}

// Explain returns an error of the server for display: with advice if the server does not
// answer, and with its invisible characters escaped.
func (s *Server) Explain(err error) error {
	if refused, is := errors.AsType[*client.Error](err); is {
		if refused.Reason == client.ReasonUnauthenticated && s.at.Socket == "" {
			return s.credentialError()
		}
		return errors.New(visible.Text(refused.Error()))
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
		return fmt.Errorf("no permission to open %s: run the command as the user of the server, as a user in auth.socket with access by admin.mode and admin.group, or as root", at)
	case errors.Is(err, syscall.ECONNREFUSED) && s.at.local:
		return fmt.Errorf("no server listens on %s: start it with '%s'. If it was started with --listen, name its URL with --url or a context", at, s.at.serve())
	}
	if why := Unreachable(err); why != "" {
		return fmt.Errorf("the server at %s cannot be reached: %s\nStart it with '%s', or name another server with --url or --context", at, why, s.at.serve())
	}
	return fmt.Errorf("ask the server at %s: %w", at, err)
}

// credentialError is the error of a server at a URL that does not know the caller.
func (s *Server) credentialError() error {
	at := visible.Line(s.at.String())
	if s.at.Credential == nil {
		return fmt.Errorf("the server at %s wants to know the caller: set %s to an API key or a bearer token, or name a context that has a credential with --context", at, tokenVariable)
	}
	return fmt.Errorf("the server at %s does not accept your credential, of %s or the context: it may have expired or been revoked, or be that of another server", at, tokenVariable)
}

// Unreachable says why no connection to a server could be made; "": the error is another.
func Unreachable(err error) string {
	name, isName := errors.AsType[*net.DNSError](err)
	dial, isDial := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there"
	case isName && name.IsNotFound:
		return "there is no host " + visible.Line(name.Name)
	case isDial && dial.Op == "dial":
		return visible.Line(dial.Err.Error())
	}
	return ""
}

// Changed returns the error of a change for display. If the server has not answered, the error
// says that the outcome is unknown, and which command, the words of look, finds out.
func (s *Server) Changed(err error, what string, look ...string) error {
	if unknown, is := errors.AsType[*client.OutcomeError](err); is {
		return cli.Exit(cli.ExitUnknown, fmt.Sprintf("it is not known whether %s: %s\nWhen the server answers again, '%s' shows it", what, visible.Text(unknown.Cause.Error()), s.Command(look...)))
	}
	return s.Explain(err)
}

// Interrupted returns nil for an error that the person has caused by ending the command.
func (s *Server) Interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it is the wish of the person
	}
	return s.Explain(err)
}

// maxShown is how many things a question shows that is about all of them.
const maxShown = 50

// ConfirmAll is [cli.Program.Confirm] for a change of each thing in a table, such as "Cancel", "task"
// and " of key:ci". The subject is the caller's.
func (s *Server) ConfirmAll(ctx context.Context, p *cli.Program, lines []string, verb, noun, rest string) error {
	me, err := s.WhoAmI(ctx)
	if err != nil {
		return s.Explain(err)
	}
	question := verb + " this " + noun + rest
	if n := len(lines) - 1; n > 1 { // the first is the heading
		question = fmt.Sprintf("%s these %d %ss%s", verb, n, noun, rest)
	}
	if more := len(lines) - 1 - maxShown; more > 0 {
		lines = append(lines[:1+maxShown], fmt.Sprintf("and %d more", more))
	}
	var text strings.Builder
	if err := display.Table(&text, lines); err != nil {
		return err
	}
	return p.Confirm(ctx, text.String(), question, me.Caller.Subject)
}
