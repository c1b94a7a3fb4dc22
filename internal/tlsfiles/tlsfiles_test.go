package tlsfiles_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/internal/tlsfiles"
	"a2a-server/internal/tlsfiles/tlstest"
)

// folder has the files of a server, and a clock that tests move.
type folder struct {
	cert, key, ca string
	ahead         atomic.Int64
	mu            sync.Mutex
	lines         bytes.Buffer // of the log
}

func newFolder(t *testing.T) *folder {
	dir := t.TempDir()
	return &folder{cert: filepath.Join(dir, "t.crt"), key: filepath.Join(dir, "t.key"), ca: filepath.Join(dir, "ca.pem")}
}

// Write writes what is logged.
func (f *folder) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lines.Write(p)
}

func (f *folder) logged(text string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Count(f.lines.String(), text)
}

func (f *folder) config() tlsfiles.Config {
	began := time.Now()
	return tlsfiles.Config{
		Cert: f.cert, Key: f.key, Log: zerolog.New(f),
		Now: func() time.Time { return began.Add(time.Duration(f.ahead.Load())) },
	}
}

func (f *folder) later() { f.ahead.Add(int64(time.Second)) }

func open(t *testing.T, c tlsfiles.Config) *tlsfiles.Files {
	t.Helper()
	files, err := tlsfiles.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// serve answers each request with the version of HTTP, and returns the address.
func serve(t *testing.T, files *tlsfiles.Files) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{
		TLSConfig: files.TLS(), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: log.New(io.Discard, "", 0), // it says which handshakes fail
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Proto)
		}),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.ServeTLS(l, "", "")
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-ended
	})
	return l.Addr().String()
}

// client connects with a certificate, or without one if the pair is empty.
func client(t *testing.T, roots *tlstest.CA, pair tlstest.Pair, changes ...func(*tls.Config)) *http.Client {
	t.Helper()
	c := &tls.Config{RootCAs: roots.Pool()}
	if pair.Cert != nil {
		// Whatever authorities the server asks for.
		cert := pair.TLS(t)
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
	}
	for _, change := range changes {
		change(c)
	}
	transport := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: c.NextProtos == nil}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// get returns the state of the connection of a request.
func get(t *testing.T, c *http.Client, addr string) (*tls.ConnectionState, string, error) {
	t.Helper()
	resp, err := c.Get("https://" + addr) //nolint:noctx // bounded by the client
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.TLS, string(body), err
}

func TestVersionsAndProtocols(t *testing.T) {
	t.Parallel()
	ca, f := tlstest.NewCA(t), newFolder(t)
	ca.Server(t).Write(t, f.cert, f.key)
	addr := serve(t, open(t, f.config()))
	for name, tc := range map[string]struct {
		change func(*tls.Config)
		proto  string // "": no connection
	}{
		"what clients do": {func(*tls.Config) {}, "HTTP/2.0"},
		"TLS 1.3":         {func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 }, "HTTP/2.0"},
		"TLS 1.2":         {func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, "HTTP/2.0"},
		"TLS 1.1": {func(c *tls.Config) {
			c.MinVersion, c.MaxVersion, c.NextProtos = tls.VersionTLS10, tls.VersionTLS11, []string{"http/1.1"} // HTTP/2 refuses it anyway
		}, ""},
		"HTTP/1.1": {func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }, "HTTP/1.1"},
		"an old cipher": {func(c *tls.Config) {
			c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t, ca, tlstest.Pair{}, tc.change)
			_, proto, err := get(t, c, addr)
			if (err == nil) != (tc.proto != "") || proto != tc.proto {
				t.Errorf("request: %q, %v, want %q", proto, err, tc.proto)
			}
		})
	}
}

func TestClientCertificates(t *testing.T) {
	t.Parallel()
	ca, other := tlstest.NewCA(t), tlstest.NewCA(t)
	valid := ca.Client(t)
	for name, tc := range map[string]struct {
		pair                     tlstest.Pair
		none, optional, required bool // whether there is a connection
	}{
		"none":              {none: true, optional: true},
		"valid":             {pair: valid, none: true, optional: true, required: true},
		"another authority": {pair: other.Client(t), none: true},
		"expired":           {pair: ca.Client(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), none: true},
		"not yet valid":     {pair: ca.Client(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }), none: true},
		"of a server":       {pair: ca.Server(t), none: true},
	} {
		for kind, want := range map[string]bool{"": tc.none, "optional": tc.optional, "required": tc.required} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				f := newFolder(t)
				ca.Server(t).Write(t, f.cert, f.key)
				tlstest.Write(t, f.ca, ca.PEM)
				config := f.config()
				if kind != "" {
					config.ClientCA, config.RequireClient = f.ca, kind == "required"
				}
				c := client(t, ca, tc.pair)
				if _, _, err := get(t, c, serve(t, open(t, config))); (err == nil) != want {
					t.Errorf("request: %v, want a connection: %v", err, want)
				}
			})
		}
	}
}

// A certificate that is replaced is served from the next second on; open connections stay.
func TestRotation(t *testing.T) {
	t.Parallel()
	ca, f := tlstest.NewCA(t), newFolder(t)
	first, second, third := ca.Server(t), ca.Server(t), ca.Server(t)
	first.Write(t, f.cert, f.key)
	addr := serve(t, open(t, f.config()))
	stays := client(t, ca, tlstest.Pair{})
	check := func(what string, want tlstest.Pair) {
		t.Helper()
		c := client(t, ca, tlstest.Pair{})
		defer c.CloseIdleConnections()
		for who, c := range map[string]*http.Client{"new": c, "open": stays} {
			state, _, err := get(t, c, addr)
			if err != nil {
				t.Fatalf("%s: %s connection: %v", what, who, err)
			}
			pair := want
			if who == "open" {
				pair = first
			}
			if !bytes.Equal(state.PeerCertificates[0].Raw, pair.TLS(t).Certificate[0]) {
				t.Errorf("%s: %s connection has another certificate", what, who)
			}
		}
	}
	check("at the beginning", first)
	second.Write(t, f.cert, f.key)
	check("in the same second", first)
	f.later()
	check("a second later", second)

	tlstest.Write(t, f.cert, third.Cert)
	for range 3 {
		f.later()
		check("half replaced", second)
	}
	if n := f.logged("do not fit together"); n != 1 {
		t.Errorf("the pair that does not fit was logged %d times, want once", n)
	}
	tlstest.Write(t, f.key, third.Key)
	f.later()
	check("replaced", third)

	for what, content := range map[string]string{"empty": "", "text": "secret", "half": string(first.Cert[:len(first.Cert)/2])} {
		tlstest.Write(t, f.cert, []byte(content))
		f.later()
		check(what, third)
	}
	if err := os.Remove(f.cert); err != nil {
		t.Fatal(err)
	}
	f.later()
	check("removed", third)
	first.Write(t, f.cert, f.key)
	f.later()
	check("the first one again", first)
	if err := os.Chmod(f.key, 0o644); err != nil {
		t.Fatal(err)
	}
	f.later()
	check("for everybody to read", first)
	if f.logged("chmod") != 1 || f.logged("secret") != 0 {
		t.Errorf("log:\n%s", f.lines.String())
	}
}

// A certificate that nobody accepts any more is no secret to the operator.
func TestExpiredIsLogged(t *testing.T) {
	t.Parallel()
	ca, f := tlstest.NewCA(t), newFolder(t)
	ca.Server(t).Write(t, f.cert, f.key)
	open(t, f.config())
	if n := f.logged("has expired"); n != 0 {
		t.Errorf("a valid certificate was logged %d times", n)
	}
	ca.Server(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }).Write(t, f.cert, f.key)
	open(t, f.config())
	if n := f.logged("has expired"); n != 1 {
		t.Errorf("an expired certificate was logged %d times, want once", n)
	}
}

// Certificates that Kubernetes replaces are behind a link that it changes at once.
func TestRotationByLink(t *testing.T) {
	t.Parallel()
	ca, f := tlstest.NewCA(t), newFolder(t)
	first, second := ca.Server(t), ca.Server(t)
	dir := filepath.Dir(f.cert)
	for name, pair := range map[string]tlstest.Pair{"1": first, "2": second} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		pair.Write(t, filepath.Join(dir, name, "t.crt"), filepath.Join(dir, name, "t.key"))
	}
	link := func(to string) {
		t.Helper()
		err := os.Symlink(to, filepath.Join(dir, "new"))
		if err == nil {
			err = os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "data"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	link("1")
	f.cert, f.key = filepath.Join(dir, "data", "t.crt"), filepath.Join(dir, "data", "t.key")
	addr := serve(t, open(t, f.config()))
	for name, want := range map[string]tlstest.Pair{"2": second, "1": first} {
		link(name)
		f.later()
		c := client(t, ca, tlstest.Pair{})
		state, _, err := get(t, c, addr)
		if err != nil || !bytes.Equal(state.PeerCertificates[0].Raw, want.TLS(t).Certificate[0]) {
			t.Errorf("after a link to %s: another certificate (%v)", name, err)
		}
	}
}

// An authority that is withdrawn lets nobody in: neither new connections, nor sessions that
// it has let in before; and those that are open are no longer trusted.
func TestAuthorityIsWithdrawn(t *testing.T) {
	t.Parallel()
	ca, old, fresh := tlstest.NewCA(t), tlstest.NewCA(t), tlstest.NewCA(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		f := newFolder(t)
		ca.Server(t).Write(t, f.cert, f.key)
		tlstest.Write(t, f.ca, old.PEM)
		config := f.config()
		config.ClientCA, config.RequireClient = f.ca, true
		files := open(t, config)
		addr := serve(t, files)
		pair, sessions := old.Client(t), tls.NewLRUClientSessionCache(8)
		connect := func() *http.Client { // with a connection of its own, that may resume
			return client(t, ca, pair, func(c *tls.Config) { c.ClientSessionCache, c.MaxVersion = sessions, version })
		}
		for n := range 2 {
			state, _, err := get(t, connect(), addr)
			if err != nil || state.DidResume != (n == 1) {
				t.Fatalf("connection %d: %+v, %v", n+1, state, err)
			}
		}
		if !files.Trusts(old.Cert) || files.Trusts(fresh.Cert) {
			t.Error("the old authority is not trusted, or the new one is")
		}
		tlstest.Write(t, f.ca, append(append([]byte{}, fresh.PEM...), ca.PEM...))
		f.later()
		if files.Trusts(old.Cert) || !files.Trusts(fresh.Cert) || !files.Trusts(ca.Cert) {
			t.Error("the old authority is trusted, or a new one is not")
		}
		if _, _, err := get(t, connect(), addr); err == nil {
			t.Errorf("version %x: a client of the old authority is connected", version)
		}
		c := client(t, ca, fresh.Client(t))
		if _, _, err := get(t, c, addr); err != nil {
			t.Errorf("a client of the new authority: %v", err)
		}
		tlstest.Write(t, f.ca, nil)
		f.later()
		if !files.Trusts(fresh.Cert) || f.logged("client_ca") != 1 {
			t.Error("a file without authorities was used, or not logged")
		}
	}
}

// Who waits for other authorities learns of them at once from a reload, and soon although
// nobody connects or reloads; a new certificate of the server changes nothing for clients.
func TestChangedAuthorities(t *testing.T) {
	t.Parallel()
	ca, f := tlstest.NewCA(t), newFolder(t)
	ca.Server(t).Write(t, f.cert, f.key)
	tlstest.Write(t, f.ca, ca.PEM)
	synctest.Test(t, func(t *testing.T) {
		files := open(t, tlsfiles.Config{Cert: f.cert, Key: f.key, ClientCA: f.ca})
		first := files.Changed()
		ca.Server(t).Write(t, f.cert, f.key)
		tlstest.Write(t, f.ca, append(append([]byte{}, ca.PEM...), ca.PEM...))
		if err := files.Reload(); err != nil || files.Changed() != first {
			t.Errorf("Reload() of the same authorities = %v, and it says that they have changed: %v", err, files.Changed() != first)
		}
		tlstest.Write(t, f.ca, tlstest.NewCA(t).PEM)
		if err := files.Reload(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-first:
		default:
			t.Fatal("a reload does not say that the authorities have changed")
		}
		second := files.Changed()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			files.Run(ctx)
		}()
		began := time.Now()
		tlstest.Write(t, f.ca, ca.PEM)
		<-second
		if after := time.Since(began); after > 2*time.Second || !files.Trusts(ca.Cert) {
			t.Errorf("after %v it says that the authorities have changed; the new one counts: %v", after, files.Trusts(ca.Cert))
		}
		cancel()
		<-ended
	})
}

// Clients connect all the time, also while files are replaced.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	ca, f := tlstest.NewCA(t), newFolder(t)
	pairs := []tlstest.Pair{ca.Server(t), ca.Server(t)}
	pairs[0].Write(t, f.cert, f.key)
	addr := serve(t, open(t, f.config()))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 15 {
				c := client(t, ca, tlstest.Pair{})
				if _, _, err := get(t, c, addr); err != nil {
					t.Error(err)
				}
				c.CloseIdleConnections()
			}
		})
	}
	for n := range 100 {
		pairs[n%2].Write(t, f.cert, f.key)
		f.later()
	}
	all.Wait()
}

func TestNew(t *testing.T) {
	t.Parallel()
	ca := tlstest.NewCA(t)
	pair := ca.Server(t)
	for name, tc := range map[string]struct {
		change func(*testing.T, *folder, *tlsfiles.Config)
		says   string
	}{
		"as it should be": {func(*testing.T, *folder, *tlsfiles.Config) {}, ""},
		"no file":         {func(_ *testing.T, f *folder, c *tlsfiles.Config) { c.Cert = f.cert + "x" }, "tls: cert: stat"},
		"a folder":        {func(_ *testing.T, f *folder, c *tlsfiles.Config) { c.Cert = filepath.Dir(f.cert) }, "is not a regular file"},
		"a pipe": {func(t *testing.T, f *folder, c *tlsfiles.Config) {
			c.ClientCA = f.ca
			if err := syscall.Mkfifo(f.ca, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "is not a regular file"},
		"a large file": {func(t *testing.T, f *folder, c *tlsfiles.Config) {
			c.ClientCA = f.ca
			tlstest.Write(t, f.ca, make([]byte, 5<<20))
		}, "larger than 4096 KiB"},
		"key for everybody": {func(t *testing.T, f *folder, _ *tlsfiles.Config) {
			if err := os.Chmod(f.key, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "chmod 600"},
		"another key": {func(t *testing.T, f *folder, _ *tlsfiles.Config) { tlstest.Write(t, f.key, ca.Server(t).Key) }, "do not fit together"},
		"no authorities": {func(t *testing.T, f *folder, c *tlsfiles.Config) {
			c.ClientCA = f.ca
			tlstest.Write(t, f.ca, []byte("none"))
		}, "client_ca: "},
		"a key as authority": {func(t *testing.T, f *folder, c *tlsfiles.Config) {
			c.ClientCA = f.ca
			tlstest.Write(t, f.ca, append(append([]byte{}, ca.PEM...), pair.Key...))
		}, `unexpected PEM block "PRIVATE KEY"`},
		"a broken authority": {func(t *testing.T, f *folder, c *tlsfiles.Config) {
			c.ClientCA = f.ca
			tlstest.Write(t, f.ca, []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
		}, "certificate 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			pair.Write(t, f.cert, f.key)
			c := f.config()
			tc.change(t, f, &c)
			_, err := tlsfiles.New(c)
			if (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("New() = %v, want %q", err, tc.says)
			}
		})
	}
}
