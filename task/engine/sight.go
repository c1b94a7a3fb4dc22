package engine

import (
	"context"
	"fmt"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/sight"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/record"
)

// taskSight is what a reader sees of a task. Its zero value is everything.
type taskSight struct {
	masked bool // not what gates mask
	bare   bool // of the conversation only that something is asked
}

// taskSight returns what by sees of a task that by reaches in a scope.
func (c *core) taskSight(ctx context.Context, by auth.Principal, scope, owner store.Scope, id store.TaskID) (sees taskSight, err error) {
	if owner == ownerOf(by) {
		return taskSight{}, nil
	}
	list := &Approvals{core: c, anonymous: owner == ownerOf(auth.Anonymous())}
	q := store.RowQuery{Kind: record.KindApproval, Index: record.IndexHides, Prefix: []byte(id.String())}
	for row, err := range store.AllRows(ctx, c.env.Store, scope, q) {
		if err != nil {
			return taskSight{masked: true, bare: true}, fmt.Errorf("read what gates hide of task %s: %w", id, err)
		}
		a, err := tasklog.ReadApproval(row)
		if err != nil { // nobody knows what it hides
			return taskSight{masked: true, bare: true}, nil // the task can be read
		}
		if !a.Masks() {
			continue
		}
		seen := sight.Of(list.Reader(by, &a), sight.Task)
		sees.masked = sees.masked || seen.Arguments != sight.Whole
		sees.bare = sees.bare || a.Terms.MaskTask && seen.Kept != sight.Whole
	}
	return sees, nil
}

// view returns a View as the reader sees it.
func (s taskSight) view(v *task.View) *task.View {
	if !s.masked {
		return v
	}
	return v.Masked(s.bare)
}

// calls returns the calls of a task as the reader sees them: of bare tasks without arguments and results.
func (s taskSight) calls(all []task.CallStatus) []task.CallStatus {
	for i := range all {
		switch c := &all[i]; {
		case s.bare:
			c.Args, c.Result, c.Error = nil, nil, ""
		case s.masked:
			c.Args, c.Result = approval.MaskArgs(c.Args, c.Mask), approval.MaskJSON(c.Result, c.Mask)
		}
	}
	return all
}

// data returns the StreamResponse of a public event as the reader sees it; nil: they do not see it.
func (s taskSight) data(e *Event, id, context string) ([]byte, error) {
	switch {
	case s.bare:
		return event.Bare(e, id, context)
	case s.masked:
		return event.Masked(e)
	}
	return event.Whole(e)
}
