package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/view"
)

// Query selects tasks of a caller, newest status first.
type Query struct {
	Context  string
	State    a2a.TaskState // "": any
	Since    time.Time     // status time at or after it; zero: any
	PageSize int           // 1 to 100; 0: 50
	Cursor   string        // NextCursor of the previous page; "": the first page

	// Artifacts asks for the tasks with their artifacts. If false, none are read.
	Artifacts bool
}

// TaskPage is one page of tasks. It is built from at most Config.Page bytes of logs: a task
// whose artifacts do not fit comes without them (see [task.Omitted]), and a task that still
// does not fit begins the next page, unless it is the first. So a page may have fewer tasks
// than requested although more follow. A task that cannot be read is listed, and marked (see
// [task.Damaged]).
type TaskPage struct {
	Tasks      []*task.View
	NextCursor string // "": last page
	Total      int64
	PageSize   int
}

// pageSize returns the size of a page of a client's list, where 0 means 50.
func pageSize(n int) (int, error) {
	if n < 0 || n > 100 {
		return 0, task.Invalid("pageSize", "is %d; 1 to 100 are allowed", n)
	}
	return cmp.Or(n, 50), nil
}

// listError returns the error of a page that the store refuses; cursor is the name that the
// client has for the cursor. The store binds a cursor to scope and filters, and reads each page
// in the scope of its caller: a cursor has no key, because it grants nothing.
func listError(err error, cursor string) error {
	if errors.Is(err, store.ErrCursor) {
		return task.Invalid(cursor, "is not a token of this query: begin again without one")
	}
	return tasklog.Translate(err)
}

// List returns a page of the caller's tasks.
func (r *ReadReservation) List(ctx context.Context, q Query) (*TaskPage, error) {
	size, err := pageSize(q.PageSize)
	if err != nil {
		return nil, err
	}
	sq := store.Query{Context: q.Context, Limit: size, Cursor: q.Cursor}
	if q.State != "" {
		if sq.State, err = task.StateOf(q.State); err != nil {
			return nil, task.Invalid("status", "%v", err)
		}
	}
	if !q.Since.IsZero() {
		sq.Since = store.MillisOf(q.Since)
		if sq.Since.Time().Before(q.Since) {
			sq.Since++ // round up to the next whole millisecond
		}
	}
	if sq.Since > 0 || sq.Context != "" && sq.State != 0 {
		// No index covers both filters, or knows how many tasks match: the scan also reads all
		// tasks that the filters leave out, whatever their number.
		if err := r.work(ctx); err != nil {
			return nil, err
		}
	}
	scope := ScopeFor(r.by, auth.List)
	page, err := r.core.env.Store.Tasks(ctx, scope, sq)
	if err != nil {
		return nil, listError(err, "pageToken")
	}
	list := &TaskPage{NextCursor: page.Next, Total: page.Total, PageSize: size}
	fitting, bytes := fit(page.Tasks, q.Artifacts, uint64(r.core.cfg.Page))
	if n := len(fitting); n < len(page.Tasks) {
		last := &page.Tasks[n-1]
		list.NextCursor = sq.EncodeCursor(scope, store.TaskPosition(last.StatusTime, last.Task))
	}
	if err := r.reserve(ctx, bytes); err != nil {
		return nil, err
	}
	for _, t := range fitting {
		if t.header.Damaged {
			list.Tasks = append(list.Tasks, damagedView(t.header))
			continue
		}
		v := r.core.reader.Views.Get(t.header.Task, t.header.Seq)
		if v == nil {
			f, more, err := r.listed(ctx, scope, t, bytes)
			bytes += more
			switch {
			case errors.Is(err, store.ErrNotFound):
				continue // deleted in the meantime
			case errors.Is(err, store.ErrDataLoss):
				r.core.env.Log.Error().Err(err).Str("task_id", t.header.Task.String()).Msg("a task of a list cannot be read")
				v = damagedView(t.header)
			case err != nil:
				return nil, err
			default:
				v = f.View
			}
		}
		list.Tasks = append(list.Tasks, v)
	}
	return list, nil
}

// listed reads a task for a page that has so many bytes, and returns by how many bytes the
// page grows: the task may have grown since it was found. Parts that do not fit any more are
// left out, as in fit.
func (r *ReadReservation) listed(ctx context.Context, s store.Scope, t listed, bytes uint64) (f *fold.Fold, more uint64, err error) {
	taken := t.header.Size(t.noArtifacts)
	for {
		how := tasklog.Reading{View: true, NoArtifacts: t.noArtifacts, Most: max(taken+more, 1)}
		f, h, err := r.core.reader.Load(ctx, s, t.header.Task, how)
		if err != nil || f != nil {
			return f, more, err
		}
		if grown := h.Size(t.noArtifacts) - taken; !t.noArtifacts && bytes+grown > uint64(r.core.cfg.Page) {
			t.noArtifacts = true
		}
		if size := h.Size(t.noArtifacts); size > taken+more {
			if err := r.reserve(ctx, size-taken-more); err != nil {
				return nil, more, err
			}
			more = size - taken
		}
	}
}

// listed is a task of a page.
type listed struct {
	header      *store.Header
	noArtifacts bool
}

// fit returns the tasks, at least one, that fit into a page of limit bytes, and the size of their logs in
// bytes.
func fit(tasks []store.Header, artifacts bool, limit uint64) (fitting []listed, bytes uint64) {
	for i := range tasks {
		t := listed{&tasks[i], !artifacts}
		if bytes+t.header.Size(t.noArtifacts) > limit {
			t.noArtifacts = true
		}
		size := t.header.Size(t.noArtifacts)
		if bytes+size > limit && i > 0 {
			break
		}
		fitting, bytes = append(fitting, t), bytes+size
	}
	return fitting, bytes
}

// damagedView returns the View that a list shows for a task that cannot be read.
func damagedView(h *store.Header) *task.View {
	v := view.New(h.Task.String(), h.Context)
	v.SetStatus(task.StateName(h.State), h.StatusTime, nil /* message */, nil /* masked */, json.RawMessage(`{"`+task.Damaged+`":true}`))
	return v
}
