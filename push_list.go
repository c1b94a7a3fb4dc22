package a2aserver

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"a2a-server/auth"
	"a2a-server/internal/adminsocket"
	"a2a-server/internal/keyring"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

const (
	// lookedAt is how many webhooks one request looks at, whoever they belong to: those of a
	// tenant are found among those of all.
	lookedAt = 2000
	lookPage = 200
)

// webhooks lists the webhooks of tasks that by oversees. A page may be empty and not the last.
func (s *Server) webhooks(ctx context.Context, by auth.Principal, q adminsocket.Query) (*adminsocket.WebhookPage, error) {
	out := &adminsocket.WebhookPage{Webhooks: []adminsocket.Webhook{}}
	scope := engine.ScopeFor(by, auth.Oversee)
	if q.Anonymous {
		if err := by.May(auth.Admin); err != nil {
			return nil, err
		}
		scope = engine.ScopeFor(auth.Anonymous(), auth.Read)
	}
	if known := []string{"", "active", "retrying", "dead"}; !slices.Contains(known, q.State) {
		return nil, task.Invalid("state", "is not one of active, retrying and dead")
	}
	seal := s.cursors(by, q)
	cursor, ok := seal.open(q.Cursor)
	if !ok {
		return nil, task.Invalid("cursor", "is not one of this list: begin again without one")
	}
	for range lookedAt / lookPage {
		// No more than fit, so that none between the page and its cursor is left out.
		states, next, err := s.push.deliverer.List(ctx, cursor, min(lookPage, q.Limit-len(out.Webhooks)))
		switch {
		case errors.Is(err, store.ErrCursor):
			return nil, task.Invalid("cursor", "is not one of this list: begin again without one")
		case err != nil:
			return nil, err
		}
		for i := range states {
			if one := &states[i]; scope.Covers(one.Owner) && (q.State == "" || q.State == one.State) {
				out.Webhooks = append(out.Webhooks, adminsocket.Webhook{
					ID: one.Config, Task: one.Task.String(), Owner: one.Owner.Subject(), Host: one.Host, State: one.State,
					Tries: one.Tries, Next: one.Next, Error: one.Error, Lag: one.Lag.Seconds(),
				})
			}
		}
		if cursor = next; cursor == "" || len(out.Webhooks) == q.Limit {
			break
		}
	}
	out.Next = seal.seal(cursor)
	return out, nil
}

// cursors marks the cursors of a list as ours: one that somebody has made could say where to
// look.
type cursors struct {
	codes *keyring.MAC
	bound string
}

func (s *Server) cursors(by auth.Principal, q adminsocket.Query) cursors {
	parts := []string{"webhooks", by.Tenant, by.Subject, q.State}
	if q.Anonymous {
		parts = append(parts, "anonymous")
	}
	return cursors{s.keys.MAC(keyring.PageTokens), strings.Join(parts, "\x00") + "\x00"}
}

func (c cursors) seal(cursor string) string {
	if cursor == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(c.codes.Tag([]byte(c.bound+cursor)), cursor...))
}

func (c cursors) open(token string) (cursor string, ok bool) {
	if token == "" {
		return "", true
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) <= keyring.TagSize {
		return "", false
	}
	cursor = string(raw[keyring.TagSize:])
	return cursor, c.codes.Verify([]byte(c.bound+cursor), raw[:keyring.TagSize])
}
