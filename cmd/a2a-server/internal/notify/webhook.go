package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"a2a-server/internal/egress"
	"a2a-server/task/notify"
)

const (
	secretPrefix = "whsec_"
	// minSecret and maxSecret bound a secret, in bytes (Standard Webhooks).
	minSecret, maxSecret = 24, 64
	// maxBodyArgs is how long arguments in a webhook may be, in bytes. Longer ones are left out.
	maxBodyArgs = 64 << 10
)

// webhook sends a message as a signed request (Standard Webhooks 1.0). It is safe for
// concurrent use.
type webhook struct {
	to  *endpoint
	key []byte
}

// NewWebhook returns a sender that posts JSON to a URL with https, signed with HMAC-SHA256. The secret is "whsec_" and
// 24 to 64 bytes in base64; the timeout of to defaults to 15 s. Its errors have no secret.
func NewWebhook(url, secret string, to egress.Config) (notify.Sender, error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(secret), secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < minSecret || len(key) > maxSecret {
		return nil, fmt.Errorf("secret: not %s and %d to %d bytes in base64; make one with: echo %s$(openssl rand -base64 32)", secretPrefix, minSecret, maxSecret, secretPrefix)
	}
	receiver, err := newEndpoint(url, to)
	if err != nil {
		return nil, err
	}
	return &webhook{to: receiver, key: key}, nil
}

// body is the body of a webhook.
type body struct {
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"` // of the event
	Data      *notify.Message `json:"data"`
}

// Send posts a message. An attempt has the time of the attempt and the id of the message.
func (w *webhook) Send(ctx context.Context, m *notify.Message) error {
	data := *m
	if len(data.Args) > maxBodyArgs || !json.Valid(data.Args) {
		data.Args = nil
	}
	data.Expires, data.Link = m.Expires.UTC(), linkOf(m.Link)
	content, err := json.Marshal(body{Type: m.Event, Timestamp: m.At.UTC(), Data: &data})
	if err != nil {
		return errors.Join(fmt.Errorf("encode a message: %w", err), notify.ErrPermanent)
	}
	now := strconv.FormatInt(time.Now().Unix(), 10)
	return w.to.post(ctx, content, map[string]string{
		"webhook-id": m.ID, "webhook-timestamp": now, "webhook-signature": w.sign(m.ID, now, content),
	})
}

// sign returns the signature of an attempt.
func (w *webhook) sign(id, now string, content []byte) string {
	mac := hmac.New(sha256.New, w.key)
	mac.Write([]byte(id + "." + now + "."))
	mac.Write(content)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
