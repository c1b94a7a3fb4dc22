package a2aserver

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

const (
	// lookedAt is how many webhooks or messages of a scope a request looks at.
	lookedAt = 2000
	lookPage = 200
)

// overseen returns the scope of the webhooks or messages that by oversees, or that have no
// authenticated owner. A state is one of states, or "".
func overseen(by auth.Principal, anonymous bool, state string, states ...string) (store.Scope, error) {
	scope := engine.ScopeFor(by, auth.Oversee)
	if anonymous {
		if err := by.May(auth.Admin); err != nil {
			return store.Scope{}, err
		}
		scope = engine.ScopeFor(auth.Anonymous(), auth.Read)
	}
	if last := len(states) - 1; state != "" && !slices.Contains(states, state) {
		return store.Scope{}, task.Invalid("state", "is not one of %s and %s", strings.Join(states[:last], ", "), states[last])
	}
	return scope, nil
}

// readPage returns a page of a list, with the items that item selects. It may be empty and not the
// last.
func readPage[S, T any](prefix, cursor string, limit int, list func(cursor string, limit int) ([]S, string, error), item func(*S) (T, bool)) (items []T, next string, err error) {
	if next, err = openCursor(prefix, cursor); err != nil {
		return nil, "", err
	}
	items = []T{}
	for range lookedAt / lookPage {
		// No more than fit, so that none between the page and its cursor is left out.
		var states []S
		states, next, err = list(next, min(lookPage, limit-len(items)))
		switch {
		case errors.Is(err, store.ErrCursor):
			return nil, "", errCursor()
		case err != nil:
			return nil, "", err
		}
		for i := range states {
			if one, ok := item(&states[i]); ok {
				items = append(items, one)
			}
		}
		if next == "" {
			return items, "", nil
		}
		if len(items) == limit {
			break
		}
	}
	return items, prefix + next, nil
}

// cursorPrefix is the beginning of the cursors of a list with filters that the store does not
// know. A cursor that was made for other filters is refused.
func cursorPrefix(filters ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(filters, "\x00")))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// openCursor returns the store's cursor in a cursor with a prefix.
func openCursor(prefix, cursor string) (string, error) {
	inner, ok := strings.CutPrefix(cursor, prefix)
	if cursor != "" && (!ok || inner == "") {
		return "", errCursor()
	}
	return inner, nil
}

func errCursor() error {
	return task.Invalid("cursor", "is not a cursor of this list: begin again without a cursor")
}
