package a2aserver

import (
	"context"
	"encoding/base64"
	"errors"
	"math"
	"slices"
	"strings"

	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/keyring"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/push"
)

const (
	// lookedAt is how many webhooks a request looks at, in all tenants: the webhooks of a
	// tenant are found among those of all tenants.
	lookedAt = 2000
	lookPage = 200
)

// webhooks lists the webhooks of tasks that by oversees. A page may be empty and not the last.
func (s *Server) webhooks(ctx context.Context, by auth.Principal, q client.WebhookQuery) (client.WebhookPage, error) {
	out, none := client.WebhookPage{Items: []client.Webhook{}, Off: s.push == nil}, client.WebhookPage{}
	now := s.given.Now()
	scope := engine.ScopeFor(by, auth.Oversee)
	if q.Anonymous {
		if err := by.May(auth.Admin); err != nil {
			return none, err
		}
		scope = engine.ScopeFor(auth.Anonymous(), auth.Read)
	}
	if known := []string{"", "active", "retrying", "dead", "damaged"}; !slices.Contains(known, q.State) {
		return none, task.Invalid("state", "is not one of active, retrying, dead and damaged")
	}
	var of push.Query
	if q.Task != "" {
		var ok bool
		if of.Task, ok = store.ParseTaskID(q.Task); !ok {
			return none, task.ErrTaskNotFound
		}
		_, err := s.store.handle.Read(ctx, scope, of.Task, store.After(math.MaxInt64), store.Limit{Events: 1, Bytes: 1})
		if errors.Is(err, store.ErrNotFound) {
			return none, task.ErrTaskNotFound
		}
	}
	seal := s.cursors(by, q)
	var ok bool
	if of.Cursor, ok = seal.open(q.Cursor); !ok {
		return none, task.Invalid("cursor", "is not a cursor of this list: begin again without a cursor")
	}
	for range lookedAt / lookPage {
		// No more than fit, so that none between the page and its cursor is left out.
		of.Limit = min(lookPage, q.Limit-len(out.Items))
		states, next, err := push.List(ctx, s.store.handle, now, of)
		switch {
		case errors.Is(err, store.ErrCursor):
			return none, task.Invalid("cursor", "is not a cursor of this list: begin again without a cursor")
		case err != nil:
			return none, err
		}
		for i := range states {
			if one := &states[i]; scope.Covers(one.Owner) && (q.State == "" || q.State == one.State) && (q.Principal == "" || one.SetBy(q.Principal)) {
				out.Items = append(out.Items, webhookOf(one))
			}
		}
		if of.Cursor = next; next == "" || len(out.Items) == q.Limit {
			break
		}
	}
	out.Next = seal.seal(of.Cursor)
	return out, nil
}

// webhookOf returns a webhook as it is listed.
func webhookOf(s *push.State) client.Webhook {
	w := client.Webhook{
		ID: s.Config, Number: s.Number, Task: s.Task.String(), Owner: s.Owner.Subject(), Set: s.Set, Host: s.Host, State: s.State,
		Tries: s.Tries, Next: s.Next, Error: s.Error, Lag: s.Lag.Seconds(),
	}
	if by := &s.By; !by.IsZero() {
		w.SetBy = &client.Principal{Tenant: by.Tenant, Subject: by.Subject, Person: by.Person, Kind: string(by.Kind), Roles: by.Roles, Through: by.Chain, Method: by.Method}
	}
	return w
}

// cursors marks the cursors of a list as the server's: a forged cursor could choose where the
// list reads.
type cursors struct {
	codes *keyring.MAC
	bound string
}

func (s *Server) cursors(by auth.Principal, q client.WebhookQuery) cursors {
	parts := []string{"webhooks", by.Tenant, by.Subject, q.State, q.Task, q.Principal}
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
