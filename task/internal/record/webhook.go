package record

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task/internal/event"
)

// A webhook of a task is three rows. The log, and so the fold, knows only its id: a task
// without webhooks writes and reads nothing for them.
const (
	// KindPush has the owner's settings. Key: its id; value: the JSON of a [Webhook].
	KindPush = "push"
	// KindPushCursor says how far it has been notified. Key: [PushKey]; value: the JSON of
	// a [PushCursor]. It is put together with the webhook; from then on, package task/push
	// alone writes it, in asides.
	KindPushCursor = "push.cursor"
	// KindPushReady says that the webhook has to be looked at, and when. Key: [PushKey];
	// value, and key in IndexReady: [readyKey]. It is put in each batch that may have
	// something for the webhook, and package task/push removes it.
	KindPushReady = "push.ready"
	IndexReady    = "ready"
)

// PushKey returns the key of the rows of a webhook that package task/push reads: its id and
// its number. No two webhooks of a task ever have the same key, so that work for a webhook
// never takes effect on its replacement.
func PushKey(id string, n uint64) []byte { return binary.BigEndian.AppendUint64([]byte(id), n) }

// ParsePushKey returns the id and the number in a [PushKey].
func ParsePushKey(key []byte) (id string, n uint64, ok bool) {
	if len(key) < 8 {
		return "", 0, false
	}
	id = string(key[:len(key)-8])
	return id, binary.BigEndian.Uint64(key[len(id):]), true
}

// readyKey returns the key in [IndexReady] of a webhook to look at from a time on.
func readyKey(at store.Millis) []byte { return binary.BigEndian.AppendUint64(nil, uint64(max(at, 0))) }

// ParseReadyKey returns the time in a [readyKey].
func ParseReadyKey(key []byte) (at store.Millis, ok bool) {
	if len(key) != 8 {
		return 0, false
	}
	return store.Millis(binary.BigEndian.Uint64(key)), true
}

// Ready returns the change that makes a webhook be looked at from a time on.
func Ready(key []byte, ifRev uint64, at store.Millis) store.RowChange {
	ready := readyKey(at)
	return store.RowChange{Kind: KindPushReady, Key: key, IfRev: ifRev, Value: ready, Index: []store.IndexKey{{Index: IndexReady, Key: ready}}}
}

// Webhook is the stored form of a webhook. It is never changed: a webhook that is set again
// gets another number, and its own rows.
type Webhook struct {
	V       int            `json:"v"` // Version
	ID      string         `json:"id"`
	N       uint64         `json:"n"`                // counts the webhooks set in the task, from 1
	URL     string         `json:"url"`              // scheme and host
	Scheme  string         `json:"scheme,omitempty"` // of Authorization
	Secrets []byte         `json:"secrets"`          // sealed JSON of [WebhookSecrets]
	Version string         `json:"version"`          // of the protocol
	Start   uint64         `json:"start"`            // seq after which it is notified
	By      auth.Principal `json:"by"`               // the principal that has set it
	Set     time.Time      `json:"set"`
}

// WebhookSecrets are the secrets of a webhook. Its URL is a secret: many have a token in their
// path or query.
type WebhookSecrets struct {
	URL         string `json:"url"`
	Token       string `json:"token,omitempty"`
	Credentials string `json:"credentials,omitempty"`
}

// Seal puts the secrets of a webhook of a task into w, bound to both.
func (w *Webhook) Seal(id store.TaskID, secrets WebhookSecrets, seal func(secret, bound []byte) ([]byte, error)) error {
	w.URL = origin(secrets.URL)
	raw, err := json.Marshal(secrets)
	if err == nil {
		w.Secrets, err = seal(raw, w.bound(id))
	}
	return err
}

// Open returns the secrets that [Webhook.Seal] has put into w.
func (w *Webhook) Open(id store.TaskID, open func(sealed, bound []byte) ([]byte, error)) (WebhookSecrets, error) {
	raw, err := open(w.Secrets, w.bound(id))
	if err != nil {
		return WebhookSecrets{}, err
	}
	var secrets WebhookSecrets
	err = json.Unmarshal(raw, &secrets)
	return secrets, err
}

func (w *Webhook) bound(id store.TaskID) []byte { return append(id[:], w.ID...) }

// origin returns the scheme and the host of a URL.
func origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}

// ParseWebhook returns the webhook in a row.
func ParseWebhook(row *store.Row) (w Webhook, err error) {
	err = parseRow(row, "webhook", &w, &w.V)
	return w, err
}

// Version is the V of rows.
const Version = 1

// parseRow decodes the JSON in a row into v, which has its version; nil: it has none.
func parseRow(row *store.Row, name string, v any, version *int) error {
	if row.Damaged {
		return store.ErrDataLoss
	}
	if err := json.Unmarshal(row.Value, v); err != nil {
		return fmt.Errorf("%w: %s: %w", store.ErrDataLoss, name, err)
	}
	if version != nil && *version != Version {
		return fmt.Errorf("%w: %s has version %d, and this program reads version %d", store.ErrDataLoss, name, *version, Version)
	}
	return nil
}

// Encode returns the change that puts a row with the JSON of v.
func Encode(kind string, key []byte, ifRev uint64, v any) (store.RowChange, error) {
	value, err := json.Marshal(v)
	if err != nil {
		return store.RowChange{}, fmt.Errorf("encode a row of kind %s: %w", kind, err)
	}
	return store.RowChange{Kind: kind, Key: key, IfRev: ifRev, Value: value}, nil
}

// Attempts are the attempts to send a message that have failed in a row.
type Attempts struct {
	Tries int          `json:"tries,omitempty"`
	Since store.Millis `json:"since,omitempty"` // time of the first of them
	Next  store.Millis `json:"next,omitempty"`  // time of the next try
	Error string       `json:"error,omitempty"` // of the last failure
}

// PushCursor says how far a webhook has been notified.
type PushCursor struct {
	Seq   uint64 `json:"seq"`   // it has been notified of all events up to this one
	Epoch uint64 `json:"epoch"` // of the instance that notifies it
	Attempts
	Dead bool `json:"dead,omitempty"` // given up
}

// ParsePushCursor returns the cursor in a row.
func ParsePushCursor(row *store.Row) (c PushCursor, err error) {
	err = parseRow(row, "cursor of a webhook", &c, nil)
	return c, err
}

// Row returns the change that puts c.
func (c *PushCursor) Row(key []byte, ifRev uint64) (store.RowChange, error) {
	return Encode(KindPushCursor, key, ifRev, c)
}

// Pushable reports whether webhooks are notified of an event: the task itself, each of its
// statuses, and the last chunk of each artifact.
func Pushable(e *store.Event) bool {
	if !e.Public {
		return false
	}
	if e.Kind == event.KindArtifact {
		u, err := event.ReadArtifact(e.Data)
		return err == nil && u.Last
	}
	return e.Kind == event.KindTask || e.Kind == event.KindStatus || e.Kind == event.KindMasked
}
