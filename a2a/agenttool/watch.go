package agenttool

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval/dialect"
	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// maxAway is how long a child that cannot be looked at counts as unchanged, such as during a restart of
// its agent. minMisses is how many looks have to fail for that, too: a machine that sleeps in the middle
// of a look ends the look.
const (
	maxAway   = time.Minute
	minMisses = 3
)

// misses are the looks at a child that have failed in a row, and those that are under way.
type misses struct {
	since time.Time // the first began
	looks int
}

// Watch implements [tool.Watcher]: it looks at the child of a suspended call.
func (t *remoteAgent) Watch(ctx tool.Context, raw json.RawMessage) ([]tool.Waiting, error) {
	r := &run{remoteAgent: t, ctx: ctx}
	if err := json.Unmarshal(raw, &r.state); err != nil {
		return nil, err
	}
	// A look that hangs is given up before it can say so; the next look does.
	if away := t.miss(r.state.Child); r.overdue() || away && r.state.Seen != "" {
		t.back(r.state.Child)
		return nil, nil
	}
	client, err := t.remote.connect(ctx)
	var child *a2a.Task
	if err == nil {
		r.client = client
		child, err = r.get()
	}
	if err != nil && !errors.Is(err, a2a.ErrTaskNotFound) {
		return nil, tool.ErrUnchanged
	}
	t.back(r.state.Child)
	if err != nil {
		return nil, err
	}
	if child.ID != r.state.Child || r.seenOf(&child.Status) != r.state.Seen {
		return nil, nil
	}
	if waits := r.waits(&child.Status); len(waits) > 0 {
		return waits, nil
	}
	return nil, tool.ErrUnchanged
}

// miss counts a look at a child, until [remoteAgent.back] says that it was there, and reports whether the
// looks before it make the child away.
func (t *remoteAgent) miss(child a2a.TaskID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.away[child]
	away := m.looks >= minMisses && t.Now().Sub(m.since) >= maxAway
	if m.looks == 0 {
		m.since = t.Now()
	}
	m.looks++
	t.away[child] = m
	return away
}

// back forgets the looks at a child that have failed.
func (t *remoteAgent) back(child a2a.TaskID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.away, child)
}

// overdue reports whether a child that only works, or cannot be looked at, has had its time.
func (r *run) overdue() bool {
	return !r.state.Since.IsZero() && r.Now().Sub(r.state.Since) > maxUnreached
}

// seenOf returns the status of the child as far as a suspended call depends on it: a child that only
// works may say anything about it.
func (r *run) seenOf(status *a2a.TaskStatus) string {
	switch s := status.State; {
	case s == a2a.TaskStateInputRequired || s == a2a.TaskStateAuthRequired:
		raw, _ := json.Marshal(status.Message) // it was read from JSON
		return string(s) + " " + hashed(8, raw)
	case len(r.waits(status)) > 0:
		return "waits"
	default:
		return string(s)
	}
}

// waits returns the decisions for which a child that works waits, none if it waits for none. A decision
// whose time is over does not count: the agent should have gone on.
func (r *run) waits(status *a2a.TaskStatus) []tool.Waiting {
	if status.State != a2a.TaskStateWorking {
		return nil
	}
	var waits []tool.Waiting
	for _, w := range dialect.ReadWaiting(status.Message) {
		if !w.Expires.IsZero() && r.Now().Sub(w.Expires) > maxAway {
			continue
		}
		if w.ID = r.Name() + "/" + w.ID; len(w.ID) > maxID {
			w.ID = r.Name() + "#" + hashed(16, []byte(w.ID))
		}
		if w.Agent != "" {
			w.Agent = "/" + visible.Clip(w.Agent, maxAgents)
		}
		w.Agent = r.Name() + w.Agent
		waits = append(waits, w)
	}
	return waits
}

// maxAgents limits the names of the agents behind an agent, in characters.
const maxAgents = 200
