package egress

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	own := Config{AllowLoopback: true, Own: func() []netip.AddrPort { return []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8080")} }}
	ports := Config{Ports: []uint16{443}}
	for _, tc := range []struct {
		config     Config
		host, port string
		refused    bool
	}{
		{Config{}, "8.8.8.8", "443", false},
		{Config{}, "example.com", "443", false},
		{Config{}, "10.0.0.1", "443", true},
		{Config{}, "127.0.0.1", "443", true},
		{Config{}, "::1", "443", true},
		{Config{}, "::ffff:10.0.0.1", "443", true},
		{Config{}, "fe80::1%eth0", "443", true},
		{Config{}, "169.254.169.254", "80", true},
		{Config{}, "localhost", "443", true},
		{Config{}, "LocalHost.", "443", true},
		{Config{}, "a.localhost", "443", true},
		{Config{}, "localhost.example.com", "443", false},
		{Config{}, "8.8.8.8", "0", true},
		{Config{}, "8.8.8.8", "65536", true},
		{Config{}, "8.8.8.8", "", true},
		{ports, "example.com", "443", false},
		{ports, "example.com", "80", true},
		{Config{AllowLoopback: true}, "localhost", "8080", false},
		{own, "127.0.0.1", "8081", false},
		{own, "127.0.0.1", "8080", true},
		{own, "localhost", "8080", true},
		{own, "::ffff:127.0.0.1", "8080", true},
	} {
		err := dialer(t, tc.config).Check(tc.host, tc.port)
		if isRefused(err) != tc.refused || !tc.refused && err != nil {
			t.Errorf("Check(%q, %q) = %v, want refused: %v", tc.host, tc.port, err, tc.refused)
		}
	}
}

// What a name means is asked once for each connection, and what was checked is what is dialed.
func TestNameThatChanges(t *testing.T) {
	t.Parallel()
	forbidden := listen(t) // on 127.0.0.1
	_, port, err := net.SplitHostPort(forbidden)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	d := dialer(t, Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}})
	d.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		if asked.Add(1) == 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.2")}, nil // allowed, and nobody listens
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	dial := func() error {
		conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort("changes.test", port))
		if conn != nil {
			_ = conn.Close()
		}
		return err
	}
	if err := d.Check("changes.test", port); err != nil || asked.Load() != 0 {
		t.Fatalf("Check() = %v, and has asked %d times", err, asked.Load())
	}
	err = dial()
	if err == nil || isRefused(err) || asked.Load() != 1 {
		t.Fatalf("the first dial = %v after %d questions, want a connection that the address refuses", err, asked.Load())
	}
	err = dial()
	if !isRefused(err) || asked.Load() != 2 {
		t.Errorf("the second dial = %v after %d questions, want a refusal", err, asked.Load())
	}
}

// A connection that is kept open is used again only for the host that it was checked for, and
// each new one is checked.
func TestNameThatChangesBetweenRequests(t *testing.T) {
	t.Parallel()
	s := server(t)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := listed()
	c.NoReuse = true
	client := newClient(t, c)
	var private atomic.Bool
	d := newDialer(&c)
	d.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		if private.Load() {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("169.254.169.254")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	transport, _ := client.Transport.(*bounded)
	transport.next.DialContext = d.DialContext
	post := func() (int, error) {
		status, _, err := fetch(t, client, http.MethodPost, "http://hook.test:"+port+"/announced")
		return status, err
	}
	if status, err := post(); status != http.StatusOK || err != nil {
		t.Fatalf("Do() = %d, %v", status, err)
	}
	private.Store(true)
	_, err = post()
	if !isRefused(err) {
		t.Errorf("with one forbidden address among others: Do() = %v, want a refusal", err)
	}
}

// A redirect is an answer: nothing is sent to where it leads, with any method and status.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/target", func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		mux.HandleFunc("/"+strconv.Itoa(status), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/target")
			w.WriteHeader(status)
		})
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	client := newClient(t, listed())
	for _, status := range []int{301, 302, 303, 307, 308} {
		if got, _, err := fetch(t, client, http.MethodPost, s.URL+"/"+strconv.Itoa(status)); got != status || err != nil {
			t.Errorf("Do() = %d, %v, want %d", got, err, status)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d requests have followed a redirect", n)
	}
}

// A server that hangs at any point is left when the time is up.
func TestHangs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	mux := http.NewServeMux()
	hold := func(r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	mux.HandleFunc("/header", func(_ http.ResponseWriter, r *http.Request) { hold(r) })
	mux.HandleFunc("/body", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "x")
		_ = http.NewResponseController(w).Flush()
		hold(r)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(release) })
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts in the kernel, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	c := listed()
	c.Timeout = 100 * time.Millisecond
	client := newClient(t, c)
	for name, url := range map[string]string{
		"before the header": s.URL + "/header",
		"in the body":       s.URL + "/body",
		"before anything":   "http://" + silent.Addr().String(),
		"in the handshake":  "https://" + silent.Addr().String(),
	} {
		_, _, err := fetch(t, client, http.MethodPost, url)
		var timeout interface{ Timeout() bool }
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("a server that hangs %s: %v, want a timeout", name, err)
		}
	}
}

// Of an answer without an end no more is read than the limit, as it is or compressed.
func TestEndless(t *testing.T) {
	t.Parallel()
	const limit = 64 << 10
	var sent atomic.Int64
	piece := []byte(strings.Repeat("x", 64<<10))
	fill := func(w io.Writer) {
		for range 100 << 20 / len(piece) {
			n, err := w.Write(piece)
			if err != nil {
				return
			}
			sent.Add(int64(n))
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/plain", func(w http.ResponseWriter, _ *http.Request) { fill(w) })
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		fill(gzip.NewWriter(w))
	})
	mux.HandleFunc("/header", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Large", strings.Repeat("x", 1<<20))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c := listed()
	c.MaxBytes, c.Timeout = limit, -1
	client := newClient(t, c)
	for _, path := range []string{"/plain", "/gzip"} {
		sent.Store(0)
		if _, data, err := fetch(t, client, http.MethodPost, s.URL+path); !isTooLarge(err) || len(data) > limit {
			t.Errorf("%s: %d bytes are read, then %v", path, len(data), err)
		}
		if all := sent.Load(); path == "/plain" && all > 50<<20 {
			t.Errorf("%s: the server has sent %d bytes", path, all)
		}
	}
	if _, _, err := fetch(t, client, http.MethodPost, s.URL+"/header"); err == nil {
		t.Error("a header of 1 MiB is read")
	}
}
