package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"a2a-server/internal/egress"
	"a2a-server/internal/visible"
	"a2a-server/task/notify"
)

// How a connection to a mail server is encrypted. The certificate is verified.
const (
	StartTLS = "starttls" // from within SMTP, and required
	TLS      = "tls"      // from the first byte
	NoTLS    = "none"     // not at all; excludes a password
)

const (
	mailTimeout = 30 * time.Second
	quitTimeout = time.Second
	// maxPartly is how many messages that only some recipients have are remembered.
	maxPartly = 1000
)

// SMTP configures a sender of mail.
type SMTP struct {
	Host           string
	Port           int    // defaults to 587 with StartTLS, 465 with TLS and 25 with NoTLS
	TLS            string // defaults to StartTLS
	User, Password string // may be empty
	From           string // "approvals@example.com", or with a name before it: "Approvals <…>"
	To             []string
	Requester      bool // messages go to the requester that they name, and To is empty
	// Egress has the certificates that are trusted too, and the timeout of a message, by
	// default 30 s. Private and local addresses are allowed: no caller chooses the host.
	Egress egress.Config
}

// mailer sends a message as plain text. It is safe for concurrent use.
type mailer struct {
	cfg    SMTP
	from   *mail.Address
	to     []*mail.Address
	dialer *egress.Dialer
	tls    *tls.Config

	mu     sync.Mutex
	partly map[string][]string // message to the recipients that have it, while others wait
}

// NewSMTP returns a sender of mail. Its errors do not have the password.
func NewSMTP(c SMTP) (notify.Sender, error) {
	m := &mailer{partly: map[string][]string{}}
	c.TLS = cmp.Or(c.TLS, StartTLS)
	c.Port = cmp.Or(c.Port, map[string]int{StartTLS: 587, TLS: 465, NoTLS: 25}[c.TLS])
	var errs []error
	if c.Host == "" || strings.ContainsAny(c.Host, " /@[]") || strings.ContainsFunc(c.Host, visible.Invisible) {
		errs = append(errs, fmt.Errorf("smtp.host: %s is not the name of a host, such as mail.example.com", visible.Quote(c.Host, maxName)))
	}
	if (c.User == "") != (c.Password == "") {
		errs = append(errs, errors.New("smtp: user and password belong together; set both, or neither"))
	}
	if c.User != "" && c.TLS == NoTLS {
		errs = append(errs, errors.New("smtp.tls: none would send the password in the clear; use starttls or tls"))
	}
	var err error
	if m.from, err = addressOf(c.From); err != nil {
		errs = append(errs, fmt.Errorf("smtp.from: %w", err))
	}
	for i, to := range c.To {
		one, err := addressOf(to)
		if err != nil {
			errs = append(errs, fmt.Errorf("to[%d]: %w", i, err))
		}
		m.to = append(m.to, one)
	}
	if (len(c.To) == 0) != c.Requester {
		errs = append(errs, errors.New("to: missing, or with requester of no use; list at least one address, or set requester"))
	}
	c.Egress.AllowPrivate, c.Egress.AllowLoopback = true, true
	if c.Egress.Timeout <= 0 {
		c.Egress.Timeout = mailTimeout
	}
	if m.dialer, err = egress.NewDialer(c.Egress); err != nil {
		errs = append(errs, err)
	} else if m.tls, err = c.Egress.TLS(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	m.tls.ServerName = c.Host
	m.cfg = c
	return m, nil
}

// addressOf parses an address, with or without a name.
func addressOf(s string) (*mail.Address, error) {
	a, err := mail.ParseAddress(s)
	if err != nil || strings.ContainsFunc(s, visible.Invisible) || strings.ContainsFunc(a.Name+a.Address, visible.Invisible) {
		return nil, fmt.Errorf("%s is not a mail address, such as alice@example.com", visible.Quote(s, maxName))
	}
	if strings.ContainsFunc(a.Address, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return nil, fmt.Errorf("%s has characters beyond ASCII; write its domain as xn--…", visible.Quote(s, maxName))
	}
	return a, nil
}

// Send sends a mail to all recipients, in a connection of its own. Recipients that the server
// refuses do not keep it from the others; the error names them.
func (m *mailer) Send(ctx context.Context, msg *notify.Message) error {
	t, err := textOf(msg)
	if err != nil {
		return err
	}
	to := m.to
	if m.cfg.Requester {
		one, err := addressOf(msg.To)
		if err != nil || one.Address != msg.To {
			return fmt.Errorf("mail through %q: the message has no address of the requester: %w", m.cfg.Host, notify.ErrPermanent)
		}
		to = []*mail.Address{one}
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Egress.Timeout)
	defer cancel()
	err = m.deliver(ctx, msg.ID, to, m.compose(t, msg.ID, to, msg.At))
	if err != nil && outer.Err() == nil && ctx.Err() != nil {
		err = ctx.Err() // it closed the connection, so err is about that
	}
	return m.failure(outer, err)
}

// compose returns a mail. It is the same in each attempt.
func (m *mailer) compose(t *text, id string, to []*mail.Address, at time.Time) *gomail.Msg {
	out := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	out.FromMailAddress(m.from)
	out.ToMailAddress(to...)
	// Without the space, programs would decode what a caller has written as an encoded word.
	out.Subject(strings.ReplaceAll(t.title, "=?", "= ?"))
	out.SetMessageIDWithValue(id + m.from.Address[strings.LastIndex(m.from.Address, "@"):])
	out.SetDateWithValue(at)
	out.SetGenHeader("Auto-Submitted", "auto-generated")
	out.SetGenHeader(gomail.HeaderXAutoResponseSuppress, "All")
	out.SetBodyString(gomail.TypeTextPlain, t.plain())
	return out
}

// deliver hands a mail to the server.
func (m *mailer) deliver(ctx context.Context, id string, to []*mail.Address, msg *gomail.Msg) error {
	conn, err := m.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	session, err := m.signIn(ctx, conn)
	if err != nil {
		return err
	}
	err = m.transact(session, id, to, msg)
	if session.UpdateDeadline(quitTimeout) == nil {
		_ = session.Quit() // the mail has been accepted or refused
	}
	return err
}

// dial connects to the server, and with TLS also encrypts.
func (m *mailer) dial(ctx context.Context) (net.Conn, error) {
	conn, err := m.dialer.DialContext(ctx, "tcp", net.JoinHostPort(m.cfg.Host, strconv.Itoa(m.cfg.Port)))
	if err != nil || m.cfg.TLS != TLS {
		return conn, err
	}
	secure := tls.Client(conn, m.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("tls: %w", err)
	}
	return secure, nil
}

// signIn greets the server on conn, encrypts with StartTLS, and signs in.
func (m *mailer) signIn(ctx context.Context, conn net.Conn) (*smtp.Client, error) {
	policy := gomail.NoTLS // or encrypted already
	if m.cfg.TLS == StartTLS {
		policy = gomail.TLSMandatory
	}
	options := []gomail.Option{
		gomail.WithTimeout(m.cfg.Egress.Timeout), gomail.WithTLSPolicy(policy), gomail.WithTLSConfig(m.tls.Clone()), gomail.WithoutSMTPUTF8(),
		gomail.WithDialContextFunc(func(context.Context, string, string) (net.Conn, error) { return conn, nil }),
	}
	if m.cfg.User != "" {
		options = append(options, gomail.WithUsername(m.cfg.User), gomail.WithPassword(m.cfg.Password),
			gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin))
	}
	client, err := gomail.NewClient(m.cfg.Host, options...)
	if err != nil {
		return nil, err
	}
	return client.DialToSMTPClientWithContext(ctx)
}

// transact sends a mail to the recipients that do not have it yet.
func (m *mailer) transact(session *smtp.Client, id string, recipients []*mail.Address, msg *gomail.Msg) error {
	if err := session.Mail(envelope(m.from)); err != nil {
		return err
	}
	had := m.have(id)
	var accepted []string
	var refused refusedError
	for _, to := range recipients {
		if slices.Contains(had, to.Address) {
			continue
		}
		err := session.Rcpt(envelope(to))
		answer, ok := errors.AsType[*textproto.Error](err)
		switch {
		case err == nil:
			accepted = append(accepted, to.Address)
		case ok:
			refused.add(m.called(to), answer)
		default:
			return err
		}
	}
	if len(accepted) > 0 {
		w, err := session.Data()
		if err != nil {
			return err
		}
		if _, err := msg.WriteTo(w); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	if refused.temporary {
		m.remember(id, append(accepted, had...))
		return &refused
	}
	m.remember(id, nil)
	if len(refused.who) > 0 {
		return &refused
	}
	return nil
}

// envelope returns an address as the commands of SMTP have it.
func envelope(a *mail.Address) string { return (&mail.Address{Address: a.Address}).String() }

// have returns the recipients that have a message.
func (m *mailer) have(id string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.partly[id]
}

// remember keeps the recipients that have a message; none: nobody waits for it. After a restart
// they may get it again, with the same Message-ID.
func (m *mailer) remember(id string, have []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(have) == 0 {
		delete(m.partly, id)
		return
	}
	if len(m.partly) >= maxPartly {
		clear(m.partly)
	}
	m.partly[id] = have
}

// called returns the name of a recipient for errors, which are logged: a requester is not named.
func (m *mailer) called(to *mail.Address) string {
	if m.cfg.Requester {
		return "the requester"
	}
	return to.Address
}

// refusedError says which recipients the server has refused.
type refusedError struct {
	who       []string
	temporary bool // of at least one
}

func (e *refusedError) add(name string, answer *textproto.Error) {
	e.who = append(e.who, visible.Clip(name, maxName)+" ("+codeOf(answer)+")")
	e.temporary = e.temporary || answer.Code < 500
}

// Error names the recipients.
func (e *refusedError) Error() string { return "recipients refused: " + strings.Join(e.who, ", ") }

var enhanced = regexp.MustCompile(`^[45]\.\d{1,3}\.\d{1,3}\b`)

// codeOf returns the codes of an answer. Its text may repeat what the server got.
func codeOf(answer *textproto.Error) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", answer.Code, enhanced.FindString(answer.Msg)))
}

// failure returns an error for operators, without text of the server.
func (m *mailer) failure(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	refused, isRefused := errors.AsType[*refusedError](err)
	answer, isAnswer := errors.AsType[*textproto.Error](err)
	switch {
	case isRefused && !refused.temporary:
		err = fmt.Errorf("%w: %w", refused, notify.ErrPermanent)
	case isRefused:
		err = refused
	case isAnswer && answer.Code >= 500 && (answer.Code < 530 || answer.Code > 538): // but those of signing in can be mended
		err = fmt.Errorf("the server answered %s: %w", codeOf(answer), notify.ErrPermanent)
	case isAnswer:
		err = fmt.Errorf("the server answered %s", codeOf(answer))
	case strings.Contains(err.Error(), "not support STARTTLS"):
		err = errors.New("the server offers no STARTTLS; set smtp.tls to what it offers")
	case errors.Is(err, gomail.ErrNoSupportedAuthDiscovered), strings.Contains(err.Error(), "not support SMTP AUTH"):
		err = errors.New("the server does not offer to sign in with a password; check smtp.port and smtp.tls")
	default:
		err = cause(ctx, err)
	}
	return fmt.Errorf("mail through %q: %w", m.cfg.Host, err)
}
