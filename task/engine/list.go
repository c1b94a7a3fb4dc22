package engine

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/auth"
	"a2a-server/store"
	"a2a-server/task"
)

// Query selects tasks of a caller, newest status first.
type Query struct {
	Context  string
	State    a2a.TaskState // "": any
	Since    time.Time     // status not older than it; zero: any
	PageSize int           // 1 to 100; 0: 50
	Cursor   string        // NextCursor of the page before
}

// List is one page of tasks.
type List struct {
	Tasks      []*task.View
	NextCursor string // "": last page
	Total      int64
	PageSize   int
}

// List returns a page of the caller's tasks.
func (e *Engine) List(ctx context.Context, by auth.Principal, q Query) (*List, error) {
	if q.PageSize == 0 {
		q.PageSize = 50
	}
	if q.PageSize < 1 || q.PageSize > 100 {
		return nil, task.Invalid("pageSize", "is %d; 1 to 100 are allowed", q.PageSize)
	}
	sq := store.Query{Context: q.Context, Limit: q.PageSize, Cursor: q.Cursor}
	if q.State != "" {
		var err error
		if sq.State, err = task.StateOf(q.State); err != nil {
			return nil, task.Invalid("status", "%v", err)
		}
	}
	if !q.Since.IsZero() {
		sq.Since = store.MillisOf(q.Since)
		if sq.Since.Time().Before(q.Since) {
			sq.Since++ // a part of a millisecond: the next whole one
		}
	}
	scope := ScopeOf(by)
	page, err := e.store.Tasks(ctx, scope, sq)
	if errors.Is(err, store.ErrCursor) {
		return nil, task.Invalid("pageToken", "is not a token of this query: begin again without one")
	}
	if err != nil {
		return nil, err
	}
	list := &List{NextCursor: page.Next, Total: page.Total, PageSize: q.PageSize}
	for i := range page.Tasks {
		v, err := e.view(ctx, scope, &page.Tasks[i])
		if errors.Is(err, task.ErrTaskNotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		list.Tasks = append(list.Tasks, v)
	}
	return list, nil
}
