package mcptoolset

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/internal/egress"
	"a2a-server/internal/visible"
)

// Config describes an MCP server and the tools offered of it. Exactly one of Command, HTTP and
// Dial is set. Names of tools are the server's, without Prefix.
type Config struct {
	// Name is the name of the toolset, for messages to people. Required.
	Name string
	// Prefix is put in front of the name of each tool, such as "files_". Defaults to none.
	Prefix string

	// Command starts the server as a child process that speaks MCP over stdio.
	Command *Command
	// HTTP is a server that speaks MCP's streamable HTTP.
	HTTP *HTTP
	// Dial connects to a server that speaks MCP as lines of JSON over a stream, such as a
	// Unix socket or a pipe in this process. Closing the stream must end a Read or Write
	// that waits.
	Dial func(context.Context) (io.ReadWriteCloser, error)

	// Only lists the tools that are offered; "*" stands for all. Required.
	Only []string
	// Approve lists the tools that need an approval for every call; "*" stands for all. Defaults
	// to none. If it has a name that the server does not list, every tool needs an approval: a
	// misspelled name must not leave a tool without its gate.
	Approve []string
	// Trust lists the tools whose hints about their effects are believed, so that, for
	// example, a call of a tool that claims to be read-only may be repeated.
	Trust []string
	// Pins are the digests of tool definitions, from the function Digest of package tool or
	// `a2a-server tools show`: 64 hexadecimal digits. A tool with another definition, or other
	// claims, needs an approval for every call, and is not trusted. With any pin, a tool without a pin is not
	// offered.
	Pins map[string]string
	// Identity adds to the identity of the server, for example the names of its secrets and
	// the public values of its environment. An approval is bound to it.
	Identity string
	// Ask has people answer the questions with which the server answers a call, and its questions
	// while a call runs. The calls of a caller then run in turn, and each caller with a
	// running call has a connection of its own: at most 16. Without Ask every question is declined.
	Ask bool
	// Handshake speaks the newest version of MCP that begins with a handshake, or an older version
	// if the server speaks no newer. Only these versions allow questions while a call runs
	// (elicitation/create): a server that also speaks MCP 2026-07-28, and asks in this way, fails
	// the calls otherwise. Without Handshake it is the newest version that both sides speak.
	Handshake bool

	// CallTimeout limits a call. Defaults to the engine's limit for every tool.
	CallTimeout time.Duration
	// Retry is the first wait before the server is tried again after a failure. It
	// doubles with each failure, up to a minute. Defaults to 500 ms.
	Retry time.Duration

	// CacheFile keeps the definitions that the server has listed, so that its tools are
	// known after a restart while it is down. Defaults to none. Two toolsets must not
	// share a file.
	CacheFile string
	// Logger gets events of the connection, and at debug level the server's stderr. Defaults
	// to none.
	Logger zerolog.Logger
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time

	listTimeout time.Duration // of connecting and listing the tools. Defaults to 10 s.
	maxMessage  int           // bytes of the longest message that is read. Defaults to 16 MiB.
}

// HTTP is a server that speaks MCP's streamable HTTP.
type HTTP struct {
	// URL is the endpoint, with scheme http or https. It must not have a user or
	// password.
	URL string
	// Header are the headers of every request. The functions are called for each request,
	// so that a secret can change; their values appear in no log and no error.
	Header map[string]func() (string, error)
	// Allow lists reachable addresses outside the public internet, such as an internal
	// service: loopback, private and link-local addresses.
	Allow []netip.Prefix
	// Own returns the addresses on which this process listens. They are never reached. It
	// must be safe for concurrent use. Defaults to none.
	Own func() []netip.AddrPort
}

// The defaults and limits of a [Config], and fixed values.
const (
	defaultListTimeout = 10 * time.Second
	defaultMaxMessage  = 16 << 20
	defaultRetry       = 500 * time.Millisecond
	maxRetry           = time.Minute

	maxTools       = 1000     // examined of a server
	maxPages       = 100      // of a list of tools
	maxDescription = 1 << 10  // bytes of a description
	maxProperty    = 256      // bytes of a name in a schema
	maxSchema      = 64 << 10 // bytes of the schema of a tool's arguments
	maxProblems    = 50       // kept of a listing
)

var (
	offeredName = regexp.MustCompile(`^[A-Za-z0-9_-]([A-Za-z0-9_.-]{0,62}[A-Za-z0-9_-])?$`)
	prefixName  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

// validate returns all problems with c, joined.
func (c *Config) validate() error {
	var errs []error
	problem := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Name == "" {
		problem("name: it is missing; it is how messages call the server")
	}
	if c.Prefix != "" && !prefixName.MatchString(c.Prefix) {
		problem("prefix: %s is not part of a tool's name; write letters, digits, _ and -", visible.Quote(c.Prefix, 80))
	}
	n := 0
	for _, set := range []bool{c.Command != nil, c.HTTP != nil, c.Dial != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		problem("the server: %d ways to reach it are given; give exactly one of a command, a URL and a dial function", n)
	}
	if c.Command != nil && (len(c.Command.Argv) == 0 || c.Command.Argv[0] == "") {
		problem("command: it is empty; write the program and its arguments")
	}
	if c.HTTP != nil {
		errs = append(errs, c.HTTP.validate()...)
	}
	errs = append(errs, c.validateNames()...)
	for _, d := range []struct {
		what  string
		value time.Duration
	}{{"timeout of a call", c.CallTimeout}, {"wait before a retry", c.Retry}} {
		if d.value < 0 {
			problem("%s: %v is out of range; write 0 for the default, or more", d.what, d.value)
		}
	}
	return errors.Join(errs...)
}

// validateNames checks the lists of tools against each other.
func (c *Config) validateNames() (errs []error) {
	if len(c.Only) == 0 {
		errs = append(errs, errors.New(`only: it is missing; list the tools that are offered, or write "*" for all`))
	}
	known := func(list, name string) {
		if name == "" {
			errs = append(errs, fmt.Errorf("%s: a name is empty", list))
		} else if len(c.Only) > 0 && !c.offers(name) {
			errs = append(errs, fmt.Errorf("%s: %s is not among the tools that are offered; add it to only, or remove it here", list, visible.Quote(name, 80)))
		}
	}
	for _, name := range c.Approve {
		if name != "*" {
			known("approve", name)
		}
	}
	for _, name := range c.Trust {
		known("trust", name)
	}
	for name, digest := range c.Pins {
		known("pins", name)
		if raw, err := hex.DecodeString(digest); err != nil || len(raw) != 32 {
			errs = append(errs, fmt.Errorf("pins: the digest of %s is not 64 hexadecimal digits; copy the line that tools show prints", visible.Quote(name, 80)))
		}
	}
	return errs
}

// offers reports whether the tool that the server calls name is in Only.
func (c *Config) offers(name string) bool {
	return slices.Contains(c.Only, "*") || slices.Contains(c.Only, name)
}

func (h *HTTP) validate() (errs []error) {
	err := egress.CheckURL(h.URL, "one such as https://mcp.example/mcp")
	if _, fragment, _ := strings.Cut(h.URL, "#"); err == nil && fragment != "" {
		err = errors.New("it has a fragment, which is never sent; remove it")
	}
	if err != nil {
		errs = append(errs, fmt.Errorf("url: %w", err))
	}
	e := h.egress(0)
	if err := e.Validate(); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// egress says where the requests may go, and how long a message may be.
func (h *HTTP) egress(maxMessage int) egress.Config {
	return egress.Config{
		Allow: h.Allow, Own: h.Own, Header: h.Header,
		Timeout: -1, // that of a call is in its context
		// Each event of a stream has a limit of its own.
		MaxBytes: int64(maxMessage), Streams: true,
	}
}

// withDefaults returns c with its defaults, sharing nothing that its caller may change.
func (c Config) withDefaults() Config {
	c.Only, c.Approve, c.Trust = slices.Clone(c.Only), slices.Clone(c.Approve), slices.Clone(c.Trust)
	pins := make(map[string]string, len(c.Pins))
	for name, digest := range c.Pins {
		pins[name] = strings.ToLower(digest)
	}
	c.Pins = pins
	c.listTimeout = cmp.Or(c.listTimeout, defaultListTimeout)
	c.maxMessage = cmp.Or(c.maxMessage, defaultMaxMessage)
	c.Retry = cmp.Or(c.Retry, defaultRetry)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}
