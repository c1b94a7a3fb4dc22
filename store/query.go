package store

import "fmt"

// Query selects tasks. With an Owner the order is newest status first, ties by id, larger
// first; with Tenant and System it is the newest id first.
//
// A task whose status changes between two pages moves to the front and may be missed; any
// other task appears exactly once.
type Query struct {
	Context string // "": any
	State   State  // 0: any
	Since   Millis // status time at or after it; 0: any
	Limit   int    // Defaults to 50; at most 1,000.
	Cursor  string // Next of the previous page; "": first page
}

// Matches reports whether q selects a task with header h, of any owner.
func (q Query) Matches(h *Header) bool {
	return (q.Context == "" || h.Context == q.Context) && (q.State == 0 || h.State == q.State) && h.StatusTime >= q.Since
}

// TaskPage is a page of tasks.
type TaskPage struct {
	Tasks []Header
	Next  string // "": last page
	Total int64  // of all that match, before paging; -1 for Tenant and System
}

// RowQuery selects rows of a kind, in the order of their keys: by task, by index, or all.
type RowQuery struct {
	Kind string
	Task TaskID // zero: of any task, scope or context

	// Context selects the rows of a single context. It needs the Owner scope of that context,
	// and no Task. "": of any context, task or scope.
	Context string

	Key    []byte // with Task or Context, or with an Owner scope alone: exactly this row
	Index  string // name of an index: rows in the order of its keys
	Prefix []byte // with Index: only keys with this prefix
	Limit  int    // Defaults to 50; at most 1,000.
	Cursor string

	// Bytes ends the page before the row with which its values would have more bytes, but not
	// before its first row. 0: no limit.
	Bytes int

	// Keys selects rows without their Rev, Value and Damaged: the values of rows of tasks are not read.
	Keys bool
}

// Validate returns ErrInvalid if the contract does not allow q for s.
func (q RowQuery) Validate(s Scope) error {
	owned := s.IsOwner() || s.IsZero() // the zero scope gets nothing
	switch {
	case q.Context != "" && (!q.Task.IsZero() || !owned):
		return fmt.Errorf("%w: the rows of a context need its owner, and no task", ErrInvalid)
	case q.Key != nil && q.Task.IsZero() && !owned:
		return fmt.Errorf("%w: a row's key needs its task or an owner", ErrInvalid)
	case len(q.Prefix) > 0 && q.Index == "":
		return fmt.Errorf("%w: a prefix needs an index", ErrInvalid)
	}
	return nil
}

// Row is a row.
type Row struct {
	Kind  string
	Task  TaskID // zero when it belongs to a scope or a context
	Owner Scope  // its scope, or the owner of its task or context; zero: lost, see Damaged

	Context string // "" unless it belongs to a context; also when that is lost, see Damaged

	Key   []byte
	Rev   uint64 // 1 when first put, then 1 more each time
	Value []byte

	IndexKey []byte // with RowQuery.Index: the key in that index by which the row was found

	Damaged bool // Rev and Value are lost
}

// RowPage is a page of rows.
type RowPage struct {
	Rows []Row
	Next string // "": last page
}

// Ends reports whether a page with n rows ends before the row with which their values have size
// bytes. It is for implementations.
func (q RowQuery) Ends(n, size int) bool {
	return n == PageSize(q.Limit) || n > 0 && q.Bytes > 0 && size > q.Bytes
}

// PageSize applies the default and the maximum to the limit of a list.
func PageSize(limit int) int {
	if limit <= 0 {
		return 50
	}
	return min(limit, 1000)
}
