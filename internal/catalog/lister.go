package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"a2a-server/auth"
	"a2a-server/internal/lists"
	"a2a-server/task"
	"a2a-server/tool"
)

// ListTime is how long the toolsets may take to list their tools.
const ListTime = 5 * time.Second

// ErrSlow means that a toolset has not listed its tools in time.
var ErrSlow = fmt.Errorf("it has not listed its tools within %v", ListTime)

// source is a toolset, with the tools that a caller may use.
type source struct {
	of      *tool.Member
	asked   bool               // it has not answered yet
	entries []*tool.Registered // that it listed last
	err     error              // why the tools are old or incomplete
}

// A Lister lists the tools of a registry for one caller.
type Lister struct {
	agent string
	by    auth.Principal
	mu    sync.Mutex
	all   []*source
}

// NewLister returns a lister of a registry's tools for a caller, which knows none yet.
func NewLister(registry *tool.Registry, agent string, by auth.Principal) *Lister {
	return &Lister{agent: agent, by: by, all: lists.Map(registry.Members(), func(m *tool.Member) *source { return &source{of: m} })}
}

// ListerOf returns a lister of toolsets, whose tools may have the same names.
func ListerOf(agent string, by auth.Principal, sets ...tool.Toolset) *Lister {
	return &Lister{agent: agent, by: by, all: lists.Map(sets, func(set tool.Toolset) *source {
		return &source{of: tool.NewRegistry(set).Members()[0]} // it does not compare names
	})}
}

// Fill asks all toolsets at once, and waits for their answers until they, or ctx, have taken
// too long. A toolset that does not end when its context does is not asked again before it
// has ended.
func (s *Lister) Fill(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, ListTime, ErrSlow)
	defer cancel()
	answered := make(chan struct{}, len(s.all))
	waiting := 0
	s.mu.Lock()
	for _, one := range s.all {
		if one.asked {
			continue
		}
		one.asked, one.err = true, fmt.Errorf("toolset %q: %w", one.of.Name(), ErrSlow)
		waiting++
		go s.ask(ctx, one, answered)
	}
	s.mu.Unlock()
	done, over := ctx.Done(), (<-chan time.Time)(nil)
	for waiting > 0 {
		select {
		case <-answered:
			waiting--
		case <-done: // most end with their context, or just before
			done, over = nil, time.After(ListTime/10)
		case <-over:
			return
		}
	}
}

// ask lists the tools of a toolset. If it fails, its earlier tools remain: the toolset is
// down, and its tools are not gone.
func (s *Lister) ask(ctx context.Context, one *source, answered chan<- struct{}) {
	var entries []*tool.Registered
	err := fmt.Errorf("toolset %q ended its goroutine", one.of.Name())
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		one.asked, one.err = false, err
		if entries != nil {
			one.entries = entries
		}
		answered <- struct{}{}
	}()
	entries, err = one.of.Entries(task.NewReadonlyContext(ctx, s.agent, s.by))
}

// Entries returns the known tools. The error lists the missing and the possibly outdated
// tools.
func (s *Lister) Entries() ([]*tool.Registered, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lists [][]*tool.Registered
	var errs []error
	for _, one := range s.all {
		lists = append(lists, one.entries)
		errs = append(errs, one.err)
	}
	all, err := tool.JoinEntries(lists...)
	return all, errors.Join(append(errs, err)...)
}

// List returns the known tools of toolset n. The error says what is missing or possibly outdated.
func (s *Lister) List(n int) ([]*tool.Registered, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[n].entries, s.all[n].err
}
