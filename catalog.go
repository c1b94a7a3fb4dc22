package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/auth"
	"a2a-server/task"
	"a2a-server/tool"
)

const (
	// listTime is how long all toolsets together may take to list their tools, at the start
	// and later.
	listTime = 5 * time.Second
	// cardTime is how long a request for the card waits for that.
	cardTime = time.Second
	// cardAge is how old the skills of a card may be before they are listed again.
	cardAge = 5 * time.Second
)

// errSlow means that the toolsets have not listed their tools in time.
var errSlow = fmt.Errorf("a toolset has not listed its tools within %v", listTime)

// anonymousTools returns the tools that anonymous callers may use. With an error it
// returns those of the toolsets that answer. A toolset that does not end when its context
// does is abandoned.
func anonymousTools(ctx context.Context, registry *tool.Registry, agent string) ([]tool.Tool, error) {
	type listed struct {
		tools []tool.Tool
		err   error
	}
	ctx, cancel := context.WithTimeoutCause(ctx, listTime, errSlow)
	done := make(chan listed, 1)
	go func() {
		defer cancel()
		var l listed
		defer func() { done <- l }() // also when a toolset ends the goroutine
		l.err = errors.New("a toolset ended its goroutine")
		l.tools, l.err = registry.Tools((&task.Rules{Agent: agent}).Readonly(ctx, auth.Anonymous()))
	}()
	select {
	case l := <-done:
		return l.tools, l.err
	case <-ctx.Done():
	}
	select {
	case l := <-done: // it ended with its context, or just before
		return l.tools, l.err
	case <-time.After(listTime / 10):
		known, _ := registry.Static()
		return known, context.Cause(ctx)
	}
}

// catalog is the list of the card's skills. If toolsets may change, it is made again when
// somebody asks for it and it is older than cardAge.
type catalog struct {
	now   *live
	log   zerolog.Logger
	ctx   context.Context //nolint:containedctx // for listing, which outlives a request
	close context.CancelFunc

	mu      sync.Mutex
	of      *state // what tools and skills are of
	tools   []tool.Tool
	skills  []a2a.Skill
	at      time.Time
	said    string        // the newest warning
	listing chan struct{} // closed when the list is made; nil: it is not being made
}

// newCatalog returns the catalog of the state that is in force, which has these tools.
func newCatalog(now *live, tools []tool.Tool, log zerolog.Logger) *catalog {
	c := &catalog{now: now, log: log}
	c.ctx, c.close = context.WithCancel(context.Background())
	c.set(now.Load(), tools)
	return c
}

// set replaces the tools, when a state comes into force.
func (c *catalog) set(of *state, tools []tool.Tool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of, c.tools, c.skills, c.at = of, tools, skills(tools, of.conf), time.Now()
}

// known returns the skills without listing them.
func (c *catalog) known() []a2a.Skill {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skills
}

// list returns the skills. While toolsets take long to answer it returns those that are
// known. The slice must not be changed.
func (c *catalog) list() []a2a.Skill {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.of.registry.Dynamic() || time.Since(c.at) < cardAge || c.ctx.Err() != nil {
		return c.skills
	}
	if c.listing == nil {
		c.listing = make(chan struct{})
		go c.renew(c.listing)
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

// renew makes the list again. The tools of a toolset that fails remain in it: they are
// down, and not gone.
func (c *catalog) renew(made chan struct{}) {
	of := c.now.Load()
	tools, err := anonymousTools(c.ctx, of.registry, of.agent)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(made)
	c.listing = nil
	if c.of != of {
		return // a reload has set others, or is about to
	}
	c.at = time.Now()
	says := ""
	if err != nil {
		says = err.Error()
		for _, t := range c.tools {
			if !slices.ContainsFunc(tools, func(o tool.Tool) bool { return o.Name() == t.Name() }) {
				tools = append(tools, t)
			}
		}
	}
	if says != "" && says != c.said {
		c.log.Warn().Err(err).Msg("some tools cannot be listed for the agent card")
	}
	c.said = says
	c.tools, c.skills = tools, skills(tools, of.conf)
}
