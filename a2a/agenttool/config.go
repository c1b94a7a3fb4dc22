package agenttool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/internal/egress"
	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// Config describes a remote agent.
type Config struct {
	// Name is the name of the tool. Required.
	Name string
	// Description tells a model, or a person, the purpose of the agent. Defaults to the
	// description in the card, shortened to 1 KiB, with invisible characters escaped.
	Description string
	// Card is the URL of the agent's card. Its interfaces must have the same origin: others would
	// get the credential. Required.
	Card string
	// Header are the headers of every request, such as Authorization. The functions are called for
	// each request, so that a secret can change; their values appear in no log and no error.
	Header map[string]func() (string, error)
	// Identity adds to the identity of the agent, for example the names of its secrets. An approval
	// is bound to it.
	Identity string
	// Approve says whether every call has to be approved. Defaults to true.
	Approve *bool
	// Depth is how many agents may have passed a message on before and with this call: 1 allows only
	// calls that a client asked for directly. Defaults to 3.
	Depth int
	// Timeout limits how long a call may run without a pause. Defaults to the limit of the server.
	Timeout time.Duration

	// Allow lists reachable addresses outside the public internet. Own returns the addresses on which
	// this process listens, which are never reached. Both default to none.
	Allow []netip.Prefix
	Own   func() []netip.AddrPort

	// Poll is the first pause before a waiting child is looked at again. It doubles up to a minute.
	// Defaults to 2 s.
	Poll time.Duration
	// Logger gets what callers do not learn of failures. Defaults to none.
	Logger zerolog.Logger
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// The defaults of a [Config].
const (
	defaultDepth = 3
	defaultPoll  = 2 * time.Second
)

// The limits that cannot be configured.
const (
	maxDepth       = 16
	maxPoll        = time.Minute
	maxUnreached   = 24 * time.Hour   // that a child may be unreachable before its outcome is unknown
	requestTimeout = 30 * time.Second // of a request other than a message
	cardAge        = 5 * time.Minute
	maxBody        = 16 << 20 // bytes of a response that is no stream
	maxDescription = 1 << 10
	maxRounds      = 32 // of questions of a child
	maxSummary     = 2 << 10
	maxResult      = 64 << 10 // bytes that the planner gets
	maxArtifacts   = 15       // beside the first
	maxNames       = 10_000   // of artifacts of a child
	maxKept        = 1 << 20  // bytes of the artifacts of a child, of which the planner gets maxResult
	maxPiece       = 256 << 10
	maxError       = 2 << 10
	maxID          = 256 // bytes of the id of a child, or of an artifact
	reconnects     = 6   // of a cut stream, before the call pauses
)

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// validate returns all problems with c, joined.
func (c *Config) validate() error {
	var errs []error
	problem := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !toolName.MatchString(c.Name) {
		problem("name: %s is not the name of a tool; write 1 to 64 letters, digits, _ and -", visible.Quote(c.Name, 80))
	}
	if err := egress.CheckURL(c.Card, "a URL such as https://travel.example.com/.well-known/agent-card.json"); err != nil {
		problem("card: %w", err)
	}
	if c.Depth < 0 || c.Depth > maxDepth {
		problem("depth: %d is out of range; write a number from 1 to %d", c.Depth, maxDepth)
	}
	if c.Timeout < 0 || c.Poll < 0 {
		problem("timeout and poll: a negative duration is out of range")
	}
	e := c.egress()
	return errors.Join(append(errs, e.Validate())...)
}

// New returns a toolset with the agent, and the tools beside it, such as one that hands tasks over
// to it. It does not connect: without a
// description of its own the toolset reads the card when its tools are asked for. Close ends the
// connections that nobody uses.
func New(c Config, beside ...tool.Tool) (*Toolset, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("agent %s: %w", visible.Quote(c.Name, 80), err)
	}
	c.Header = maps.Clone(c.Header)
	c.Depth, c.Poll = cmp.Or(c.Depth, defaultDepth), cmp.Or(c.Poll, defaultPoll)
	if c.Now == nil {
		c.Now = time.Now
	}
	r, err := newRemote(&c)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", visible.Quote(c.Name, 80), err)
	}
	s := &Toolset{config: &c, remote: r, beside: beside}
	s.lifetime, s.end = context.WithCancel(context.Background())
	if c.Description != "" {
		s.tools = s.with(c.Description)
	}
	return s, nil
}

// Toolset has the tool of a remote agent, and the tools beside it. It is safe for concurrent use.
type Toolset struct {
	config *Config
	remote *remote
	beside []tool.Tool

	lifetime context.Context //nolint:containedctx // of attempts to read the card
	end      context.CancelFunc
	readers  sync.WaitGroup // of these attempts

	mu      sync.Mutex
	tools   []tool.Tool   // nil: the card was not read yet
	reading chan struct{} // closed after the running attempt to read it; nil: none runs
	failed  error         // of the last attempt
	pause   time.Duration // after it
	tryNext time.Time
	closed  bool
}

// Name implements [tool.Toolset].
func (s *Toolset) Name() string { return s.config.Name }

// identity names the agent: approvals belong to a single one. It has no values of secrets.
func (c *Config) identity() string {
	return hashed(sha256.Size, fmt.Appendf(nil, "%q", []any{"agent", c.Card, slices.Sorted(maps.Keys(c.Header)), c.Identity}))
}

// hashed returns the first bytes of a hash, which says nothing about its content, such as a URL, to
// readers who do not know it.
func hashed(bytes int, content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:bytes])
}
