package notify_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/google/go-cmp/cmp"

	"a2a-server/cmd/a2a-server/internal/notify"
	"a2a-server/cmd/a2a-server/internal/notify/mailtest"
	"a2a-server/internal/egress"
	"a2a-server/internal/tlsfiles/tlstest"
	"a2a-server/internal/visible"
	tasks "a2a-server/task/notify"
)

const password = mailtest.Password

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func serverTLS(t *testing.T, ca *tlstest.CA) *tls.Config {
	t.Helper()
	return &tls.Config{Certificates: []tls.Certificate{ca.Server(t).TLS(t)}, MinVersion: tls.VersionTLS12}
}

// mailServer is a mail server with the configuration of a sender to it.
type mailServer struct {
	*mailtest.Server
	cfg notify.SMTP
}

// newMailServer starts a server. change may change it before.
func newMailServer(t *testing.T, encrypted string, change func(m *mailtest.Server, s *smtp.Server)) *mailServer {
	t.Helper()
	m := mailtest.Start(t, encrypted, change)
	cfg := notify.SMTP{
		Host: "127.0.0.1", Port: m.Port, TLS: encrypted, From: "Approvals <approvals@example.com>", To: []string{"alice@example.com", "Bob <bob@example.org>"},
		Egress: egress.Config{RootCAs: m.CA},
	}
	if m.SignsIn {
		cfg.User, cfg.Password = mailtest.User, password
	}
	return &mailServer{m, cfg}
}

// A real server gets the mail, encrypted as configured, with the sender signed in.
func TestMail(t *testing.T) {
	t.Parallel()
	for _, encrypted := range []string{notify.StartTLS, notify.TLS, notify.NoTLS} {
		t.Run(encrypted, func(t *testing.T) {
			t.Parallel()
			m := newMailServer(t, encrypted, func(m *mailtest.Server, _ *smtp.Server) { m.SignsIn = encrypted != notify.NoTLS })
			s := must(t)(notify.NewSMTP(m.cfg))
			for range 2 {
				if err := s.Send(t.Context(), question()); err != nil {
					t.Fatal(err)
				}
			}
			mails := m.All()
			if len(mails) != 2 || mails[0].Content != mails[1].Content {
				t.Fatalf("mails %q, want the same twice", mails)
			}
			got := mails[0]
			if got.From != "approvals@example.com" || !slices.Equal(got.To, []string{"alice@example.com", "bob@example.org"}) {
				t.Errorf("from %q to %q", got.From, got.To)
			}
			header, body := mailtest.Read(t, got.Content)
			for name, value := range map[string]string{
				"From": `"Approvals" <approvals@example.com>`, "To": `<alice@example.com>, "Bob" <bob@example.org>`,
				"Subject": "Approval needed: transfer_money: Pay 100 EUR to Bob & Söhne?", "Message-Id": "<019a-1_asked_ops@example.com>",
				"Date": "Thu, 26 Nov 2026 22:00:00 +0000", "Auto-Submitted": "auto-generated", "Content-Type": "text/plain; charset=UTF-8",
			} {
				if header.Get(name) != value {
					t.Errorf("%s: %q, want %q", name, header.Get(name), value)
				}
			}
			want := `An approval waits for a decision.

Tool:       transfer_money
Hint:       Pay 100 EUR to Bob & Söhne?
Risk:       high
Requester:  alice
Until:      2026-11-27 22:00:00 UTC
Arguments:  {"amount":100}
Task:       019a

Decide on this page (opening it decides nothing):
https://a2a.example.com/ui/approvals/019a.1

On the command line: a2a-server approvals show 019a.1
`
			if diff := cmp.Diff(want, body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

// The texts of a gate and of a tool, on a line each, are sentences of one field; the subject has the first.
func TestHintOfSeveralLines(t *testing.T) {
	t.Parallel()
	m := newMailServer(t, notify.NoTLS, nil)
	msg := question()
	msg.Hint = "Pay Bob?\nThe tool says: POST https://bank.example/pay"
	if err := must(t)(notify.NewSMTP(m.cfg)).Send(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	header, body := mailtest.Read(t, m.All()[0].Content)
	if subject, want := header.Get("Subject"), "Approval needed: transfer_money: Pay Bob?"; subject != want {
		t.Errorf("the subject is %q, want %q", subject, want)
	}
	if want := "\nHint:       Pay Bob? The tool says: POST https://bank.example/pay\n"; !strings.Contains(body, want) {
		t.Errorf("the body has no line %q:\n%s", want, body)
	}
}

// The subject says how an approval ended, and the body leaves out what a message does not have.
func TestTexts(t *testing.T) {
	t.Parallel()
	m := newMailServer(t, notify.NoTLS, nil)
	s := must(t)(notify.NewSMTP(m.cfg))
	for state, outcome := range map[string]string{
		"approved": "was approved", "edited": "was approved with other arguments", "rejected": "was rejected", "responded": "was answered",
		"expired": "expired without a decision", "canceled": "was canceled", "superseded": "was replaced by a new one", "other": "ended",
	} {
		msg := answer()
		msg.State, msg.Hint, msg.Risk, msg.Requester, msg.Reason, msg.Args, msg.Link = state, "", "", "", "", nil, ""
		if err := s.Send(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
		mails := m.All()
		header, body := mailtest.Read(t, mails[len(mails)-1].Content)
		want := "An approval " + outcome + ".\n\nTool:       transfer_money\nDecided by: bob\nTask:       019a\n\nOn the command line: a2a-server approvals show 019a.1\n"
		if header.Get("Subject") != "Approval "+outcome+": transfer_money" || body != want {
			t.Errorf("%q:\n%s\nwant:\n%s", header.Get("Subject"), body, want)
		}
	}
}

// The subject says that an approval still waits, and the body who may decide it, too.
func TestTextsOfReminders(t *testing.T) {
	t.Parallel()
	m := newMailServer(t, notify.NoTLS, nil)
	s := must(t)(notify.NewSMTP(m.cfg))
	for event, want := range map[string][2]string{
		"approval.reminded":  {"Reminder, approval needed: transfer_money", "An approval still waits for a decision.\n\nTool:       transfer_money\nUntil:      2026-11-27 22:00:00 UTC\n"},
		"approval.escalated": {"Escalated, approval needed: transfer_money", "Nobody has decided an approval in time, so it is escalated.\n\nTool:       transfer_money\nAlso for:   treasury, cfo\nUntil:      2026-11-27 22:00:00 UTC\n"},
	} {
		msg := question()
		msg.Event, msg.Hint, msg.Risk, msg.Requester, msg.Args = event, "", "", "", nil
		if event == "approval.escalated" {
			msg.Roles = []string{"treasury", "cfo"}
		}
		if err := s.Send(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
		mails := m.All()
		header, body := mailtest.Read(t, mails[len(mails)-1].Content)
		rest := "Task:       019a\n\nDecide on this page (opening it decides nothing):\nhttps://a2a.example.com/ui/approvals/019a.1\n\nOn the command line: a2a-server approvals show 019a.1\n"
		if header.Get("Subject") != want[0] || body != want[1]+rest {
			t.Errorf("%q:\n%s\nwant:\n%s%s", header.Get("Subject"), body, want[1], rest)
		}
	}
}

// No field of a message can add a header, a recipient, a mail, or a line to the body.
func TestMailHostile(t *testing.T) {
	t.Parallel()
	m := newMailServer(t, notify.NoTLS, nil)
	s := must(t)(notify.NewSMTP(m.cfg))
	for _, msg := range hostile()[:3] {
		if err := s.Send(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
	mails := m.All()
	if len(mails) != 3 {
		t.Fatalf("%d mails, want 3", len(mails))
	}
	for _, got := range mails {
		header, body := mailtest.Read(t, got.Content)
		if len(got.To) != 2 || got.From != "approvals@example.com" || len(header) != 10 || header.Get("Bcc") != "" {
			t.Errorf("from %q to %q, with the header %v", got.From, got.To, header)
		}
		if subject := header.Get("Subject"); strings.ContainsFunc(subject, visible.Invisible) || len(subject) > 400 {
			t.Errorf("subject %q", subject)
		}
		for line := range strings.Lines(body) {
			label, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			known := slices.Contains([]string{"Tool", "Hint", "Risk", "Requester", "Decided by", "Reason", "Arguments", "Task", "Also for"}, label)
			if strings.ContainsFunc(value, visible.Invisible) || strings.Contains(line, "evil.example") && !known {
				t.Errorf("a line of a caller: %q", line)
			}
		}
		if !strings.HasSuffix(body, "\n\nOn the command line: a2a-server approvals list\n") {
			t.Errorf("body %q", body)
		}
	}
	want(t, s.Send(t.Context(), hostile()[3]), "unknown event", true, 0)
	word := question()
	word.Tool, word.Hint = "=?utf-8?B?ZXZpbA==?=", ""
	if err := s.Send(t.Context(), word); err != nil {
		t.Fatal(err)
	}
	if header, _ := mailtest.Read(t, m.All()[3].Content); header.Get("Subject") != "Approval needed: = ?utf-8?B?ZXZpbA== ?=" {
		t.Errorf("subject %q", header.Get("Subject"))
	}
}

// Answers of the server decide whether a mail is tried again. Their texts are not repeated.
func TestMailRefused(t *testing.T) {
	t.Parallel()
	answer := func(code, class int) error {
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{class, 7, 1}, Message: "no " + password}
	}
	for name, tc := range map[string]struct {
		change    func(m *mailtest.Server)
		text      string
		permanent bool
	}{
		"sender":               {func(m *mailtest.Server) { m.OnMail = answer(550, 5) }, "the server answered 550 5.7.1", true},
		"sender, later":        {func(m *mailtest.Server) { m.OnMail = answer(451, 4) }, "the server answered 451 4.7.1", false},
		"content":              {func(m *mailtest.Server) { m.OnData = answer(554, 5) }, "the server answered 554", true},
		"content, later":       {func(m *mailtest.Server) { m.OnData = answer(452, 4) }, "the server answered 4", false},
		"all recipients":       {func(m *mailtest.Server) { m.Refuses = func(string, int) error { return answer(550, 5) } }, "alice@example.com (550 5.7.1), bob@example.org (550 5.7.1)", true},
		"all recipients later": {func(m *mailtest.Server) { m.Refuses = func(string, int) error { return answer(450, 4) } }, "alice@example.com (450 4.7.1)", false},
		"password":             {func(m *mailtest.Server) { m.SignsIn = true }, "the server answered 535 5.7.8", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMailServer(t, notify.StartTLS, func(m *mailtest.Server, _ *smtp.Server) { tc.change(m) })
			if m.SignsIn {
				m.cfg.Password = password + "?"
			}
			want(t, must(t)(notify.NewSMTP(m.cfg)).Send(t.Context(), question()), tc.text, tc.permanent, 0)
			if got := m.All(); len(got) != 0 {
				t.Errorf("mails %q", got)
			}
		})
	}
}

// A recipient that the server refuses for now gets the mail later, and the others once.
func TestRecipientLater(t *testing.T) {
	t.Parallel()
	m := newMailServer(t, notify.NoTLS, func(m *mailtest.Server, _ *smtp.Server) {
		m.Refuses = func(to string, session int) error {
			if to == "bob@example.org" && session < 3 {
				return &smtp.SMTPError{Code: 450, EnhancedCode: smtp.EnhancedCode{4, 2, 0}, Message: "come again"}
			}
			if to == "eve@example.com" {
				return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "unknown"}
			}
			return nil
		}
	})
	m.cfg.To = append(m.cfg.To, "eve@example.com")
	s := must(t)(notify.NewSMTP(m.cfg))
	for range 2 {
		want(t, s.Send(t.Context(), question()), "recipients refused: bob@example.org (450 4.2.0), eve@example.com (550 5.1.1)", false, 0)
	}
	want(t, s.Send(t.Context(), question()), "recipients refused: eve@example.com (550 5.1.1)", true, 0)
	got := m.All()
	if len(got) != 2 || !slices.Equal(got[0].To, []string{"alice@example.com"}) || !slices.Equal(got[1].To, []string{"bob@example.org"}) {
		t.Errorf("mails %q, want one to each", got)
	}
}

// A mail to a requester goes to them alone. An address that is none gets nothing, and no error,
// which is logged, has an address.
func TestMailToTheRequester(t *testing.T) {
	t.Parallel()
	m := newMailServer(t, notify.NoTLS, func(m *mailtest.Server, _ *smtp.Server) {
		m.Refuses = func(to string, _ int) error {
			if to == "gone@example.org" {
				return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "unknown: " + to}
			}
			return nil
		}
	})
	m.cfg.To, m.cfg.Requester = nil, true
	s := must(t)(notify.NewSMTP(m.cfg))
	to := func(address string) error {
		msg := answer()
		msg.To = address
		return s.Send(t.Context(), msg)
	}
	for _, address := range []string{"", "carol", "Carol <carol@example.org>", "carol@example.org, eve@example.org", "carol@example.org\r\nBcc: eve@example.org", "carol@example.org>\r\nRCPT TO:<eve@example.org"} {
		err := to(address)
		if want(t, err, "no address of the requester", true, 0); strings.Contains(err.Error(), "@") {
			t.Errorf("Send() = %v, which has an address", err)
		}
	}
	err := to("gone@example.org")
	if want(t, err, "recipients refused: the requester (550 5.1.1)", true, 0); strings.Contains(err.Error(), "@") {
		t.Errorf("Send() = %v, which has an address", err)
	}
	if err := to("carol@example.org"); err != nil {
		t.Fatal(err)
	}
	got := m.All()
	if len(got) != 1 || !slices.Equal(got[0].To, []string{"carol@example.org"}) {
		t.Fatalf("mails %q, want one to the requester", got)
	}
	if header, _ := mailtest.Read(t, got[0].Content); header.Get("To") != "<carol@example.org>" {
		t.Errorf("To: %q", header.Get("To"))
	}
}

// raw answers each connection by hand.
func raw(t *testing.T, talk func(net.Conn)) notify.SMTP {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = conn.Close() }()
				talk(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	at, _ := l.Addr().(*net.TCPAddr)
	return notify.SMTP{Host: "127.0.0.1", Port: at.Port, TLS: notify.NoTLS, From: "a@example.com", To: []string{"b@example.com"}, Egress: egress.Config{Timeout: 200 * time.Millisecond}}
}

// A server that hangs, closes, is another, or does not encrypt costs an attempt, and gets no
// password and no mail.
func TestBrokenMailServers(t *testing.T) {
	t.Parallel()
	hold := func(greeting string) func(net.Conn) {
		return func(conn net.Conn) {
			_, _ = io.WriteString(conn, greeting)
			_, _ = io.Copy(io.Discard, conn) // until the client closes
		}
	}
	plain := newMailServer(t, notify.NoTLS, func(m *mailtest.Server, s *smtp.Server) { m.SignsIn, s.AllowInsecureAuth = true, true })
	secure := newMailServer(t, notify.StartTLS, nil)
	implicit := newMailServer(t, notify.TLS, nil)
	with := func(c notify.SMTP, change func(*notify.SMTP)) notify.SMTP {
		change(&c)
		return c
	}
	for name, tc := range map[string]struct {
		cfg  notify.SMTP
		text string
	}{
		"silent":              {raw(t, hold("")), "timeout"},
		"silent, TLS":         {with(raw(t, hold("")), func(c *notify.SMTP) { c.TLS = notify.TLS }), "timeout"},
		"hangs":               {raw(t, hold("220 localhost\r\n")), "timeout"},
		"closes":              {raw(t, func(net.Conn) {}), "connection closed"},
		"busy":                {raw(t, hold("421 4.3.2 "+password+"\r\n")), "the server answered 421 4.3.2"},
		"no SMTP":             {raw(t, hold("HTTP/1.1 400 "+password+"\r\n\r\n")), "request failed"},
		"no STARTTLS":         {with(plain.cfg, func(c *notify.SMTP) { c.TLS = notify.StartTLS }), "offers no STARTTLS"},
		"no password":         {with(secure.cfg, func(c *notify.SMTP) { c.User, c.Password = "mailer", password }), "does not offer to sign in"},
		"untrusted":           {with(secure.cfg, func(c *notify.SMTP) { c.Egress.RootCAs = nil }), "TLS"},
		"untrusted, TLS":      {with(implicit.cfg, func(c *notify.SMTP) { c.Egress.RootCAs = nil }), "TLS"},
		"other name":          {with(secure.cfg, func(c *notify.SMTP) { c.Host = "localhost" }), "TLS"},
		"plain for encrypted": {with(plain.cfg, func(c *notify.SMTP) { c.TLS = notify.TLS }), "TLS"},
		"nobody":              {with(plain.cfg, func(c *notify.SMTP) { c.Port, c.TLS = 1, notify.TLS }), "connection failed"},
		"metadata":            {with(plain.cfg, func(c *notify.SMTP) { c.Host, c.TLS = "169.254.169.254", notify.TLS }), "metadata service"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want(t, must(t)(notify.NewSMTP(tc.cfg)).Send(t.Context(), question()), tc.text, false, 0)
		})
	}
	t.Cleanup(func() {
		if n := len(plain.All()) + len(secure.All()) + len(implicit.All()); n != 0 {
			t.Errorf("%d mails got through", n)
		}
	})
}

// A server that accepts a mail and then hangs has the mail.
func TestMailServerHangsAfterwards(t *testing.T) {
	t.Parallel()
	cfg := raw(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, "220 x\r\n250 x\r\n250 x\r\n250 x\r\n354 x\r\n250 x\r\n")
		_, _ = io.Copy(io.Discard, conn)
	})
	cfg.Egress.Timeout = time.Minute
	if err := must(t)(notify.NewSMTP(cfg)).Send(t.Context(), question()); err != nil {
		t.Errorf("Send() = %v", err)
	}
}

// The end of the server ends an attempt.
func TestCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cfg := raw(t, func(conn net.Conn) {
		cancel()
		_, _ = io.Copy(io.Discard, conn)
	})
	cfg.Egress.Timeout = time.Minute
	mailer := must(t)(notify.NewSMTP(cfg))
	hooks := senders(t, fmt.Sprintf("http://127.0.0.1:%d%s", cfg.Port, secretPath), egress.Config{AllowLoopback: true})
	for _, s := range []tasks.Sender{mailer, hooks["slack"]} {
		if err := s.Send(ctx, question()); !errors.Is(err, context.Canceled) {
			t.Errorf("Send() = %v, want %v", err, context.Canceled)
		}
	}
}

// All mistakes of a configuration are named, without the password.
func TestWrongSMTP(t *testing.T) {
	t.Parallel()
	good := notify.SMTP{Host: "mail.example.com", From: "a@example.com", To: []string{"b@example.com"}}
	if _, err := notify.NewSMTP(good); err != nil {
		t.Fatal(err)
	}
	for text, change := range map[string]func(*notify.SMTP){
		"smtp.host":             func(c *notify.SMTP) { c.Host = "mail.example.com\r\nx" },
		"in the clear":          func(c *notify.SMTP) { c.User, c.Password, c.TLS = "u", password, notify.NoTLS },
		"belong together":       func(c *notify.SMTP) { c.Password = password },
		"smtp.from":             func(c *notify.SMTP) { c.From = "a@example.com\r\nBcc: x@example.com" },
		"smtp.from: \"nobody\"": func(c *notify.SMTP) { c.From = "nobody" },
		"to[0]":                 func(c *notify.SMTP) { c.To = []string{"b@example.com, c@example.com"} },
		"xn--":                  func(c *notify.SMTP) { c.To = []string{"b@bücher.example"} },
		"to[1]":                 func(c *notify.SMTP) { c.To = append(c.To, "\"x\r\n\" <c@example.com>") },
		"to: missing":           func(c *notify.SMTP) { c.To = nil },
		"of no use":             func(c *notify.SMTP) { c.Requester = true },
		"no PEM certificate":    func(c *notify.SMTP) { c.Egress.RootCAs = []byte("x") },
	} {
		c := good
		c.To = slices.Clone(good.To)
		change(&c)
		_, err := notify.NewSMTP(c)
		if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), password) {
			t.Errorf("NewSMTP() = %v, want an error with %q", err, text)
		}
	}
}
