package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"a2a-server/approval"
	"a2a-server/client"
	"a2a-server/task/engine"
)

const (
	// maxLooked is how many approvals a page of a list looks at, and maxRead how many bytes of them it
	// reads before it ends.
	maxLooked = 1000
	maxRead   = 2 << 20
	// readSize is how many bytes of approvals are in memory at a time while a page is read.
	readSize = 256 << 10
)

// each calls selects with the approvals of a list until that has taken limit of them, or the list has
// been looked at for a page. It reserves the memory for them in answer, and returns the cursor of the
// rest and how many approvals are damaged.
func (s *Service) each(ctx context.Context, c Caller, answer *engine.ReadReservation, q engine.ApprovalQuery, limit int, selects func(*approval.Approval) bool) (next string, damaged int, err error) {
	if err := answer.Reserve(readSize); err != nil {
		return "", 0, err
	}
	list := s.approvals(c)
	q.Bytes = readSize
	for taken, looked, read := 0, 0, 0; ; {
		q.Limit = limit - taken
		page, err := list.List(ctx, c.By, q)
		if err != nil {
			return "", damaged, err
		}
		for i := range page.Approvals {
			if selects(&page.Approvals[i]) {
				taken++
			}
		}
		damaged += page.Damaged
		looked, read = looked+len(page.Approvals)+page.Damaged, read+page.Bytes
		if q.Cursor = page.Next; page.Next == "" || taken == limit || looked >= maxLooked || read >= maxRead {
			return page.Next, damaged, nil
		}
	}
}

// Pending counts the pending approvals that the caller sees, up to limit.
func (s *Service) Pending(ctx context.Context, c Caller, limit int) (n int, more bool, err error) {
	return s.approvals(c).Count(ctx, c.By, limit)
}

const (
	// maxListed is how many bytes a list shows of the arguments of an approval, and of each of its
	// other texts and values.
	maxListed = 4 << 10
	// maxMember is how many bytes it shows of each of the arguments, if not all of them fit.
	maxMember = 256
)

// cut leaves out of an approval of a list what is too large for a list. Such an approval has no digest
// and no permission to decide, so that nobody decides what was not shown whole.
func cut(a *client.Approval) {
	values, texts := []*json.RawMessage{&a.Payload, &a.Schema}, []*string{&a.Hint, &a.Words, &a.Description}
	if r := a.Resolution; r != nil {
		values, texts = append(values, &r.Arguments, &r.Response), append(texts, &r.Reason)
	}
	for _, value := range values {
		if len(*value) > maxListed {
			*value, a.Cut = nil, true
		}
	}
	for _, text := range texts {
		if len(*text) > maxListed {
			*text, a.Cut = clip(*text, maxListed), true
		}
	}
	if len(a.Arguments) > maxListed {
		a.Arguments, a.Cut = cutArguments(a.Arguments), true
	}
	if a.Cut {
		a.Digest = ""
		if a.May != nil && a.May.Decide {
			a.May = nil
		}
	}
}

func clip(text string, most int) string { return strings.ToValidUTF8(text[:most], "") + "…" }

// cutArguments returns the object of arguments with its beginning in at most [maxListed] bytes.
func cutArguments(raw json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return json.RawMessage("{}")
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if value := all[name]; len(value) > maxMember {
			shown := fmt.Sprintf("[%d bytes, cut]", len(value))
			var text string
			if json.Unmarshal(value, &text) == nil && len(text) > maxMember {
				shown = clip(text, maxMember) + " " + shown
			}
			all[name], _ = json.Marshal(shown) // a string cannot fail
		}
		if size += len(name) + len(all[name]); size > maxListed {
			delete(all, name)
		}
	}
	out, err := json.Marshal(all)
	if err != nil {
		return json.RawMessage("{}")
	}
	return out
}
