package deploy

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// site is the name that the configurations have, and public its URL.
const (
	site   = "agent.example.com"
	public = "https://" + site
)

// noAuth is for tests of what is in front of a server, to which it makes no difference.
const noAuth = "A2A_SERVER_INSECURE_NO_AUTH=true"

// proxy is what stands in front of a server, with its configuration of this folder, but
// for what a test cannot have: the address that it listens on, its certificate, and the
// address of the server.
type proxy func(t *testing.T, dir, listen, server string) *process

func proxies() map[string]proxy { return map[string]proxy{"nginx": nginx, "caddy": caddy} }

func nginx(t *testing.T, dir, listen, server string) *process {
	t.Helper()
	own := replace(t, read(t, "nginx.conf"),
		"listen 443 ssl", "listen "+listen+" ssl",
		"/etc/ssl/certs/agent.example.com.pem", filepath.Join(dir, "cert.pem"),
		"/etc/ssl/private/agent.example.com.key", filepath.Join(dir, "key.pem"),
		"http://127.0.0.1:8080", server)
	var temp strings.Builder
	for _, what := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp.WriteString(what + "_temp_path " + filepath.Join(dir, what) + ";\n")
	}
	path := write(t, dir, "nginx.conf", "daemon off; master_process off; pid "+filepath.Join(dir, "pid")+";\n"+
		"events {}\nhttp {\naccess_log off;\n"+temp.String()+own+"}\n")
	return start(t, exec.Command(find(t, "nginx", "nginx-light"), "-p", dir, "-c", path, "-e", "stderr", "-g", "error_log stderr notice;"), "getrlimit")
}

func caddy(t *testing.T, dir, listen, server string) *process {
	t.Helper()
	host, port, _ := net.SplitHostPort(listen)
	own := replace(t, read(t, "Caddyfile"),
		"127.0.0.1:8080", strings.TrimPrefix(server, "http://"),
		site+" {\n", site+" {\n\tbind "+host+"\n\ttls "+filepath.Join(dir, "cert.pem")+" "+filepath.Join(dir, "key.pem")+"\n")
	path := write(t, dir, "Caddyfile", "{\n\tadmin off\n\thttps_port "+port+"\n\tauto_https disable_redirects\n}\n"+own)
	cmd := exec.Command(find(t, "caddy", "caddy"), "run", "--config", path, "--adapter", "caddyfile")
	cmd.Env = []string{"HOME=" + dir}
	return start(t, cmd, "serving initial configuration")
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// free returns an address that nobody listens on: the port is free on one of the many
// addresses of this machine, where nobody else looks for one.
func free(t *testing.T) string {
	t.Helper()
	some := make([]byte, 3)
	_, _ = rand.Read(some) // it does not fail
	l, err := net.Listen("tcp", net.JoinHostPort(net.IPv4(127, some[0]|1, some[1], some[2]|1).String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// certify writes a certificate of the site and returns a client that trusts it, and knows
// that the site is at this address.
func certify(t *testing.T, dir, address string) *http.Client {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{site}, NotAfter: time.Now().Add(24 * time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	trusted := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	write(t, dir, "cert.pem", trusted)
	write(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(trusted))
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Behind a proxy that does TLS, the card has the URL of the site, and an event reaches its
// reader when it happens, not when the stream ends.
func TestProxies(t *testing.T) {
	t.Parallel()
	for name, behind := range proxies() {
		for settings, env := range map[string][]string{
			"public_url":      {"A2A_SERVER_PUBLIC_URL=" + public, noAuth},
			"trusted_proxies": {"A2A_SERVER_ALLOWED_HOSTS=" + site, "A2A_SERVER_TRUSTED_PROXIES=127.0.0.1", noAuth},
		} {
			t.Run(name+" with "+settings, func(t *testing.T) {
				t.Parallel()
				client := inFront(t, behind, env...)
				checkCard(t, client)
				checkStream(t, client)
				// More than a proxy takes of itself, and less than limits.body: the server answers.
				status, answer := call(t, client, http.MethodPost, public+"/message:send", message("large", "/echo text="+strings.Repeat("x", 3<<20), nil))
				if status == http.StatusRequestEntityTooLarge || !json.Valid([]byte(answer)) {
					t.Errorf("3 MiB = %d %.200s, want an answer of the server", status, answer)
				}
			})
		}
	}
}

// A client of a proxy is counted by its own address, whatever it writes into the header in
// which the proxy names it.
func TestProxiesNameTheirClients(t *testing.T) {
	t.Parallel()
	for name, behind := range proxies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, listen := chroot(t), free(t)
			transport, ok := certify(t, dir, listen).Transport.(*http.Transport)
			if !ok {
				t.Fatal("the client has another transport")
			}
			behind(t, dir, listen, serve(t, noAuth, "A2A_SERVER_PUBLIC_URL="+public, "A2A_SERVER_TRUSTED_PROXIES=127.0.0.1", "A2A_SERVER_LIMITS_RATE=20").url)
			ask := func(from string, times int) (refused int) {
				own := transport.Clone()
				defer own.CloseIdleConnections()
				own.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
					return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(ctx, "tcp", listen)
				}
				for i := range times {
					r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, public+"/tasks", http.NoBody)
					if err != nil {
						t.Fatal(err)
					}
					r.Header.Set("X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i))
					resp, err := own.RoundTrip(r)
					if err != nil {
						t.Fatal(err)
					}
					_ = resp.Body.Close()
					if resp.StatusCode == http.StatusTooManyRequests {
						refused++
					}
				}
				return refused
			}
			if refused := ask("127.0.0.2", 100); refused < 10 {
				t.Errorf("of 100 requests of one client %d were refused", refused)
			}
			if refused := ask("127.0.0.3", 40); refused != 0 {
				t.Errorf("of 40 requests of another client %d were refused", refused)
			}
		})
	}
}

// A request with two lengths never reaches the server with both, so that proxy and server agree on
// its end: nginx refuses it, and Caddy passes on the chunks alone.
func TestProxiesPassOnNoSecondLength(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		status int
		passed []string // lengths
	}{
		"nginx": {http.StatusBadRequest, nil},
		"caddy": {http.StatusNoContent, []string{"Transfer-Encoding: chunked"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, listen := chroot(t), free(t)
			transport, ok := certify(t, dir, listen).Transport.(*http.Transport)
			if !ok {
				t.Fatal("the client has another transport")
			}
			server, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			passed := make(chan []string, 1)
			go lengths(server, passed)
			proxies()[name](t, dir, listen, "http://"+server.Addr().String())
			conn, err := (&tls.Dialer{Config: &tls.Config{RootCAs: transport.TLSClientConfig.RootCAs, ServerName: site}}).DialContext(t.Context(), "tcp", listen)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(patience))
			if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: "+site+"\r\nContent-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			_ = server.Close()
			if got := <-passed; resp.StatusCode != want.status || !slices.Equal(got, want.passed) {
				t.Errorf("the answer is %s, and the server gets %q, want %d and %q", resp.Status, got, want.status, want.passed)
			}
		})
	}
}

// lengths answers the first request, and gives the lines of its header that say how long it is; nil
// when the listener is closed before there is one.
func lengths(server net.Listener, passed chan<- []string) {
	var found []string
	defer func() { passed <- found }()
	conn, err := server.Accept()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	for lines := bufio.NewScanner(conn); lines.Scan() && lines.Text() != ""; {
		if name, _, _ := strings.Cut(strings.ToLower(lines.Text()), ":"); name == "content-length" || name == "transfer-encoding" {
			found = append(found, lines.Text())
		}
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n") // the proxy may be gone
	if tcp, is := conn.(*net.TCPConn); is {
		_ = tcp.CloseWrite()
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	_, _ = io.Copy(io.Discard, conn) // a close before the body is read would reset the connection, and lose the answer
}

// inFront runs a server with a proxy in front and returns a client of the proxy.
func inFront(t *testing.T, behind proxy, env ...string) *http.Client {
	t.Helper()
	dir, listen := chroot(t), free(t)
	client := certify(t, dir, listen)
	behind(t, dir, listen, serve(t, env...).url)
	return client
}

func checkCard(t *testing.T, client *http.Client) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, public+"/.well-known/agent-card.json", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Forwarded-Host", "attacker.example")
	r.Header.Set("X-Forwarded-Proto", "http")
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var card struct {
		SupportedInterfaces []struct {
			URL string `json:"url"`
		} `json:"supportedInterfaces"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&card); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the card: %s, %v", resp.Status, err)
	}
	if len(card.SupportedInterfaces) == 0 {
		t.Error("the card has no interface")
	}
	for _, i := range card.SupportedInterfaces {
		if strings.TrimSuffix(i.URL, "/") != public {
			t.Errorf("the card has the URL %s, want %s", i.URL, public)
		}
	}
	if resp.ProtoMajor != 2 {
		t.Errorf("the proxy speaks %s, want HTTP/2, in which streams share a connection", resp.Proto)
	}
}

// checkStream reads the first event of a stream before the next one can happen.
func checkStream(t *testing.T, client *http.Client) {
	t.Helper()
	asked := send(t, client, public, message("m1", "/transfer_money amount=5 to=bob", nil))
	stream := open(t, client, http.MethodPost, public+"/tasks/"+asked.ID+":subscribe", nil)
	defer func() { _ = stream.Body.Close() }()
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, 1<<20)
	next := func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		t.Fatalf("the stream has ended: %v", lines.Err())
		return ""
	}
	if first := next(); !strings.Contains(first, "INPUT_REQUIRED") {
		t.Errorf("the stream begins with %s", first)
	}
	if done := send(t, client, public, approval("m2", asked, ".a1")); done.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("the task is %s, want completed", done.Status.State)
	}
	for !strings.Contains(next(), "TASK_STATE_COMPLETED") {
	}
}

// Behind a proxy that passes the Host of its clients on, and without a setting that names
// it, every request is refused: the answer says what to set.
func TestProxyThatNobodyNamed(t *testing.T) {
	t.Parallel()
	for name, behind := range proxies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := inFront(t, behind)
			if status, answer := call(t, client, http.MethodGet, public+"/tasks", nil); status != http.StatusForbidden || !strings.Contains(answer, "behind a proxy, set public_url") {
				t.Errorf("GET /tasks = %d %s, want 403 that says what to set", status, answer)
			}
		})
	}
}
