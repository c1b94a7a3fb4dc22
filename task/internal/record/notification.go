package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"a2a-server/store"
)

// A notification is a row of the task whose approval it is about. The batch that asks or
// resolves the approval puts it; from then on, package task/notify alone changes it, in asides.
const (
	// KindNotify is a message that a route has to send, or has failed to send. Key:
	// [NotificationKey]; value: the JSON of a [Notification].
	KindNotify = "notify"
	// IndexNew has the notifications of a route that were never tried, IndexRetry those to be
	// tried again: see [RoutePrefix]. IndexFailed has those that were given up, the oldest
	// first.
	IndexNew    = "new"
	IndexRetry  = "retry"
	IndexFailed = "failed"

	// KindMailbox is the verified mail address of the task's requester, if there was a route
	// for requesters when the task began. Key: [MailboxKey]; value: the address. Only
	// package task/notify reads it.
	KindMailbox = "notify.mailbox"
	MailboxKey  = "requester"
)

// Notification is a message of a route about an approval. Its text is made from the approval
// when it is sent.
type Notification struct {
	V        int          `json:"v"` // Version
	Approval string       `json:"approval"`
	Event    string       `json:"event"`
	Route    string       `json:"route"`
	At       store.Millis `json:"at"` // of the event

	Attempts
	Failed store.Millis `json:"failed,omitempty"`
}

// NotificationKey returns the key of the row of a notification. No other notification has it,
// in any task, so it is the id of the message, too: see [NotificationID].
func NotificationKey(approval, event, route string) []byte {
	sum := sha256.Sum256([]byte(approval + "\x00" + event + "\x00" + route))
	return sum[:16]
}

// NotificationID returns the id of the message with a [NotificationKey].
func NotificationID(key []byte) string { return "ntf_" + hex.EncodeToString(key) }

// RoutePrefix returns the prefix of the keys of a route in [IndexNew] and [IndexRetry]. The
// rest of a key is a time: of the event, or of the next try.
func RoutePrefix(route string) []byte {
	sum := sha256.Sum256([]byte(route))
	return sum[:8]
}

// Row returns the change that puts n.
func (n *Notification) Row(ifRev uint64) (store.RowChange, error) {
	row, err := Encode(KindNotify, NotificationKey(n.Approval, n.Event, n.Route), ifRev, n)
	if err != nil {
		return row, err
	}
	at := func(index string, prefix []byte, t store.Millis) []store.IndexKey {
		return []store.IndexKey{{Index: index, Key: binary.BigEndian.AppendUint64(prefix, uint64(max(t, 0)))}}
	}
	switch {
	case n.Failed > 0:
		row.Index = at(IndexFailed, nil, n.Failed)
	case n.Tries > 0:
		row.Index = at(IndexRetry, RoutePrefix(n.Route), n.Next)
	default:
		row.Index = at(IndexNew, RoutePrefix(n.Route), n.At)
	}
	return row, nil
}

// ParseNotification returns the notification in a row.
func ParseNotification(row *store.Row) (n Notification, err error) {
	err = parseRow(row, "notification", &n, &n.V)
	return n, err
}
