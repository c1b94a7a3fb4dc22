package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"a2a-server/auth"
	"a2a-server/task"
	"a2a-server/tool"
)

const (
	// listTime is how long the toolsets may take to list their tools.
	listTime = 5 * time.Second
	// startTime is how long the start waits for servers of tools. Their tools appear when
	// they answer.
	startTime = 250 * time.Millisecond
)

// errSlow means that a toolset has not listed its tools in time.
var errSlow = fmt.Errorf("it has not listed its tools within %v", listTime)

// shelf has the tools of one toolset that a caller may use.
type shelf struct {
	of      tool.Member
	asked   bool          // it has not answered yet
	entries []*tool.Entry // that it listed last
	err     error         // why the tools are old or incomplete
}

// shelves has the shelves of all toolsets of a registry, for one caller.
type shelves struct {
	agent string
	by    auth.Principal
	mu    sync.Mutex
	all   []*shelf
}

// newShelves returns the shelves of a registry for a caller, which are empty.
func newShelves(registry *tool.Registry, agent string, by auth.Principal) *shelves {
	s := &shelves{agent: agent, by: by}
	for _, m := range registry.Members() {
		s.all = append(s.all, &shelf{of: m})
	}
	return s
}

// fill asks all toolsets at once, and waits for their answers until they, or ctx, have taken
// too long. A toolset that does not end when its context does is not asked again before it
// has ended.
func (s *shelves) fill(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTime, errSlow)
	defer cancel()
	answered := make(chan struct{}, len(s.all))
	waiting := 0
	s.mu.Lock()
	for _, one := range s.all {
		if one.asked {
			continue
		}
		one.asked, one.err = true, fmt.Errorf("toolset %q: %w", one.of.Name(), errSlow)
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
			done, over = nil, time.After(listTime/10)
		case <-over:
			return
		}
	}
}

// ask lists the tools of a toolset. If it fails, its earlier tools remain: the toolset is
// down, and its tools are not gone.
func (s *shelves) ask(ctx context.Context, one *shelf, answered chan<- struct{}) {
	var entries []*tool.Entry
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

// entries returns the known tools. The error lists the missing and the possibly outdated
// tools.
func (s *shelves) entries() ([]*tool.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lists [][]*tool.Entry
	var errs []error
	for _, one := range s.all {
		lists = append(lists, one.entries)
		errs = append(errs, one.err)
	}
	all, err := tool.JoinEntries(lists...)
	return all, errors.Join(append(errs, err)...)
}
