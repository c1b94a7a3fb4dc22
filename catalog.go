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
	"a2a-server/internal/app/config"
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
	registry *tool.Registry
	config   *config.Config
	log      zerolog.Logger
	ctx      context.Context //nolint:containedctx // for listing, which outlives a request
	close    context.CancelFunc

	mu      sync.Mutex
	tools   []tool.Tool
	skills  []a2a.Skill
	at      time.Time
	said    string        // the newest warning
	listing chan struct{} // closed when the list is made; nil: it is not being made
}

func newCatalog(registry *tool.Registry, c *config.Config, tools []tool.Tool, log zerolog.Logger) *catalog {
	k := &catalog{registry: registry, config: c, log: log, tools: tools, skills: skills(tools, c), at: time.Now()}
	k.ctx, k.close = context.WithCancel(context.Background())
	return k
}

// list returns the skills. While toolsets take long to answer it returns those that are
// known. The slice must not be changed.
func (c *catalog) list() []a2a.Skill {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) < cardAge || c.ctx.Err() != nil {
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
	tools, err := anonymousTools(c.ctx, c.registry, c.config.Agent.Name)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(made)
	c.listing, c.at = nil, time.Now()
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
	c.tools, c.skills = tools, skills(tools, c.config)
}
