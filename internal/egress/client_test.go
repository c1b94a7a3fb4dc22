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

// fetch sends a request and reads the answer.
func fetch(t *testing.T, client *http.Client, method, url string) (status int, data []byte, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	data, err = io.ReadAll(resp.Body)
	if _, again := resp.Body.Read(make([]byte, 1)); isTooLarge(err) && !errors.Is(again, err) {
		t.Errorf("Read() after the limit = %v, want %v", again, err)
	}
	return resp.StatusCode, data, err
}

func isRefused(err error) bool {
	_, ok := errors.AsType[*RefusedError](err)
	return ok
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*TooLargeError](err)
	return ok
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
			status, data, err := fetch(t, newClient(t, tc.config), tc.method, server(t).URL+tc.path)
			if isTooLarge(err) != tc.large || !tc.large && err != nil {
				t.Errorf("error = %v, want too large: %v", err, tc.large)
			}
			if tc.large && !strings.Contains(err.Error(), "longer than the limit") {
				t.Errorf("error = %v, want one that says the limit", err)
			}
			if status != tc.status || len(data) != tc.length {
				t.Errorf("status, length = %d, %d, want %d, %d", status, len(data), tc.status, tc.length)
			}
		})
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
			if _, _, err := fetch(t, client, http.MethodPost, s.URL); err != nil {
				t.Fatal(err)
			}
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
