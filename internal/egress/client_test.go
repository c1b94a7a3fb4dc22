package egress

import (
	"compress/gzip"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// server answers as the tests want it.
func server(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/announced", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 100))
	})
	mux.HandleFunc("/chunked", func(w http.ResponseWriter, _ *http.Request) {
		for range 10 {
			_, _ = io.WriteString(w, strings.Repeat("x", 10))
			if err := http.NewResponseController(w).Flush(); err != nil {
				return
			}
		}
	})
	events := func(kind string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			for range 10 {
				_, _ = io.WriteString(w, "data: "+strings.Repeat("x", 92)+"\n\n")
				if err := http.NewResponseController(w).Flush(); err != nil {
					return
				}
			}
		}
	}
	mux.HandleFunc("/events", events("Text/Event-Stream; charset=utf-8"))
	mux.HandleFunc("/like-events", events("text/event-stream2"))
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, strings.Repeat("x", 1<<20))
		_ = z.Close()
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/announced", http.StatusFound)
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func newClient(t *testing.T, c Config) *http.Client {
	t.Helper()
	client, err := NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func TestClient(t *testing.T) {
	t.Parallel()
	limited := func(n int64) Config {
		c := listed()
		c.MaxBytes = n
		return c
	}
	streams := func(n int64) Config {
		c := limited(n)
		c.Streams = true
		return c
	}
	announced := func(n int64) Config {
		c := limited(n)
		c.Announced = true
		return c
	}
	tests := []struct {
		name   string
		config Config
		method string
		path   string
		status int
		length int
		large  bool
	}{
		{"whole", listed(), http.MethodGet, "/announced", http.StatusOK, 100, false},
		{"just fits", limited(100), http.MethodGet, "/announced", http.StatusOK, 100, false},
		{"announced and too large", limited(99), http.MethodGet, "/announced", 0, 0, true},
		{"announced, too large, and an answer", announced(99), http.MethodGet, "/announced", http.StatusOK, 99, true},
		{"head is not a body", limited(99), http.MethodHead, "/announced", http.StatusOK, 0, false},
		{"chunked, just fits", limited(100), http.MethodGet, "/chunked", http.StatusOK, 100, false},
		{"chunked and too large", limited(99), http.MethodGet, "/chunked", http.StatusOK, 99, true},
		{"counted after decompression", limited(4096), http.MethodGet, "/bomb", http.StatusOK, 4096, true},
		{"a stream is bounded by default", limited(99), http.MethodGet, "/events", http.StatusOK, 99, true},
		{"a stream", streams(99), http.MethodGet, "/events", http.StatusOK, 1000, false},
		{"no stream", streams(99), http.MethodGet, "/chunked", http.StatusOK, 99, true},
		{"no stream, announced", streams(99), http.MethodGet, "/announced", 0, 0, true},
		{"almost a stream", streams(99), http.MethodGet, "/like-events", http.StatusOK, 99, true},
		{"redirect is an answer", listed(), http.MethodHead, "/away", http.StatusFound, 0, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := server(t)
			client := newClient(t, tc.config)
			req, err := http.NewRequestWithContext(t.Context(), tc.method, s.URL+tc.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			var status, length int
			resp, err := client.Do(req)
			if err == nil {
				status = resp.StatusCode
				var data []byte
				data, err = io.ReadAll(resp.Body)
				length = len(data)
				if _, again := resp.Body.Read(make([]byte, 1)); tc.large && !errors.Is(again, err) {
					t.Errorf("Read() after the limit = %v, want %v", again, err)
				}
				_ = resp.Body.Close()
			}
			var large *TooLargeError
			if errors.As(err, &large) != tc.large || !tc.large && err != nil {
				t.Errorf("error = %v, want too large: %v", err, tc.large)
			}
			if tc.large && !strings.Contains(err.Error(), "longer than the limit") {
				t.Errorf("error = %v, want one that says the limit", err)
			}
			if status != tc.status || length != tc.length {
				t.Errorf("status, length = %d, %d, want %d, %d", status, length, tc.status, tc.length)
			}
		})
	}
}

func TestClientRefuses(t *testing.T) {
	t.Parallel()
	s := server(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := newClient(t, Config{}).Do(req)
	if err == nil {
		defer resp.Body.Close()
	}
	var refused *RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("Do() = %v, want a refusal", err)
	}
}

func TestClientTimeout(t *testing.T) {
	t.Parallel()
	s := server(t)
	c := listed()
	c.Timeout = 20 * time.Millisecond
	client := newClient(t, c)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/slow", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err == nil {
		defer resp.Body.Close()
		t.Fatal("Do() = nil, want a timeout")
	}
	var timeout interface{ Timeout() bool }
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("Do() = %v, want a timeout", err)
	}
}

func TestClientWithoutProxyOrTimeout(t *testing.T) {
	t.Parallel()
	client := newClient(t, Config{Timeout: -1})
	if client.Timeout != 0 {
		t.Errorf("Timeout = %v, want none", client.Timeout)
	}
	transport, ok := client.Transport.(*bounded)
	if !ok || transport.next.Proxy != nil {
		t.Error("the client uses a proxy")
	}
	if got := newClient(t, Config{}).Timeout; got != DefaultTimeout {
		t.Errorf("Timeout = %v, want %v", got, DefaultTimeout)
	}
}

func TestClientReuse(t *testing.T) {
	t.Parallel()
	for _, fresh := range []bool{false, true} {
		var conns atomic.Int64
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				conns.Add(1)
			}
		}
		s.Start()
		t.Cleanup(s.Close)
		c := listed()
		c.NoReuse = fresh
		client := newClient(t, c)
		for range 3 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		want := int64(1)
		if fresh {
			want = 3
		}
		if got := conns.Load(); got != want {
			t.Errorf("with NoReuse %v: %d connections for 3 requests, want %d", fresh, got, want)
		}
	}
}
