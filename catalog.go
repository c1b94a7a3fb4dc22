package a2aserver

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
	// hangs holds each of them up to listTime.
	ownLists = 16
	// cardAge is how old the skills of a card may be before they are listed again.
	cardAge = 5 * time.Second
	// maxSaid bounds a warning, in characters: each tool may have something wrong.
	maxSaid = 2000
)

// catalog is the list of the card's skills. If toolsets may change, a request for a list older
// than cardAge makes it again.
type catalog struct {
	log   zerolog.Logger
	own   chan struct{}   // a place for each caller whose own tools are being listed
	ctx   context.Context //nolint:containedctx // for listing, which outlives a request
	close context.CancelFunc

	mu      sync.Mutex
	of      *state // what the rest is of
	shelves *shelves
	skills  []agentcard.Skill
	at      time.Time
	said    string        // the newest warning
	listing chan struct{} // closed when the list is made; nil: it is not being made
}

// newCatalog returns the catalog of a state that is in force, which has these tools.
func newCatalog(of *state, tools *shelves, log zerolog.Logger) *catalog {
	c := &catalog{log: log, own: make(chan struct{}, ownLists)}
	c.ctx, c.close = context.WithCancel(context.Background())
	c.set(of, tools)
	return c
}

// set replaces the tools when a state comes into force. It does not log the tools that could
// not be listed: the check of the state did.
func (c *catalog) set(of *state, tools *shelves) {
	entries, _ := tools.entries()
	made, odd := skills(entries, of)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of, c.shelves, c.skills, c.at = of, tools, made, time.Now()
	c.warn(odd)
}

// listLate lists the tools of a state once more, with more time, because a server of tools had
// not answered when it came into force, and logs the problems with them.
func (s *Server) listLate(of *state) {
	tools, warnings, _, err := of.check(listTime) // a shutdown closes the tools, which ends it
	if s.reloads.ended() {
		return
	}
	if err != nil {
		s.log.Error().Err(err).Msg("the tools of a server that was late cannot be used")
		return
	}
	if s.now.Load() == of { // a reload logs its own problems
		warn(s.log, warnings)
		s.catalog.set(of, tools)
		s.log.Info().Str("tools", s.toolNames()).Msg("the tools of servers that were late are listed")
	}
}

// known returns the skills without listing them.
func (c *catalog) known() []agentcard.Skill {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skills
}

// list returns the skills. While toolsets are slow to answer it returns the known skills. The
// slice must not be changed.
func (c *catalog) list() []agentcard.Skill {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.of.registry.Dynamic() || time.Since(c.at) < cardAge || c.ctx.Err() != nil {
		return c.skills
	}
	if c.listing == nil {
		c.listing = make(chan struct{})
		go c.renew(c.of, c.shelves, c.listing)
	}
	made := c.listing
	c.mu.Unlock()
	wait := time.NewTimer(cardTime)
	select {
	case <-made:
	case <-wait.C:
	}
	wait.Stop()
	c.mu.Lock()
	return c.skills
}

// renew makes the list again.
func (c *catalog) renew(of *state, tools *shelves, done chan struct{}) {
	tools.fill(c.ctx)
	entries, down := tools.entries()
	made, odd := skills(entries, of)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(done)
	c.listing = nil
	if c.of != of {
		return // a reload has replaced the tools
	}
	c.skills, c.at = made, time.Now()
	c.warn(errors.Join(down, odd))
}

// warn logs the problems with the list, once. The caller has the lock.
func (c *catalog) warn(err error) {
	says := ""
	if err != nil {
		says = visible.Shorten(err.Error(), maxSaid)
	}
	if says != "" && says != c.said {
		c.log.Warn().Str("error", says).Msg("some tools cannot be listed for the agent card")
	}
	c.said = says
}

// listOf returns the skills that a caller may use. The tools of a toolset that fails are not
// among them.
func (c *catalog) listOf(ctx context.Context, by auth.Principal) ([]agentcard.Skill, error) {
	select {
	case c.own <- struct{}{}:
		defer func() { <-c.own }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.mu.Lock()
	of := c.of
	c.mu.Unlock()
	own := newShelves(of.registry, of.agent, by)
	own.fill(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	entries, down := own.entries()
	made, odd := skills(entries, of)
	if err := errors.Join(down, odd); err != nil {
		c.log.Warn().Str("error", visible.Shorten(err.Error(), maxSaid)).Msg("some tools cannot be listed for an extended agent card")
	}
	return made, nil
}
