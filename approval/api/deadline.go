package api

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/client"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// byDeadline lists pending approvals, the least time left first and approvals without a
// deadline last. It sorts the result of the query in memory: an index would cost every waiting
// task room on the disk.
func (s *Service) byDeadline(ctx context.Context, c Caller, q client.ApprovalQuery) (client.ApprovalPage, error) {
	page := client.ApprovalPage{Items: []client.Approval{}}
	after, ok := decodePlace(q.Cursor)
	if !ok {
		return page, task.Invalid("cursor", "is not a cursor of this list: begin again without a cursor")
	}
	list := s.approvals(c)
	type placed struct {
		place string
		*approval.Approval
	}
	var all []placed
	of, seen := engine.ApprovalQuery{Limit: 1000}, 0
	for {
		got, err := list.List(ctx, c.By, of)
		if err != nil {
			return page, err
		}
		page.Damaged += got.Damaged
		for i := range got.Approvals {
			a := &got.Approvals[i]
			if place := placeOf(a); place > after && s.selects(c, list, q, a) {
				all = append(all, placed{place, a})
			}
		}
		seen += len(got.Approvals)
		if of.Cursor = got.Next; of.Cursor == "" {
			break
		}
		if seen >= maxSorted {
			return page, task.Invalid("order", "is for at most %d pending approvals, and more are pending: order them by time", maxSorted)
		}
	}
	slices.SortFunc(all, func(a, b placed) int { return cmp.Compare(a.place, b.place) })
	if len(all) > q.Limit {
		all = all[:q.Limit]
		page.Next = base64.RawURLEncoding.EncodeToString([]byte(all[q.Limit-1].place))
	}
	for i := range all {
		page.Items = append(page.Items, s.listed(c, list, all[i].Approval))
	}
	return page, nil
}

// placeOf returns the place of an approval in the order of deadlines. Places compare as text.
func placeOf(a *approval.Approval) string {
	at := "~" // after every digit
	if a.Deadline != nil {
		at = a.Deadline.UTC().Format("20060102150405.000")
	}
	return at + " " + a.Asked.UTC().Format(time.RFC3339Nano) + " " + a.ID
}

func decodePlace(cursor string) (place string, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	return string(raw), err == nil && (cursor == "" || strings.Count(string(raw), " ") == 2)
}
