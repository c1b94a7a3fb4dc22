package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"a2a-server/internal/egress"
	"a2a-server/store"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/outbox"
	"a2a-server/task/internal/record"
)

// maxAnswer is how much of an answer is read, so that the connection can be used again.
const maxAnswer = 16 << 10

// The names of the headers of a notification. Receivers look for the token under either of
// its names.
const (
	HeaderID       = "A2A-Notification-Id"
	headerToken    = "A2A-Notification-Token"
	headerOldToken = "X-A2A-Notification-Token"
)

// hostOf returns the name of the host of a URL.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// send notifies a webhook of an event. f is nil if the webhook has accepted it. err says that
// nothing was sent: errOver if the webhook has been deleted meanwhile.
func (j *job) send(ctx context.Context, w *record.Webhook, e *store.Event) (f *outbox.Failure, err error) {
	d, id := j.d, j.task
	secrets, sealed := w.Open(id, d.cfg.Secrets.Open)
	if sealed != nil {
		return &outbox.Failure{Text: "secrets cannot be opened"}, nil //nolint:nilerr // the error of err is that nothing was sent
	}
	body, err := event.Whole(e)
	if err != nil {
		return &outbox.Failure{Text: "damaged"}, nil //nolint:nilerr // likewise
	}
	n := &Notification{ID: fmt.Sprintf("%s-%d", id, e.Seq), Task: id, Config: w.ID, URL: secrets.URL, Time: e.Time.Time(), Body: body}
	if w.Version != "0.3" {
		return d.post(ctx, w, secrets, n, "application/a2a+json"), nil
	}
	n.Body, err = d.legacy(ctx, id, e.Seq)
	if err != nil {
		d.cfg.Log.Debug().Err(err).Str("task_id", id.String()).Msg("a task cannot be encoded for a webhook of version 0.3")
		return &outbox.Failure{Text: "encoding"}, nil
	}
	// That may have taken long.
	switch now, err := j.webhook(ctx); {
	case err != nil:
		return nil, err
	case now == nil:
		return nil, errOver
	}
	return d.post(ctx, w, secrets, n, "application/json"), nil
}

// legacy returns a task as it was after an event, for a webhook of version 0.3.
func (d *Deliverer) legacy(ctx context.Context, id store.TaskID, seq uint64) ([]byte, error) {
	if d.cfg.Legacy == nil {
		return nil, errors.New("this server sends no notifications of version 0.3")
	}
	if d.box.Wait(d.views, ctx.Done()) == 1 {
		return nil, ctx.Err()
	}
	defer func() { d.views <- struct{}{} }()
	v, err := d.cfg.View(ctx, id, seq)
	if err != nil {
		return nil, err
	}
	return d.cfg.Legacy(v)
}

// post sends a notification.
func (d *Deliverer) post(ctx context.Context, w *record.Webhook, secrets record.WebhookSecrets, n *Notification, contentType string) *outbox.Failure {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL, bytes.NewReader(n.Body))
	if err != nil {
		return &outbox.Failure{Text: "invalid URL"}
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("User-Agent", "a2a-server")
	r.Header.Set(HeaderID, n.ID)
	if f := d.authenticate(ctx, r, n, w.Scheme, secrets); f != nil {
		return f
	}
	answer, err := d.cfg.Client.Do(r)
	if err != nil {
		return &outbox.Failure{Text: egress.Class(err)}
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer))
	_ = answer.Body.Close()
	return d.judge(answer)
}

// authenticate adds the headers by which the webhook knows the server.
func (d *Deliverer) authenticate(ctx context.Context, r *http.Request, n *Notification, scheme string, secrets record.WebhookSecrets) *outbox.Failure {
	if secrets.Token != "" {
		r.Header.Set(headerToken, secrets.Token)
		r.Header.Set(headerOldToken, secrets.Token)
	}
	if scheme != "" {
		r.Header.Set("Authorization", strings.TrimSuffix(scheme+" "+secrets.Credentials, " "))
		return nil
	}
	if d.cfg.Sign == nil {
		return nil
	}
	if err := d.cfg.Sign(ctx, n, r.Header); err != nil {
		d.cfg.Log.Debug().Err(err).Msg("a push notification cannot be signed")
		return &outbox.Failure{Text: "signature"}
	}
	return nil
}

// judge returns the outcome of an answer.
func (d *Deliverer) judge(answer *http.Response) *outbox.Failure {
	code := answer.StatusCode
	if code >= 200 && code < 300 {
		return nil
	}
	f := &outbox.Failure{Text: "HTTP " + strconv.Itoa(code), Final: code == http.StatusGone, After: egress.RetryAfter(answer.Header.Get("Retry-After"), d.box.Now())}
	if code >= 300 && code < 400 {
		f.Text = "redirect"
	}
	return f
}
