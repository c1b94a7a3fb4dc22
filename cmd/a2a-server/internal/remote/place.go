package remote

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/cmd/a2a-server/internal/contexts"
	"a2a-server/internal/adminsocket"
	"a2a-server/internal/setting"
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
`

// target is how a command reaches a running server.
type target struct {
	url, socket, context, data string
	anonymous                  bool
	a2a                        bool       // messages are sent to the server, which its socket does not take
	given                      *cli.Flags // of the configuration of a server on this machine
}

// targetFlags gives c the flags that name a running server.
func targetFlags(c *cobra.Command) *target {
	t := &target{given: &cli.Flags{}}
	c.Flags().StringVar(&t.url, "url", "", "The `url` of the server.")
	c.Flags().StringVar(&t.socket, "socket", "", "The admin socket of the server, a `file`.")
	c.Flags().StringVar(&t.context, "context", "", "The `name` of a context.")
	c.Flags().StringVar(&t.data, "data", "", "The data `folder` of a server on this machine. Defaults to the one in its configuration.")
	cli.FileFlag(c, t.given)
	c.Flags().BoolVar(&t.anonymous, "anonymous", false, "Act on data created without authentication; needs the role admin.")
	c.Long += connectHelp
	return t
}

// place is the address of a server, and the credential for it. It has a URL or a Socket.
type place struct {
	client.Config
	local bool     // of the configuration of this machine
	own   string   // the socket of the server's own user, for operations; "": it is not known
	flags []string // of the command line that name it
}

// serve returns the command that starts the server at a place.
func (at *place) serve() string {
	words := []string{"serve"}
	if at.local {
		words = append(words, slices.DeleteFunc(slices.Clone(at.flags), func(word string) bool { return word == "--anonymous" })...)
	}
	return cli.CommandLine(words...)
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
	return strings.HasPrefix(strings.ToLower(at.URL), "http://") && at.Credential != nil && !at.local && !setting.LocalURL(at.URL)
}

// placeOf returns where the server is that t names.
func placeOf(p *cli.Program, t *target) (*place, error) {
	here := t.data != "" || t.given.File != ""
	if cli.Count(t.url != "", t.socket != "", t.context != "", here) > 1 {
		return nil, cli.Usage("name the server in one way: --url, --socket, --context, or --data and --config")
	}
	at := &place{}
	var err error
	switch {
	case t.url != "":
		at.URL, at.Credential = t.url, givenCredential(p)
	case t.socket != "":
		at.Socket = t.socket
	case t.context != "":
		at, err = contextPlace(p, t.context)
	case here:
		at, err = localPlace(p, t)
	case p.Variable(urlVariable) != "":
		at.URL, at.Credential = p.Variable(urlVariable), givenCredential(p)
	default:
		if at, err = contextPlace(p, ""); err == nil && at == nil {
			at, err = localPlace(p, t)
		}
	}
	if err == nil && t.a2a && at.Socket != "" {
		err = cli.Usage("messages are sent to the URL of a server, and not to its socket: name it with --url")
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

// givenCredential returns the credential in the environment; nil: there is none.
func givenCredential(p *cli.Program) client.Credential { return credential(p.Variable(tokenVariable)) }

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
func localPlace(p *cli.Program, t *target) (*place, error) {
	c, err := p.LoadPlace(t.given)
	if err != nil {
		return nil, err
	}
	socket, url := SocketOf(c, t.data, t.given.File), LocalURL(c)
	if t.a2a && url == "" {
		return nil, cli.Usage("the configuration does not say at which port the server listens: name its URL with --url")
	}
	if _, err := os.Lstat(socket); !t.a2a && (url == "" || !errors.Is(err, fs.ErrNotExist)) {
		return &place{Config: client.Config{Socket: socket}, local: true, own: c.OwnSocket()}, nil
	}
	return &place{Config: client.Config{URL: url, Credential: givenCredential(p)}, local: true, own: c.OwnSocket()}, nil
}

// SocketOf returns the admin socket of a configuration that was read from file ("": none was named),
// or of a server with the data folder data, if that is not "".
func SocketOf(c *config.Config, data, file string) string {
	if data != "" {
		c.Data = data
		if file == "" {
			c.Admin.Socket = "" // of another server
		}
	}
	return c.AdminSocket()
}

// LocalURL returns the URL at which this machine reaches a server with a configuration; "": that
// is not known.
func LocalURL(c *config.Config) string {
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

// connect returns the client of the server that t names.
func connect(p *cli.Program, t *target, flags []string) (*Server, error) {
	at, err := placeOf(p, t)
	if err != nil {
		return nil, err
	}
	at.flags = flags
	at.OnRetry = func(cause error, pause time.Duration) {
		if pause >= time.Second { // shorter pauses are over before the note is read
			p.Note(visible.Line(at.String()) + ": " + cmp.Or(Unreachable(cause), visible.Text(cause.Error())) + "; trying again")
		}
	}
	c, err := client.New(at.Config)
	if err != nil {
		return nil, cli.Usage("%v", err)
	}
	if at.exposed() {
		_, _ = fmt.Fprintf(p.Stderr, "warning: your credential goes to %s unencrypted, and a reader of the traffic can act as you; use an https URL, here or in the context\n", visible.Line(at.URL)) // nothing depends on it
	}
	return &Server{Client: c, at: at}, nil
}

// contextPlace returns the place of a context; nil if name is "" and there is no current
// context.
func contextPlace(p *cli.Program, name string) (*place, error) {
	all, path, err := contexts.Read(p)
	if err != nil {
		return nil, err
	}
	one, err := all.Get(name)
	if one == nil || err != nil {
		return nil, err
	}
	return &place{Config: client.Config{URL: one.URL, Socket: one.Socket, Credential: one.Credential(filepath.Dir(path), p.Env)}}, nil
}
