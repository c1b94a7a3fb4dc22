package rules

import (
	"errors"
	"slices"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/record"
)

// ErrWebhookChanged means that the webhook that [SetWebhook] replaces has been replaced or
// deleted meanwhile: read it again.
var ErrWebhookChanged = errors.New("the webhook has changed meanwhile")

// SetWebhook is the [Input] that sets a webhook of a task.
type SetWebhook struct {
	Webhook record.Webhook // V, N, Start and Set are filled in
	Epoch   uint64         // of the instance
	// Replaces is the number of the webhook with the same id, 0 if there is none, and Position
	// the seq up to which it has been notified: the new webhook continues from there. If
	// Position is out of date, some notifications are repeated.
	Replaces, Position uint64
}

func (in *SetWebhook) put(add additions, b basis) (additions, error) {
	add.quiet = true
	return setWebhook(add, b, in, b.Header.Seq)
}

// setWebhook sets a webhook that is notified of the events after start, or, if it replaces a
// webhook, of the events after in.Position.
func setWebhook(add additions, b basis, in *SetWebhook, start uint64) (additions, error) {
	w := in.Webhook
	switch {
	case b.Webhook(w.ID) != in.Replaces:
		return add, ErrWebhookChanged
	case in.Replaces != 0:
		start = in.Position
		add = removeWebhookRows(add, w.ID, in.Replaces)
	case len(b.Webhooks) >= b.Limits.Webhooks:
		return add, task.Invalid("pushNotificationConfig", "cannot be added: the task has %d, which is the limit; delete one, or replace it by its id", len(b.Webhooks))
	}
	w.V, w.N, w.Start, w.Set = record.Version, b.WebhooksSet+1, start, b.Now
	set := &event.PushSet{ID: w.ID, N: w.N, By: w.By}
	if fits, err := fitsOpen(b, set); err != nil {
		return add, err
	} else if !fits {
		return add, task.Invalid("pushNotificationConfig", "cannot be kept: the task's log is full")
	}
	add.event(b, event.KindPushSet, set)
	webhook, err := record.Encode(record.KindPush, []byte(w.ID), store.Any, &w)
	if err != nil {
		return add, err
	}
	key := record.PushKey(w.ID, w.N)
	cursor, err := (&record.PushCursor{Seq: start, Epoch: in.Epoch}).Row(key, store.Any)
	if err != nil {
		return add, err
	}
	add.rows = append(add.rows, webhook, cursor)
	if in.Replaces != 0 {
		add.rows = append(add.rows, record.Ready(key, store.Any, b.millis()))
	}
	return add, nil
}

func removeWebhookRows(add additions, id string, n uint64) additions {
	key := record.PushKey(id, n)
	add.rows = append(add.rows,
		store.RowChange{Kind: record.KindPushCursor, Key: key, IfRev: store.Any, Delete: true},
		store.RowChange{Kind: record.KindPushReady, Key: key, IfRev: store.Any, Delete: true})
	return add
}

// DeleteWebhook is the [Input] that deletes a webhook of a task. Deleting an unknown webhook
// changes nothing.
type DeleteWebhook struct {
	ID       string
	N        uint64 // its number; 0: whichever it has
	By       auth.Principal
	Overseen bool // by an operator: the audit keeps it
}

func (in DeleteWebhook) put(add additions, b basis) (additions, error) {
	n := b.Webhook(in.ID)
	if n == 0 || in.N != 0 && in.N != n {
		return add, ErrNoChange
	}
	if in.Overseen {
		add.record(b, approval.Audit{What: approval.AuditWebhook, Webhook: in.ID, By: in.By})
	}
	add.quiet = true
	add = removeWebhookRows(add, in.ID, n)
	add.rows = append(add.rows, store.RowChange{Kind: record.KindPush, Key: []byte(in.ID), IfRev: store.Any, Delete: true})
	// The event uses the reserve for decisions only if the log is full, and then holds little
	// more than the id: nothing can be set again in a full log. The audit then names the
	// principal, or it is the owner.
	deleted := &event.PushDeleted{ID: in.ID, By: in.By}
	if fits, err := fitsOpen(b, deleted); err != nil {
		return add, err
	} else if !fits {
		deleted.By = auth.Principal{}
	}
	add.event(b, event.KindPushDeleted, deleted)
	return add, nil
}

// withReady returns the rows of a batch, with the rows that announce it to the webhooks of
// the task.
func withReady(b basis, add *additions) []store.RowChange {
	rows := slices.Clip(add.rows)
	if add.pushes {
		for _, w := range b.Webhooks {
			rows = append(rows, record.Ready(record.PushKey(w.ID, w.N), store.Any, b.millis()))
		}
	}
	return rows
}
