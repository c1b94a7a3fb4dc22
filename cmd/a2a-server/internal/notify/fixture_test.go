package notify_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"a2a-server/internal/egress"
	"a2a-server/internal/tlsfiles/tlstest"
	"a2a-server/task/notify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// crlf is a value that ends its line, and goes on as a header, a mail, and markup.
const crlf = "x\r\nBcc: eve@example.org\r\n\r\n.\r\nMAIL FROM:<eve@example.org>\n\u2028\u202e```<!channel> <https://evil.example|ok> @here *b* `c` =?utf-8?B?ZXZpbA==?="

// question returns a message that an approval is asked for.
func question() *notify.Message {
	return &notify.Message{
		ID: "019a-1_asked_ops", Event: "approval.asked", Route: "ops", At: time.Date(2026, 11, 26, 22, 0, 0, 0, time.UTC),
		Task: "019a", Context: "c-1", Approval: "019a.1", Tool: "transfer_money", Hint: "Pay 100 EUR to Bob & Söhne?", Risk: "high",
		Requester: "alice", Args: json.RawMessage(`{ "amount": 100 }`), Digest: "sha256:abc", Expires: time.Date(2026, 11, 27, 22, 0, 0, 0, time.UTC),
		Link: "https://a2a.example.com/ui/approvals/019a.1",
	}
}

// answer returns a message that an approval has been resolved.
func answer() *notify.Message {
	m := question()
	m.Event, m.State, m.By, m.Reason = "approval.resolved", "rejected", "bob", "too much"
	return m
}

func rest() *notify.Message {
	return &notify.Message{ID: "ops_summary_7", Event: "summary", Route: "ops", At: question().At, Count: 3, Link: "https://a2a.example.com/ui/"}
}

// hostile returns messages with crlf in every field but the id.
func hostile() []*notify.Message {
	var out []*notify.Message
	for _, m := range []*notify.Message{question(), answer(), rest()} {
		for _, p := range []*string{&m.Route, &m.Task, &m.Context, &m.Approval, &m.Tool, &m.Hint, &m.Risk, &m.Requester, &m.Digest, &m.State, &m.By, &m.Reason, &m.Link} {
			*p = crlf
		}
		m.Roles = []string{crlf}
		m.Args, _ = json.Marshal(map[string]string{crlf: crlf})
		out = append(out, m)
	}
	return append(out, &notify.Message{ID: "m", Event: crlf})
}

// request is what a receiver has got.
type request struct {
	header http.Header
	body   []byte
}

// receiver is a server for webhooks on the loopback interface, with TLS.
type receiver struct {
	url    string // with a path that is a secret
	egress egress.Config

	mu  sync.Mutex
	got []request
}

const secretPath = "/services/T000/B000/s3cretpath"

func newReceiver(t *testing.T, reply http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		content, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		r.got = append(r.got, request{q.Header, content})
		r.mu.Unlock()
		if q.Method != http.MethodPost || q.URL.Path != secretPath {
			t.Errorf("%s %s", q.Method, q.URL)
		}
		if reply != nil {
			reply(w, q)
		}
	}))
	ca := tlstest.NewCA(t)
	s.TLS = serverTLS(t, ca)
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	t.Cleanup(s.Close)
	r.url = s.URL + secretPath
	r.egress = egress.Config{AllowLoopback: true, RootCAs: ca.PEM}
	return r
}

func (r *receiver) all() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got
}

// want checks an error: its text, without secrets, and its class.
func want(t *testing.T, err error, part string, permanent bool, after time.Duration) {
	t.Helper()
	if err == nil {
		t.Fatalf("Send() = nil, want an error with %q", part)
	}
	if !strings.Contains(err.Error(), part) || strings.ContainsAny(err.Error(), "\r\n") {
		t.Errorf("Send() = %v, want an error with %q, on a single line", err, part)
	}
	for _, secret := range []string{"s3cret", "services", password} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("Send() = %v, which has a secret", err)
		}
	}
	if got := errors.Is(err, notify.ErrPermanent); got != permanent {
		t.Errorf("Send() = %v, permanent: %v, want %v", err, got, permanent)
	}
	if named, is := errors.AsType[*notify.DelayError](err); is && named.After != after || !is && after != 0 {
		t.Errorf("Send() = %v, want a pause of %v", err, after)
	}
}
