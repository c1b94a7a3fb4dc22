package notify_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"a2a-server/cmd/a2a-server/internal/notify"
	"a2a-server/internal/egress"
	tasks "a2a-server/task/notify"
)

const secret = "whsec_czNjcmV0czNjcmV0czNjcmV0czNjcmV0czNjcmV0"

func must(t *testing.T) func(s tasks.Sender, err error) tasks.Sender {
	return func(s tasks.Sender, err error) tasks.Sender {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// senders returns the senders to a receiver.
func senders(t *testing.T, url string, e egress.Config) map[string]tasks.Sender {
	return map[string]tasks.Sender{
		"webhook": must(t)(notify.NewWebhook(url, secret, e)),
		"slack":   must(t)(notify.NewSlack(url, e)),
	}
}

// The official library verifies each attempt; all attempts have the same id.
func TestWebhook(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	s := senders(t, r.url, r.egress)["webhook"]
	for _, m := range []*tasks.Message{question(), question(), answer(), rest()} {
		if err := s.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	got := r.all()
	for _, q := range got {
		if err := verifier.Verify(q.body, q.header); err != nil {
			t.Error(err)
		}
		if err := verifier.Verify(append(q.body, ' '), q.header); err == nil {
			t.Error("another body passes with the signature")
		}
	}
	if id := got[0].header.Get("webhook-id"); id != "019a-1_asked_ops" || got[1].header.Get("webhook-id") != id {
		t.Errorf("ids %q and %q, want that of the message", id, got[1].header.Get("webhook-id"))
	}
	for i, text := range map[int]string{
		0: `{"type":"approval.asked","timestamp":"2026-11-26T22:00:00Z","data":{"route":"ops","task":"019a","context":"c-1","approval":"019a.1","tool":"transfer_money","hint":"Pay 100 EUR to Bob \u0026 Söhne?","risk":"high","requester":"alice","arguments":{"amount":100},"digest":"sha256:abc","deadline":"2026-11-27T22:00:00Z","link":"https://a2a.example.com/ui/approvals/019a.1"}}`,
		3: `{"type":"summary","timestamp":"2026-11-26T22:00:00Z","data":{"route":"ops","link":"https://a2a.example.com/ui/","count":3}}`,
	} {
		if diff := cmp.Diff(text, string(got[i].body)); diff != "" {
			t.Errorf("body %d (-want +got):\n%s", i, diff)
		}
	}
}

// Values have no effect on headers, and arguments that are too long are left out.
func TestWebhookHostile(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	s := senders(t, r.url, r.egress)["webhook"]
	verifier, _ := standardwebhooks.NewWebhook(secret)
	long := hostile()[0]
	long.Args, _ = json.Marshal(strings.Repeat("x", 1<<20))
	for _, m := range append(hostile(), long) {
		if err := s.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range r.all() {
		if len(q.body) > 10_000 {
			t.Errorf("a body of %d bytes", len(q.body))
		}
		if err := verifier.Verify(q.body, q.header); err != nil {
			t.Error(err)
		}
		var body struct{ Data struct{ Hint, Link string } }
		if err := json.Unmarshal(q.body, &body); err != nil || body.Data.Hint != "" && body.Data.Hint != crlf || body.Data.Link != "" {
			t.Errorf("%s, %v: want the hint as it is, and no link", q.body, err)
		}
		if q.header.Get("Bcc") != "" {
			t.Errorf("header %v", q.header)
		}
	}
}

// Statuses decide whether a message is tried again, and when.
func TestStatuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status    int
		after     string
		permanent bool
		wait      time.Duration
	}{
		{200, "", false, 0},
		{204, "", false, 0},
		{302, "", false, 0},
		{308, "", false, 0},
		{400, "60", true, 0},
		{401, "", false, 0},
		{404, "", false, 0},
		{408, "", false, 0},
		{410, "", true, 0},
		{425, "1", false, time.Second},
		{429, "120", false, 2 * time.Minute},
		{429, "99999999999", false, 24 * time.Hour},
		{429, "Thu, 01 Jan 1970 00:00:00 GMT", false, 0},
		{429, "soon", false, 0},
		{500, "", false, 0},
		{503, "5", false, 5 * time.Second},
	} {
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", tc.after)
			w.Header().Set("Location", secretPath+"/elsewhere")
			w.WriteHeader(tc.status)
		})
		for name, s := range senders(t, r.url, r.egress) {
			err := s.Send(t.Context(), question())
			if tc.status < 300 {
				if err != nil {
					t.Errorf("%s: Send() = %v, want nil after %d", name, err, tc.status)
				}
				continue
			}
			want(t, err, "HTTP ", tc.permanent, tc.wait)
		}
		if n := len(r.all()); n != 2 {
			t.Errorf("%d: %d requests, want one from each sender", tc.status, n)
		}
	}
}

// A receiver that hangs, closes, or shows a wrong certificate costs an attempt, and no secret.
func TestBrokenReceivers(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hangs := newReceiver(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(release) })
	hangs.egress.Timeout = 100 * time.Millisecond
	closes := newReceiver(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	endless := newReceiver(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<10)); err != nil {
				return
			}
		}
	})
	private := newReceiver(t, nil)
	untrusted := newReceiver(t, nil)
	for name, tc := range map[string]struct {
		url    string
		egress egress.Config
		text   string
	}{
		"hangs":           {hangs.url, hangs.egress, "timeout"},
		"closes":          {closes.url, closes.egress, "connection closed without an answer"},
		"private":         {private.url, egress.Config{RootCAs: private.egress.RootCAs}, "is loopback"},
		"private by name": {strings.Replace(private.url, "127.0.0.1", "localhost", 1), egress.Config{AllowPrivate: true}, "is loopback"},
		"metadata":        {"https://169.254.169.254" + secretPath, private.egress, "metadata service"},
		"untrusted":       {untrusted.url, egress.Config{AllowLoopback: true}, "TLS"},
		"other name":      {strings.Replace(untrusted.url, "127.0.0.1", "localhost", 1), untrusted.egress, "TLS"},
		"nobody":          {"https://127.0.0.1:1" + secretPath, untrusted.egress, "connection failed"},
	} {
		for kind, s := range senders(t, tc.url, tc.egress) {
			t.Run(name+" "+kind, func(t *testing.T) {
				want(t, s.Send(t.Context(), question()), tc.text, false, 0)
			})
		}
	}
	for _, s := range senders(t, endless.url, endless.egress) {
		if err := s.Send(t.Context(), question()); err != nil {
			t.Errorf("Send() = %v: the answer of a receiver that accepts does not count", err)
		}
	}
	if n := len(private.all()) + len(untrusted.all()); n != 0 {
		t.Errorf("%d requests got through", n)
	}
}

// A wrong configuration is named without its secrets.
func TestWrongEndpoints(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "s3cret", "/s3cret", "http://example.com/s3cret", "ftp://example.com/s3cret", "https://s3cret@example.com/", "https://example.com/#s3cret",
		"https:///s3cret", "https://exa mple.com/s3cret", "https://example.com/%zzs3cret", "https://example.com/\r\ns3cret", "http://10.0.0.1/s3cret",
	} {
		_, err := notify.NewSlack(url, egress.Config{})
		_, hook := notify.NewWebhook(url, secret, egress.Config{})
		if err == nil || hook == nil || strings.Contains(err.Error()+hook.Error(), "s3cret") {
			t.Errorf("%q: NewSlack() = %v, NewWebhook() = %v, want errors without the URL", url, err, hook)
		}
	}
	for _, key := range []string{"", "whsec_", "whsec_s3cret", "whsec_czNjcmV0", secret[6:], secret + "!", "whsk_" + secret[6:]} {
		_, err := notify.NewWebhook("https://example.com/", key, egress.Config{})
		if err == nil || !strings.HasPrefix(err.Error(), "secret: ") || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "czNj") {
			t.Errorf("NewWebhook() = %v, want an error about the secret", err)
		}
	}
	if _, err := notify.NewSlack("http://127.0.0.1:8065/hooks/x", egress.Config{}); err != nil {
		t.Errorf("NewSlack() = %v: the local host needs no https", err)
	}
}
