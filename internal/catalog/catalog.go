package catalog

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a/agentcard"
	"a2a-server/auth"
	"a2a-server/internal/visible"
)

const (
	// cardTime is how long a request for the card waits for toolsets.
	cardTime = time.Second
	// ownLists is how many lists for single callers are made at the same time. A toolset that
	// hangs holds each of them up to ListTime.
	ownLists = 16
	// cardAge is how old the skills of a card may be before they are listed again.
	cardAge = 5 * time.Second
	// maxWarning bounds a warning, in characters: each tool may have something wrong.
	maxWarning = 2000
)

// A Catalog is the list of the card's skills. If toolsets may change, a request for a list older
// than cardAge makes it again.
type Catalog struct {
	log zerolog.Logger
	own chan struct{}   // a place for each caller whose own tools are being listed
	ctx context.Context //nolint:containedctx // for listing, which outlives a request
	end context.CancelFunc

	mu      sync.Mutex
	of      *Tools // of the rest
	tools   *Lister
	skills  []agentcard.Skill
	at      time.Time
	warned  string        // the newest warning
	listing chan struct{} // closed when the list is made; nil: it is not being made
}

// NewCatalog returns the catalog of a state that is in force, which has these tools.
func NewCatalog(of *Tools, tools *Lister, log zerolog.Logger) *Catalog {
	c := &Catalog{log: log, own: make(chan struct{}, ownLists)}
	c.ctx, c.end = context.WithCancel(context.Background())
	c.Set(of, tools)
	return c
}

// Close ends listing.
func (c *Catalog) Close() { c.end() }

// Set replaces the tools when a state comes into force. It does not log the tools that could
// not be listed: the check of the state did.
func (c *Catalog) Set(of *Tools, tools *Lister) {
	entries, _ := tools.Entries()
	made, problems := skills(entries, of)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of, c.tools, c.skills, c.at = of, tools, made, time.Now()
	c.warn(problems)
}

// Known returns the skills without listing them.
func (c *Catalog) Known() []agentcard.Skill {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skills
}

// List returns the skills. While toolsets are slow to answer it returns the known skills. The
// slice must not be changed.
func (c *Catalog) List() []agentcard.Skill {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.of.Registry.Dynamic() || time.Since(c.at) < cardAge || c.ctx.Err() != nil {
		return c.skills
	}
	if c.listing == nil {
		c.listing = make(chan struct{})
		go c.renew(c.of, c.tools, c.listing)
	}
	made := c.listing
	c.mu.Unlock()
	select {
	case <-made:
	case <-time.After(cardTime):
	}
	c.mu.Lock()
	return c.skills
}

// renew makes the list again.
func (c *Catalog) renew(of *Tools, tools *Lister, done chan struct{}) {
	made, problems := skillsOf(c.ctx, of, tools)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(done)
	c.listing = nil
	if c.of != of {
		return // a reload has replaced the tools
	}
	c.skills, c.at = made, time.Now()
	c.warn(problems)
}

// skillsOf lists tools, and returns their skills. The error has the problems with both.
func skillsOf(ctx context.Context, of *Tools, tools *Lister) ([]agentcard.Skill, error) {
	tools.Fill(ctx)
	entries, down := tools.Entries()
	made, problems := skills(entries, of)
	return made, errors.Join(down, problems)
}

// warn logs the problems with the list, once. The caller has the lock.
func (c *Catalog) warn(err error) {
	text := ""
	if err != nil {
		text = visible.Shorten(err.Error(), maxWarning)
	}
	if text != "" && text != c.warned {
		c.log.Warn().Str("error", text).Msg("some tools cannot be listed for the agent card")
	}
	c.warned = text
}

// ListOf returns the skills that a caller may use. The tools of a toolset that fails are not
// among them.
func (c *Catalog) ListOf(ctx context.Context, by auth.Principal) ([]agentcard.Skill, error) {
	select {
	case c.own <- struct{}{}:
		defer func() { <-c.own }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.mu.Lock()
	of := c.of
	c.mu.Unlock()
	made, err := skillsOf(ctx, of, NewLister(of.Registry, of.Agent, by))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		c.log.Warn().Str("error", visible.Shorten(err.Error(), maxWarning)).Msg("some tools cannot be listed for an extended agent card")
	}
	return made, nil
}
