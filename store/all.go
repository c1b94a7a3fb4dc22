package store

import (
	"context"
	"iter"
)

// AllRows yields the rows that q selects, page by page from the first; q.Limit is that of a page. A
// page is read when the rows before it have been taken. After an error there is nothing more.
func AllRows(ctx context.Context, from interface {
	Rows(ctx context.Context, s Scope, q RowQuery) (RowPage, error)
}, s Scope, q RowQuery) iter.Seq2[*Row, error] {
	return all(func(cursor string) ([]Row, string, error) {
		q.Cursor = cursor
		page, err := from.Rows(ctx, s, q)
		return page.Rows, page.Next, err
	})
}

// AllTasks is [AllRows] for the headers of tasks.
func AllTasks(ctx context.Context, from Store, s Scope, q Query) iter.Seq2[*Header, error] {
	return all(func(cursor string) ([]Header, string, error) {
		q.Cursor = cursor
		page, err := from.Tasks(ctx, s, q)
		return page.Tasks, page.Next, err
	})
}

func all[T any](read func(cursor string) (page []T, next string, err error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for cursor, more := "", true; more; more = cursor != "" {
			page, next, err := read(cursor)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page {
				if !yield(&page[i], nil) {
					return
				}
			}
			cursor = next
		}
	}
}
