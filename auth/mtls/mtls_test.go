package mtls_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/auth"
	"a2a-server/auth/mtls"
	"a2a-server/internal/tlsfiles"
	"a2a-server/internal/tlsfiles/tlstest"
)

// listener is the TLS of a server that lets clients in with a certificate and without.
type listener struct {
	*tlsfiles.Files

	servers, clients *tlstest.CA
	path             string // of the authorities of clients
	ahead            atomic.Int64
}

func newListener(t *testing.T) *listener {
	t.Helper()
	dir := t.TempDir()
	l := &listener{servers: tlstest.NewCA(t), clients: tlstest.NewCA(t), path: filepath.Join(dir, "ca.pem")}
	l.servers.Server(t).Write(t, filepath.Join(dir, "t.crt"), filepath.Join(dir, "t.key"))
	tlstest.Write(t, l.path, l.clients.PEM)
	files, err := tlsfiles.New(tlsfiles.Config{Cert: filepath.Join(dir, "t.crt"), Key: filepath.Join(dir, "t.key"), ClientCA: l.path, Now: l.now})
	if err != nil {
		t.Fatal(err)
	}
	l.Files = files
	return l
}

func (l *listener) now() time.Time { return time.Now().Add(time.Duration(l.ahead.Load())) }

// connect returns what the listener knows of a client after a handshake.
func (l *listener) connect(t *testing.T, server *tls.Config, certs ...tls.Certificate) *auth.Credentials {
	t.Helper()
	there, here := net.Pipe()
	defer there.Close()
	defer here.Close()
	ended := make(chan error)
	go func() {
		client := tls.Client(there, &tls.Config{RootCAs: l.servers.Pool(), ServerName: "127.0.0.1", Certificates: certs})
		err := client.Handshake()
		if err == nil {
			_, err = client.Read(make([]byte, 1)) // the last message of a handshake of TLS 1.3 is for this
		}
		ended <- err
	}()
	conn := tls.Server(here, server)
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	state := conn.ConnectionState()
	return &auth.Credentials{TLS: &state}
}

func (l *listener) authenticator(t *testing.T, c mtls.Config) *mtls.Authenticator {
	t.Helper()
	c.Trusted, c.Now = l.Trusts, l.now
	a, err := mtls.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

type change = func(*x509.Certificate)

func uris(texts ...string) change {
	return func(c *x509.Certificate) {
		for _, text := range texts {
			u, err := url.Parse(text)
			if err != nil {
				panic(err) // those of tests are URIs
			}
			c.URIs = append(c.URIs, u)
		}
	}
}

func dns(names ...string) change { return func(c *x509.Certificate) { c.DNSNames = names } }

// names sets common names.
func names(all ...any) change {
	return func(c *x509.Certificate) {
		for _, name := range all {
			c.Subject.ExtraNames = append(c.Subject.ExtraNames, pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: name})
		}
	}
}

// Who the holder of a certificate is.
func TestCaller(t *testing.T) {
	t.Parallel()
	l := newListener(t)
	for name, tc := range map[string]struct {
		kind string
		cert change
		want string // the subject; empty: refused
	}{
		"URI":             {"uri_san", uris("spiffe://acme/agent"), "mtls:spiffe://acme/agent"},
		"no URI":          {"uri_san", func(c *x509.Certificate) { dns("agent.acme")(c); names("agent")(c) }, ""},
		"two URIs":        {"uri_san", uris("spiffe://acme/agent", "spiffe://acme/root"), ""},
		"URI with others": {"uri_san", func(c *x509.Certificate) { uris("spiffe://acme/agent")(c); dns("a", "b")(c) }, "mtls:spiffe://acme/agent"},
		"DNS name":        {"dns_san", dns("Agent.acme"), "mtls:agent.acme"},
		"two DNS names":   {"dns_san", dns("agent.acme", "root.acme"), ""},
		"no DNS name":     {"dns_san", names("agent.acme"), ""},
		"mail":            {"email_san", func(c *x509.Certificate) { c.EmailAddresses = []string{"agent@acme.example"} }, "mtls:agent@acme.example"},
		"no mail":         {"email_san", uris("mailto:agent@acme.example"), ""},
		"name":            {"common_name", names("agent"), "mtls:agent"},
		"two names":       {"common_name", names("root", "agent"), ""},
		"no name":         {"common_name", dns("agent"), ""},
		"empty name":      {"common_name", names(" "), ""},
		"long name":       {"common_name", names(strings.Repeat("a", 1100)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := l.authenticator(t, mtls.Config{Subject: tc.kind, Tenant: "acme", Roles: []string{"requester"}})
			cert := l.clients.Client(t, tc.cert).TLS(t)
			got, err := a.Authenticate(t.Context(), l.connect(t, l.TLS(), cert))
			if tc.want == "" {
				refused(t, got, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := auth.Principal{Tenant: "acme", Subject: tc.want, Kind: auth.KindService, Roles: []string{"requester"}, Method: "mtls", Expires: cert.Leaf.NotAfter}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("principal (-want +got):\n%s", diff)
			}
		})
	}
}

func refused(t *testing.T, who auth.Principal, err error) {
	t.Helper()
	var invalid *auth.Error
	if !errors.As(err, &invalid) || !who.IsZero() || !strings.HasPrefix(invalid.Challenge(), `TLS-Client-Certificate error_description="`) {
		t.Errorf("Authenticate() = %v, %v, want a refusal", who, err)
	}
}

// Only what the listener has verified counts, and only as long as that is so.
func TestVerified(t *testing.T) {
	t.Parallel()
	l := newListener(t)
	a := l.authenticator(t, mtls.Config{Subject: "common_name"})
	agent := l.clients.Client(t, names("agent"), func(c *x509.Certificate) { c.NotAfter = time.Now().Add(2 * time.Hour) }).TLS(t)
	check := func(c *auth.Credentials, want string) {
		t.Helper()
		who, err := a.Authenticate(t.Context(), c)
		switch {
		case want == "refused":
			refused(t, who, err)
		case want == "none" && !errors.Is(err, auth.ErrNone), want != "none" && (err != nil || who.Subject != want):
			t.Errorf("Authenticate() = %v, %v, want %s", who, err, want)
		}
	}
	check(&auth.Credentials{}, "none")
	check(l.connect(t, l.TLS()), "none")
	connected := l.connect(t, l.TLS(), agent)
	check(connected, "mtls:agent")

	// A listener of somebody else that asks for certificates, and does not verify them.
	lax := l.TLS()
	lax.GetConfigForClient = nil
	lax.ClientAuth, lax.Certificates = tls.RequireAnyClientCert, []tls.Certificate{l.servers.Server(t).TLS(t)}
	check(l.connect(t, lax, agent), "refused")
	check(l.connect(t, lax, tlstest.NewCA(t).Client(t, names("agent")).TLS(t)), "refused")

	l.ahead.Store(int64(2*time.Hour - time.Minute))
	check(connected, "mtls:agent")
	l.ahead.Store(int64(2*time.Hour + time.Second))
	check(connected, "refused")
	l.ahead.Store(0)
	check(connected, "mtls:agent")

	fresh := tlstest.NewCA(t)
	tlstest.Write(t, l.path, fresh.PEM)
	l.ahead.Store(int64(time.Minute))
	check(connected, "refused")
	check(l.connect(t, l.TLS(), fresh.Client(t, names("agent")).TLS(t)), "mtls:agent")
}

// A certificate that every connection needs is looked at as one that names its caller, but
// needs no name.
func TestRequire(t *testing.T) {
	t.Parallel()
	l := newListener(t)
	require := mtls.Require(mtls.Config{Trusted: l.Trusts, Now: l.now})
	nameless := l.connect(t, l.TLS(), l.clients.Client(t, func(c *x509.Certificate) { c.Subject, c.NotAfter = pkix.Name{}, time.Now().Add(2*time.Hour) }).TLS(t))
	check := func(what string, c *auth.Credentials, passes bool) {
		t.Helper()
		err := require(c)
		if _, is := errors.AsType[*auth.Error](err); (err == nil) != passes || err != nil && !is {
			t.Errorf("%s: %v, want it to pass: %v", what, err, passes)
		}
	}
	check("no TLS", &auth.Credentials{}, false)
	check("no certificate", l.connect(t, l.TLS()), false)
	check("a certificate without a name", nameless, true)
	l.ahead.Store(int64(2*time.Hour + time.Second))
	check("an expired one", nameless, false)
	l.ahead.Store(0)
	check("when the clock was put right", nameless, true)
	tlstest.Write(t, l.path, tlstest.NewCA(t).PEM)
	l.ahead.Store(int64(time.Minute))
	check("one of a withdrawn authority", nameless, false)
}

// A certificate ends with its authority, unless another one vouches for it.
func TestAuthorityEnds(t *testing.T) {
	t.Parallel()
	cert := func(hours int) *x509.Certificate {
		return &x509.Certificate{
			NotAfter: time.Now().Add(time.Duration(hours) * time.Hour), Raw: []byte{byte(hours)},
			Subject: pkix.Name{Names: []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "agent"}}},
		}
	}
	leaf, soon, later, never := cert(10), cert(1), cert(5), cert(9)
	a, err := mtls.New(mtls.Config{Subject: "common_name", Trusted: func(c *x509.Certificate) bool { return c != never }})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		chains [][]*x509.Certificate
		want   *x509.Certificate
	}{
		{[][]*x509.Certificate{{leaf, soon}}, soon},
		{[][]*x509.Certificate{{leaf, soon}, {leaf, later}}, later},
		{[][]*x509.Certificate{{leaf, later}, {leaf, soon}}, later},
		{[][]*x509.Certificate{{leaf, never}, {leaf, soon, later}}, soon},
		{[][]*x509.Certificate{{leaf}}, leaf},
		{[][]*x509.Certificate{{}, {leaf}}, leaf},
		{[][]*x509.Certificate{{leaf, never}}, nil},
		{[][]*x509.Certificate{{}}, nil},
		{nil, nil},
	} {
		who, err := a.Authenticate(t.Context(), &auth.Credentials{TLS: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}, VerifiedChains: tc.chains}})
		if tc.want == nil {
			refused(t, who, err)
		} else if err != nil || !who.Expires.Equal(tc.want.NotAfter) {
			t.Errorf("Authenticate() = %v, %v, want an end at %s", who.Expires, err, tc.want.NotAfter)
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		config mtls.Config
		says   string
	}{
		"as it should be": {mtls.Config{Subject: "uri_san"}, ""},
		"no subject":      {mtls.Config{}, "mtls: subject:"},
		"another subject": {mtls.Config{Subject: "serial"}, "mtls: subject:"},
		"an empty role":   {mtls.Config{Subject: "uri_san", Roles: []string{""}}, "mtls: roles:"},
	} {
		a, err := mtls.New(tc.config)
		if (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: New() = %v, want %q", name, err, tc.says)
		}
		if err == nil && !slices.Equal(auth.ChallengesOf(a), []string{"TLS-Client-Certificate"}) {
			t.Errorf("%s: challenges = %q", name, auth.ChallengesOf(a))
		}
	}
}
