package rules

import (
	"errors"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
)

// ErrWebhookChanged means that the webhook that [SetWebhook] replaces has been replaced or
// deleted meanwhile: read it again.
var ErrWebhookChanged = errors.New("the webhook has changed meanwhile")

// SetWebhook is the [Input] that sets a webhook of a task.
type SetWebhook struct {
	Webhook task.Webhook // V, N, Start and Set are filled in
	Epoch   uint64       // of the instance
	// Replaces is the number of the webhook with the same id, 0 if there is none, and Position
	// the seq up to which it has been notified: the new webhook continues from there. If
	// Position is out of date, some notifications are repeated.
	Replaces, Position uint64
}

func (in *SetWebhook) put(d *Draft) error {
	d.quiet = true
	return d.setWebhook(in, d.f.Header.Seq)
}

// setWebhook sets a webhook that is notified of the events after start, or, if it replaces a
// webhook, of the events after in.Position.
func (d *Draft) setWebhook(in *SetWebhook, start uint64) error {
	w := in.Webhook
	switch {
	case d.f.Webhook(w.ID) != in.Replaces:
		return ErrWebhookChanged
	case in.Replaces != 0:
		start = in.Position
		d.removeWebhookRows(w.ID, in.Replaces)
	case len(d.f.Webhooks) >= d.rules.Limits.Webhooks:
		return task.Invalid("pushNotificationConfig", "cannot be added: the task has %d, which is the limit; delete one, or replace it by its id", len(d.f.Webhooks))
	}
	w.V, w.N, w.Start, w.Set = task.RowVersion, d.f.WebhooksSet+1, start, d.at.Now
	set := &event.PushSet{ID: w.ID, N: w.N, By: w.By}
	if fits, err := fitsOpen(d.basis, set); err != nil {
		return err
	} else if !fits {
		return task.Invalid("pushNotificationConfig", "cannot be kept: the task's log is full")
	}
	d.add(event.KindPushSet, set)
	webhook, err := task.EncodeRow(task.RowPush, []byte(w.ID), store.Any, &w)
	if err != nil {
		return err
	}
	key := task.PushKey(w.ID, w.N)
	cursor, err := (&task.PushCursor{Seq: start, Epoch: in.Epoch}).Row(key, store.Any)
	if err != nil {
		return err
	}
	d.rows = append(d.rows, webhook, cursor)
	if in.Replaces != 0 {
		d.rows = append(d.rows, task.ReadyRow(key, store.Any, d.at.millis()))
	}
	return nil
}

func (d *Draft) removeWebhookRows(id string, n uint64) {
	key := task.PushKey(id, n)
	d.rows = append(d.rows,
		store.RowChange{Kind: task.RowPushCursor, Key: key, IfRev: store.Any, Delete: true},
		store.RowChange{Kind: task.RowPushReady, Key: key, IfRev: store.Any, Delete: true})
}

// DeleteWebhook is the [Input] that deletes a webhook of a task. Deleting an unknown webhook
// changes nothing.
type DeleteWebhook struct {
	ID       string
	N        uint64 // its number; 0: whichever it has
	By       auth.Principal
	Overseen bool // by an operator: the audit keeps it
}

func (in DeleteWebhook) put(d *Draft) error {
	n := d.f.Webhook(in.ID)
	if n == 0 || in.N != 0 && in.N != n {
		return ErrNoChange
	}
	if in.Overseen {
		d.record(approval.Audit{What: approval.AuditWebhook, Webhook: in.ID, By: in.By})
	}
	d.quiet = true
	d.removeWebhookRows(in.ID, n)
	d.rows = append(d.rows, store.RowChange{Kind: task.RowPush, Key: []byte(in.ID), IfRev: store.Any, Delete: true})
	// The event uses the reserve for decisions only if the log is full, and then holds little
	// more than the id: nothing can be set again in a full log. The audit then names the
	// principal, or it is the owner.
	deleted := &event.PushDeleted{ID: in.ID, By: in.By}
	if fits, err := fitsOpen(d.basis, deleted); err != nil {
		return err
	} else if !fits {
		deleted.By = auth.Principal{}
	}
	d.add(event.KindPushDeleted, deleted)
	return nil
}
