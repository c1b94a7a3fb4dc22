package a2aserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"a2a-server/a2a"
	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/egress"
	"a2a-server/internal/keyring"
	"a2a-server/internal/tlsfiles"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/inbox/api"
	"a2a-server/task/push"
)

const (
	// maxPushAnswer is how much of the answer of a webhook is read at most, in bytes. Only its
	// status and Retry-After count, however long it is.
	maxPushAnswer = 64 << 10
	// pushTokenTime is how long the token of a notification is valid.
	pushTokenTime = 5 * time.Minute
)

// pushes sends push notifications; nil: there are none.
type pushes struct {
	settings  *Settings
	dialer    *egress.Dialer
	client    *http.Client
	tokens    *pushTokens     // nil: notifications have none
	deliverer *push.Deliverer // nil until open
}

// newPushes returns how push notifications are sent. own returns the addresses on which the server listens.
func newPushes(settings *Settings, own func() []netip.AddrPort) (*pushes, error) {
	s := &settings.Push
	if !s.Enabled {
		return nil, nil //nolint:nilnil // there are none
	}
	config := egress.Config{
		AllowPrivate: s.AllowPrivate, AllowLoopback: s.AllowLoopback, Allow: s.Networks, Own: own, NAT64: s.NAT64,
		MaxConnsPerHost: 8, Timeout: s.Timeout, MaxBytes: maxPushAnswer, Announced: true,
	}
	for _, port := range s.Ports {
		config.Ports = append(config.Ports, uint16(port))
	}
	p := &pushes{settings: settings}
	var err error
	if s.CA != "" {
		if config.RootCAs, err = tlsfiles.ReadAuthorities(s.CA); err != nil {
			return nil, fmt.Errorf("%w: push.ca: %w", ErrConfig, err)
		}
	}
	if p.dialer, err = egress.NewDialer(config); err == nil {
		p.client, err = egress.NewClient(config)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: push: %w", ErrConfig, err)
	}
	return p, nil
}

// open makes the sender. keys sign the tokens.
func (p *pushes) open(c push.Config, keys *keyring.Signer) {
	if p == nil {
		return
	}
	c.Client, c.Timeout = p.client, p.settings.Push.Timeout
	c.Legacy = func(v *task.View) ([]byte, error) {
		return a2a.OldTask(v.AppendTask(nil, task.ViewOptions{HistoryLength: -1}))
	}
	if p.settings.Push.JWT {
		p.tokens = &pushTokens{keys: keys, issuer: p.settings.PublicURL, now: c.Now}
		c.Sign = p.tokens.sign
	}
	p.deliverer = push.New(c)
}

// stats returns the counts of notifications; on is false if push notifications are off.
func (p *pushes) stats() (counted push.Stats, on bool) {
	if p == nil {
		return push.Stats{}, false
	}
	return p.deliverer.Stats(), true
}

// offered returns the protocol's part of push notifications; nil: they are off.
func (p *pushes) offered() *a2a.Push {
	if p == nil {
		return nil
	}
	out := &a2a.Push{
		HTTP:    p.settings.Push.AllowHTTP,
		Refuses: func(host, port string) bool { return p.dialer.Check(host, port) != nil },
	}
	if p.tokens != nil {
		out.Keys = p.tokens.keys.KeySet
	}
	return out
}

// deliver delivers push notifications, unless a restored store waits for its operator, and the
// messages of routes, until ctx ends. The channel is closed then.
func (s *Server) deliver(ctx context.Context) (ended chan struct{}) {
	var both sync.WaitGroup
	both.Go(func() { _ = s.notify.Run(ctx) }) // it ends with ctx, without an error
	if s.push != nil {
		both.Go(func() {
			select {
			case <-s.engine.Resumed():
			case <-ctx.Done():
			}
			if err := s.push.deliverer.Run(ctx); err != nil && ctx.Err() == nil {
				s.log.Error().Err(err).Msg("no more push notifications are sent: restart the server")
			}
			s.push.client.CloseIdleConnections()
		})
	}
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		both.Wait()
	}()
	return ended
}

// pushTokens makes the tokens by which webhooks recognize this server.
type pushTokens struct {
	keys   *keyring.Signer
	issuer string
	now    func() time.Time
}

// pushClaims are the claims of a token. The receiver compares aud with its own URL, the hash
// with the body that it has got, and remembers jti until exp.
type pushClaims struct {
	Issuer   string `json:"iss"`
	Audience string `json:"aud"` // the URL of the webhook
	Issued   int64  `json:"iat"`
	Expires  int64  `json:"exp"`
	ID       string `json:"jti"` // a new token for each attempt
	Task     string `json:"taskId"`
	Body     string `json:"request_body_sha256"` // in hexadecimal digits
}

// sign adds a token to the request of a notification.
func (t *pushTokens) sign(_ context.Context, n *push.Notification, h http.Header) error {
	now, sum := t.now(), sha256.Sum256(n.Body)
	payload, err := json.Marshal(pushClaims{
		Issuer: t.issuer, Audience: n.URL, Issued: now.Unix(), Expires: now.Add(pushTokenTime).Unix(),
		ID: rand.Text(), Task: n.Task.String(), Body: hex.EncodeToString(sum[:]),
	})
	if err != nil {
		return fmt.Errorf("sign a notification: %w", err)
	}
	signature, err := t.keys.Sign(payload, map[string]string{"typ": "JWT"})
	if err != nil {
		return fmt.Errorf("sign a notification: %w", err)
	}
	h.Set("Authorization", "Bearer "+signature.Protected+"."+base64.RawURLEncoding.EncodeToString(payload)+"."+signature.Value)
	return nil
}

// webhooks lists the webhooks of tasks that by oversees. A page may be empty and not the last.
func (s *Server) webhooks(ctx context.Context, by auth.Principal, q client.WebhookQuery) (out client.WebhookPage, err error) {
	scope, err := overseen(by, q.Anonymous, q.State, "active", "retrying", "dead", "damaged")
	if err != nil {
		return out, err
	}
	var selected push.Query
	if q.Task != "" {
		var ok bool
		if selected.Task, ok = store.ParseTaskID(q.Task); !ok {
			return out, task.ErrTaskNotFound
		}
		_, err := s.store.handle.Read(ctx, scope, selected.Task, store.After(math.MaxInt64), store.Limit{Events: 1, Bytes: 1})
		if errors.Is(err, store.ErrNotFound) {
			return out, task.ErrTaskNotFound
		}
	}
	now := s.given.Now()
	out.Off = s.push == nil
	prefix := cursorPrefix("webhooks v1", q.State, q.Principal, strconv.FormatBool(q.Anonymous))
	out.Items, out.Next, err = readPage(prefix, q.Cursor, q.Limit, func(cursor string, limit int) ([]push.State, string, error) {
		selected.Cursor, selected.Limit = cursor, limit
		return push.List(ctx, s.store.handle, scope, now, selected)
	}, func(w *push.State) (client.Webhook, bool) {
		return webhookOf(w), (q.State == "" || q.State == w.State) && (q.Principal == "" || w.SetBy(q.Principal))
	})
	return out, err
}

// webhookOf returns a webhook as it is listed.
func webhookOf(s *push.State) client.Webhook {
	w := client.Webhook{
		ID: s.Config, Number: s.Number, Task: s.Task.String(), Owner: s.Owner.Subject(), Set: s.Set, Host: s.Host, State: s.State,
		Tries: s.Tries, Next: s.Next, Error: s.Error, Lag: s.Lag.Seconds(),
	}
	if by := &s.By; !by.IsZero() {
		setter := api.PrincipalOf(*by)
		w.SetBy = &setter
	}
	return w
}
