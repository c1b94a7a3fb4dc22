package engine

import (
	"context"
	"errors"

	"a2a-server/auth"
)

// ErrNoPush means that this engine sends no push notifications: [Config.Push] is not set.
var ErrNoPush = errors.New("push notifications are not supported")

// Sealer keeps the secrets of webhooks unreadable in the store. It is safe for concurrent
// use. What is bound to a secret is not kept with it: Open needs the same bytes, so that a
// sealed secret cannot be used for another webhook.
type Sealer interface {
	Seal(secret, bound []byte) (sealed []byte, err error)
	Open(sealed, bound []byte) (secret []byte, err error)
}

// PushConfig is a webhook of a task, as its owner sets it.
type PushConfig struct {
	ID          string // at most 256 bytes; "": a new one is made
	URL         string // at most 2 KiB; it is not checked here where it leads
	Token       string // at most 8 KiB; "": none
	Scheme      string // of Authorization, at most 64 bytes; "": none
	Credentials string // at most 8 KiB
	Version     string // of the protocol that the webhook expects: "1.0" or "0.3"
}

// PushPage is a page of the webhooks of a task, in the order of their ids.
type PushPage struct {
	Configs []PushConfig
	Next    string // "": last page
}

// SetPush sets a webhook of a task of by's, and returns it with its id. One with the same
// id is replaced: what it has not delivered yet goes to the new one, and a dead one is
// revived by it. On a task that has ended, webhooks can only be replaced.
//
// Errors: [ErrNoPush], [*auth.DeniedError], [task.ErrTaskNotFound], [task.InvalidError],
// [task.StateError], and those of the store.
func (e *Engine) SetPush(ctx context.Context, by auth.Principal, id ID, c PushConfig) (PushConfig, error) {
	return PushConfig{}, ErrNoPush
}

// Push returns a webhook of a task of by's. If there is no such webhook, or no such task,
// the error is [task.ErrTaskNotFound].
func (e *Engine) Push(ctx context.Context, by auth.Principal, id ID, config string) (PushConfig, error) {
	return PushConfig{}, ErrNoPush
}

// PushList returns a page of the webhooks of a task of by's. limit defaults to 50 and is
// at most 100; token is [PushPage.Next] of the previous page.
func (e *Engine) PushList(ctx context.Context, by auth.Principal, id ID, limit int, token string) (PushPage, error) {
	return PushPage{}, ErrNoPush
}

// DeletePush deletes a webhook of a task of by's. If there is none with that id, nothing
// happens. Once it returns nothing is sent any more, apart from a notification that is
// being sent at that moment.
func (e *Engine) DeletePush(ctx context.Context, by auth.Principal, id ID, config string) error {
	return ErrNoPush
}
