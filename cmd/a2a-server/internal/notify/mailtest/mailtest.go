// Package mailtest is a mail server for tests.
package mailtest

import (
	"crypto/tls"
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

	"a2a-server/internal/tlsfiles/tlstest"
)

// The user who has to sign in at a [Server] with SignsIn.
const (
	User     = "mailer"
	Password = "s3cret-p4ssword"
)

// Mail is a mail that a server has accepted.
type Mail struct {
	From    string
	To      []string
	Content string
}

// Server is a mail server on the loopback interface. It is safe for concurrent use; its exported
// fields are set before it starts, or between mails.
type Server struct {
	Port    int
	CA      []byte // the authority of its certificate, in PEM
	SignsIn bool   // and requires it
	OnMail  error
	OnData  error
	Refuses func(to string, session int) error

	mu       sync.Mutex
	sessions int
	mails    []Mail
}

// Start starts a server that runs until the test ends. encrypted is "starttls", "tls" or "none".
// change may change it before.
func Start(t testing.TB, encrypted string, change func(*Server, *smtp.Server)) *Server {
	t.Helper()
	ca := tlstest.NewCA(t)
	m := &Server{CA: ca.PEM}
	s := smtp.NewServer(m)
	s.Domain, s.ErrorLog, s.ReadTimeout, s.WriteTimeout = "localhost", log.New(io.Discard, "", 0), time.Minute, time.Minute
	if encrypted != "none" {
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{ca.Server(t).TLS(t)}, MinVersion: tls.VersionTLS12}
	}
	if change != nil {
		change(m, s)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at, _ := l.Addr().(*net.TCPAddr)
	m.Port = at.Port
	if encrypted == "tls" {
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

// All returns the mails so far.
func (m *Server) All() []Mail {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.mails)
}

// NewSession implements [smtp.Backend].
func (m *Server) NewSession(*smtp.Conn) (smtp.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions++
	return &session{m: m, number: m.sessions}, nil
}

type session struct {
	m      *Server
	number int
	signed bool
	now    Mail
}

func (s *session) AuthMechanisms() []string {
	if !s.m.SignsIn {
		return nil
	}
	return []string{sasl.Plain}
}

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, pass string) error {
		if user != User || pass != Password {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "not the password: " + pass}
		}
		s.signed = true
		return nil
	}), nil
}

func (s *session) Reset()        { s.now = Mail{} }
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.m.SignsIn && !s.signed {
		return smtp.ErrAuthRequired
	}
	s.now = Mail{From: from}
	return s.m.OnMail
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if s.m.Refuses != nil {
		if err := s.m.Refuses(to, s.number); err != nil {
			return err
		}
	}
	s.now.To = append(s.now.To, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	content, err := io.ReadAll(r)
	if err == nil {
		err = s.m.OnData
	}
	if err != nil {
		return err
	}
	s.now.Content = string(content)
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.m.mails = append(s.m.mails, s.now)
	return nil
}

// Read returns the header of a mail, with its subject decoded, and its text.
func Read(t testing.TB, content string) (mail.Header, string) {
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
