package notify_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/google/go-cmp/cmp"

	"a2a-server/internal/egress"
	"a2a-server/internal/notify"
	"a2a-server/internal/tlsfiles/tlstest"
	"a2a-server/internal/visible"
	tasks "a2a-server/task/notify"
)

const password = "s3cret-p4ssword"

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func serverTLS(t *testing.T, ca *tlstest.CA) *tls.Config {
	t.Helper()
	return &tls.Config{Certificates: []tls.Certificate{ca.Server(t).TLS(t)}, MinVersion: tls.VersionTLS12}
}

// envelope is a mail that the server has accepted.
type envelope struct {
	from    string
	to      []string
	content string
}

// mailServer is a mail server on the loopback interface.
type mailServer struct {
	cfg     notify.SMTP // of a sender to it
	signsIn bool        // and requires it
	onMail  error
	onData  error
	refuses func(to string, session int) error

	mu       sync.Mutex
	sessions int
	mails    []envelope
}

// newMailServer starts a server. change may change it before.
func newMailServer(t *testing.T, encrypted string, change func(m *mailServer, s *smtp.Server)) *mailServer {
	t.Helper()
	ca := tlstest.NewCA(t)
	m := &mailServer{}
	s := smtp.NewServer(m)
	s.Domain, s.ErrorLog, s.ReadTimeout, s.WriteTimeout = "localhost", quiet(), time.Minute, time.Minute
	if encrypted != notify.NoTLS {
		s.TLSConfig = serverTLS(t, ca)
	}
	if change != nil {
		change(m, s)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at, _ := l.Addr().(*net.TCPAddr)
	m.cfg = notify.SMTP{
		Host: "127.0.0.1", Port: at.Port, TLS: encrypted, From: "Approvals <approvals@example.com>", To: []string{"alice@example.com", "Bob <bob@example.org>"},
		Egress: egress.Config{RootCAs: ca.PEM},
	}
	if m.signsIn {
		m.cfg.User, m.cfg.Password = "mailer", password
	}
	if encrypted == notify.TLS {
		l = tls.NewListener(l, s.TLSConfig)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-ended
	})
	return m
}

func (m *mailServer) all() []envelope {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.mails)
}

func (m *mailServer) NewSession(*smtp.Conn) (smtp.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions++
	return &session{m: m, number: m.sessions}, nil
}

type session struct {
	m      *mailServer
	number int
	signed bool
	now    envelope
}

func (s *session) AuthMechanisms() []string {
	if !s.m.signsIn {
		return nil
	}
	return []string{sasl.Plain}
}

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, pass string) error {
		if user != "mailer" || pass != password {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "not the password: " + pass}
		}
		s.signed = true
		return nil
	}), nil
}

func (s *session) Reset()        { s.now = envelope{} }
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.m.signsIn && !s.signed {
		return smtp.ErrAuthRequired
	}
	s.now = envelope{from: from}
	return s.m.onMail
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if s.m.refuses != nil {
		if err := s.m.refuses(to, s.number); err != nil {
			return err
		}
	}
	s.now.to = append(s.now.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	content, err := io.ReadAll(r)
	if err == nil {
		err = s.m.onData
	}
	if err != nil {
		return err
	}
	s.now.content = string(content)
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.m.mails = append(s.m.mails, s.now)
	return nil
}

// A real server gets the mail, encrypted as configured, with the sender signed in.
func TestMail(t *testing.T) {
	t.Parallel()
	for _, encrypted := range []string{notify.StartTLS, notify.TLS, notify.NoTLS} {
		t.Run(encrypted, func(t *testing.T) {
			t.Parallel()
			m := newMailServer(t, encrypted, func(m *mailServer, _ *smtp.Server) { m.signsIn = encrypted != notify.NoTLS })
			s := must(t)(notify.NewSMTP(m.cfg))
			for range 2 {
				if err := s.Send(t.Context(), question()); err != nil {
					t.Fatal(err)
				}
			}
			mails := m.all()
			if len(mails) != 2 || mails[0].content != mails[1].content {
				t.Fatalf("mails %q, want the same twice", mails)
			}
			got := mails[0]
			if got.from != "approvals@example.com" || !slices.Equal(got.to, []string{"alice@example.com", "bob@example.org"}) {
				t.Errorf("from %q to %q", got.from, got.to)
			}
			header, body := read(t, got.content)
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

// read parses a mail.
func read(t *testing.T, content string) (mail.Header, string) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(content))
	if err != nil {
		t.Fatalf("%v: %q", err, content)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	m.Header["Subject"] = []string{subject}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil || m.Header.Get("Content-Transfer-Encoding") != "quoted-printable" {
		t.Fatalf("%v: %q", err, content)
	}
	return m.Header, strings.ReplaceAll(string(body), "\r\n", "\n")
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
		mails := m.all()
		header, body := read(t, mails[len(mails)-1].content)
		want := "An approval " + outcome + ".\n\nTool:       transfer_money\nDecided by: bob\nTask:       019a\n\nOn the command line: a2a-server approvals show 019a.1\n"
		if header.Get("Subject") != "Approval "+outcome+": transfer_money" || body != want {
			t.Errorf("%q:\n%s\nwant:\n%s", header.Get("Subject"), body, want)
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
	mails := m.all()
	if len(mails) != 3 {
		t.Fatalf("%d mails, want 3", len(mails))
	}
	for _, got := range mails {
		header, body := read(t, got.content)
		if len(got.to) != 2 || got.from != "approvals@example.com" || len(header) != 10 || header.Get("Bcc") != "" {
			t.Errorf("from %q to %q, with the header %v", got.from, got.to, header)
		}
		if subject := header.Get("Subject"); strings.ContainsFunc(subject, visible.Invisible) || len(subject) > 400 {
			t.Errorf("subject %q", subject)
		}
		for line := range strings.Lines(body) {
			label, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			known := slices.Contains([]string{"Tool", "Hint", "Risk", "Requester", "Decided by", "Reason", "Arguments", "Task"}, label)
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
	if header, _ := read(t, m.all()[3].content); header.Get("Subject") != "Approval needed: = ?utf-8?B?ZXZpbA== ?=" {
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
		change    func(m *mailServer)
		text      string
		permanent bool
	}{
		"sender":               {func(m *mailServer) { m.onMail = answer(550, 5) }, "the server answered 550 5.7.1", true},
		"sender, later":        {func(m *mailServer) { m.onMail = answer(451, 4) }, "the server answered 451 4.7.1", false},
		"content":              {func(m *mailServer) { m.onData = answer(554, 5) }, "the server answered 554", true},
		"content, later":       {func(m *mailServer) { m.onData = answer(452, 4) }, "the server answered 4", false},
		"all recipients":       {func(m *mailServer) { m.refuses = func(string, int) error { return answer(550, 5) } }, "alice@example.com (550 5.7.1), bob@example.org (550 5.7.1)", true},
		"all recipients later": {func(m *mailServer) { m.refuses = func(string, int) error { return answer(450, 4) } }, "alice@example.com (450 4.7.1)", false},
		"password":             {func(m *mailServer) { m.signsIn = true }, "the server answered 535 5.7.8", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMailServer(t, notify.StartTLS, func(m *mailServer, _ *smtp.Server) { tc.change(m) })
			if m.signsIn {
				m.cfg.Password = password + "?"
			}
			want(t, must(t)(notify.NewSMTP(m.cfg)).Send(t.Context(), question()), tc.text, tc.permanent, 0)
			if got := m.all(); len(got) != 0 {
				t.Errorf("mails %q", got)
			}
		})
	}
}

// A recipient that the server refuses for now gets the mail later, and the others once.
func TestRecipientLater(t *testing.T) {
	t.Parallel()
	m := newMailServer(t, notify.NoTLS, func(m *mailServer, _ *smtp.Server) {
		m.refuses = func(to string, session int) error {
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
	got := m.all()
	if len(got) != 2 || !slices.Equal(got[0].to, []string{"alice@example.com"}) || !slices.Equal(got[1].to, []string{"bob@example.org"}) {
		t.Errorf("mails %q, want one to each", got)
	}
}

// A mail to a requester goes to them alone. An address that is none gets nothing, and no error,
// which is logged, has an address.
func TestMailToTheRequester(t *testing.T) {
	t.Parallel()
	m := newMailServer(t, notify.NoTLS, func(m *mailServer, _ *smtp.Server) {
		m.refuses = func(to string, _ int) error {
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
	got := m.all()
	if len(got) != 1 || !slices.Equal(got[0].to, []string{"carol@example.org"}) {
		t.Fatalf("mails %q, want one to the requester", got)
	}
	if header, _ := read(t, got[0].content); header.Get("To") != "<carol@example.org>" {
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
	plain := newMailServer(t, notify.NoTLS, func(m *mailServer, s *smtp.Server) { m.signsIn, s.AllowInsecureAuth = true, true })
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
		if n := len(plain.all()) + len(secure.all()) + len(implicit.all()); n != 0 {
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
		"smtp.port":             func(c *notify.SMTP) { c.Port = 65536 },
		"smtp.tls":              func(c *notify.SMTP) { c.TLS = "ssl" },
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
