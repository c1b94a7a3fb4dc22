package engine

import (
	"context"
	"fmt"
	"strings"

	"a2a-server/auth"
	"a2a-server/internal/failure"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/engine/internal/turn"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
)

// ErrNoPush means that this engine sends no push notifications: [Config.Push] is not set.
var ErrNoPush = failure.New(failure.NoPush, "push notifications are not supported")

// Sealer encrypts the secrets of webhooks for the store. It is safe for concurrent use. Bound
// data is not stored with a secret: Open needs the same bytes, so that a sealed secret cannot
// be used for another webhook.
type Sealer interface {
	Seal(secret, bound []byte) (sealed []byte, err error)
	Open(sealed, bound []byte) (secret []byte, err error)
}

// PushConfig is a webhook of a task, as its owner sets it.
type PushConfig struct {
	ID          string // at most 256 bytes; "": a new id is made
	URL         string // at most 2 KiB; it is not checked here where it leads
	Token       string // at most 8 KiB; "": none
	Scheme      string // of Authorization, at most 64 bytes; "": none
	Credentials string // at most 8 KiB; only with Scheme
	Version     string // of the protocol that the webhook expects: "1.0" or "0.3"
}

// The limits of a [PushConfig], in bytes.
const (
	maxPushURL    = 2 << 10
	maxPushSecret = 8 << 10
	maxPushScheme = 64
)

// PushPage is a page of the webhooks of a task, in the order of their ids.
type PushPage struct {
	Configs []PushConfig
	Next    string // "": last page
}

// validate returns a [task.InvalidError] if c cannot be sent as headers of a request, or is
// too large.
func (c *PushConfig) validate() error {
	for _, f := range []struct {
		name, value string
		limit       int
	}{
		{"id", c.ID, maxID}, {"url", c.URL, maxPushURL}, {"token", c.Token, maxPushSecret},
		{"authentication.scheme", c.Scheme, maxPushScheme}, {"authentication.credentials", c.Credentials, maxPushSecret},
	} {
		if len(f.value) > f.limit {
			return task.Invalid(f.name, "has %d bytes; at most %d are allowed", len(f.value), f.limit)
		}
		if strings.ContainsFunc(f.value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return task.Invalid(f.name, "has control characters")
		}
	}
	switch {
	case c.URL == "":
		return task.Invalid("url", "is required")
	case strings.Contains(c.Scheme, " "):
		return task.Invalid("authentication.scheme", "is one word, such as Bearer")
	case c.Scheme == "" && c.Credentials != "":
		return task.Invalid("authentication.scheme", "is required with credentials")
	case c.Version != "1.0" && c.Version != "0.3":
		return task.Invalid("version", "is not 1.0 or 0.3")
	}
	return nil
}

// mayPush returns why by cannot set or see any webhook, nil if it can.
func (e *Engine) mayPush(by auth.Principal) error {
	if e.cfg.Push == nil {
		return ErrNoPush
	}
	return by.May(auth.Push)
}

// SetPush sets a webhook of a task of by, and returns it with its id. It replaces a webhook
// with the same id: the new webhook gets the notifications still due, even if the old webhook
// was dead, and is alive again. On a task that has ended, webhooks can only be replaced.
//
// Errors: [ErrNoPush], [*auth.DeniedError], [task.ErrTaskNotFound], [task.InvalidError],
// [task.StateError], and those of the store.
func (e *Engine) SetPush(ctx context.Context, by auth.Principal, id ID, c PushConfig) (PushConfig, error) {
	if err := e.mayPush(by); err != nil {
		return PushConfig{}, err
	}
	scope := ScopeFor(by, auth.Push)
	_, err := e.turns.ChangeAs(ctx, turn.Sender{By: by}, scope, id, func(by auth.Principal) (rules.Input, error) {
		return e.webhook(ctx, by, scope, id, &c, false /* created */)
	})
	return c, tasklog.Translate(err)
}

// webhook returns the input that sets a webhook, and gives c an id if it has none. created
// says that the task does not exist yet.
func (e *Engine) webhook(ctx context.Context, by auth.Principal, scope store.Scope, id store.TaskID, c *PushConfig, created bool) (*rules.SetWebhook, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	fresh := created || c.ID == ""
	if c.ID == "" {
		c.ID = e.cfg.NewID().String()
	}
	in := &rules.SetWebhook{
		Epoch:   e.env.Store.Epoch(),
		Webhook: record.Webhook{ID: c.ID, Scheme: c.Scheme, Version: c.Version, By: by},
	}
	secrets := record.WebhookSecrets{URL: c.URL, Token: c.Token, Credentials: c.Credentials}
	if err := in.Webhook.Seal(id, secrets, e.cfg.Push.Seal); err != nil {
		return nil, fmt.Errorf("seal the secrets of a webhook: %w", err)
	}
	if fresh {
		return in, nil
	}
	old, err := e.pushRow(ctx, scope, id, c.ID)
	if err != nil || old == nil {
		return in, err
	}
	in.Replaces, in.Position = old.N, old.Start
	rows, err := e.env.Store.Rows(ctx, scope, store.RowQuery{Kind: record.KindPushCursor, Task: id, Key: record.PushKey(old.ID, old.N)})
	if err != nil || len(rows.Rows) == 0 {
		return in, err
	}
	cursor, err := record.ParsePushCursor(&rows.Rows[0])
	in.Position = max(in.Position, cursor.Seq)
	return in, err
}

// pushRow returns the stored row of a webhook, nil if there is none.
func (e *Engine) pushRow(ctx context.Context, scope store.Scope, id store.TaskID, webhook string) (*record.Webhook, error) {
	if webhook == "" || len(webhook) > maxID {
		return nil, nil
	}
	rows, err := e.env.Store.Rows(ctx, scope, store.RowQuery{Kind: record.KindPush, Task: id, Key: []byte(webhook)})
	if err != nil || len(rows.Rows) == 0 {
		return nil, err
	}
	w, err := record.ParseWebhook(&rows.Rows[0])
	return &w, err
}

// Push returns a webhook of a task of by's, without its token and credentials. If there is no such
// webhook, or no such task, the error is [task.ErrTaskNotFound].
func (e *Engine) Push(ctx context.Context, by auth.Principal, id ID, config string) (PushConfig, error) {
	if err := e.mayPush(by); err != nil {
		return PushConfig{}, err
	}
	w, err := e.pushRow(ctx, ScopeFor(by, auth.Push), id, config)
	switch {
	case err != nil:
		return PushConfig{}, tasklog.Translate(err)
	case w == nil:
		return PushConfig{}, task.ErrTaskNotFound
	}
	return e.shown(id, w), nil
}

// shown returns a webhook as its owner sees it, without token and credentials. If its secrets
// cannot be opened, only scheme and host of the URL are left.
func (e *Engine) shown(id store.TaskID, w *record.Webhook) PushConfig {
	c := PushConfig{ID: w.ID, URL: w.URL, Scheme: w.Scheme, Version: w.Version}
	if secrets, err := w.Open(id, e.cfg.Push.Open); err == nil {
		c.URL = secrets.URL
	}
	return c
}

// PushList returns a page of the webhooks of a task of by's, like [Engine.Push]. limit
// defaults to 50 and is at most 100; token is [PushPage.Next] of the previous page.
func (e *Engine) PushList(ctx context.Context, by auth.Principal, id ID, limit int, token string) (PushPage, error) {
	if err := e.mayPush(by); err != nil {
		return PushPage{}, err
	}
	limit, err := pageSize(limit)
	if err != nil {
		return PushPage{}, err
	}
	scope := ScopeFor(by, auth.Push)
	if _, err := e.header(ctx, scope, id); err != nil {
		return PushPage{}, err
	}
	rows, err := e.env.Store.Rows(ctx, scope, store.RowQuery{Kind: record.KindPush, Task: id, Limit: limit, Cursor: token})
	if err != nil {
		return PushPage{}, listError(err, "pageToken")
	}
	page := PushPage{Next: rows.Next}
	for i := range rows.Rows {
		w, err := record.ParseWebhook(&rows.Rows[i])
		if err != nil {
			return PushPage{}, err
		}
		page.Configs = append(page.Configs, e.shown(id, &w))
	}
	return page, nil
}

// DeletePush deletes a webhook of a task of by's. If there is none with that id, nothing
// happens. Once it returns nothing is sent any more, apart from a notification that is
// being sent at that moment.
func (e *Engine) DeletePush(ctx context.Context, by auth.Principal, id ID, config string) error {
	if err := e.mayPush(by); err != nil {
		return err
	}
	return tasklog.Translate(e.turns.Changed(ctx, ScopeFor(by, auth.Push), id, rules.DeleteWebhook{ID: config, By: by}))
}

// maxPushLog is the largest log, in bytes, from which a task is built with its artifacts.
const maxPushLog = 1 << 20

// ViewAt returns a task as it was after an event, for a webhook of version 0.3. A large task is
// without its artifacts, and a very large task without its history too.
func (e *Engine) ViewAt(ctx context.Context, id ID, seq uint64) (*task.View, error) {
	how := tasklog.Reading{View: true, Last: seq, Exact: true, Most: maxPushLog}
	f, header, err := e.reader.Load(ctx, store.System(), id, how)
	if err == nil && f == nil {
		how.Most, how.NoArtifacts, how.NoHistory = 0, true, header.Size(true /* noBulk */) > maxPushLog
		f, _, err = e.reader.Load(ctx, store.System(), id, how)
	}
	if err != nil {
		return nil, err
	}
	return f.View, nil
}
