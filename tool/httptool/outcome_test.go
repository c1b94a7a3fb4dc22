package httptool_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"a2a-server/tool"
	"a2a-server/tool/httptool"
)

func isUnknown(err error) bool { return errors.Is(err, tool.ErrOutcomeUnknown) }

// readHead reads a request up to the empty line.
func readHead(r *bufio.Reader) {
	for {
		line, err := r.ReadString('\n')
		if err != nil || line == "\r\n" {
			return
		}
	}
}

// hold keeps a connection open until the client closes it.
func hold(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// TestUnanswered tests that a request which may have reached a server, and has no complete
// answer, is unknown, and is never sent a second time.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	write := func(text string) func(net.Conn, *bufio.Reader) {
		return func(c net.Conn, r *bufio.Reader) {
			readHead(r)
			_, _ = io.WriteString(c, text)
		}
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	tests := []struct {
		name  string
		serve func(c net.Conn, r *bufio.Reader)
		want  string
	}{
		{"hangs before it reads", func(c net.Conn, _ *bufio.Reader) { hold(c) }, "no complete answer within"},
		{"hangs after it has read", func(c net.Conn, r *bufio.Reader) { readHead(r); hold(c) }, "no complete answer within"},
		{"closes at once", func(net.Conn, *bufio.Reader) {}, "the request was sent"},
		{"closes after it has read", func(_ net.Conn, r *bufio.Reader) { readHead(r) }, "the request was sent"},
		{"resets", func(c net.Conn, r *bufio.Reader) {
			readHead(r)
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
		}, "the request was sent"},
		{"answers with rubbish", write("\x00\x01\u202e rubbish\r\n\r\n"), "request failed"},
		{"ends in the status line", write("HTTP/1.1 20"), "the request was sent"},
		{"ends in the header", write(head), "the request was sent"},
		{"endless header", func(c net.Conn, r *bufio.Reader) {
			readHead(r)
			_, _ = io.WriteString(c, head)
			for {
				if _, err := io.WriteString(c, "X-A: "+strings.Repeat("a", 1000)+"\r\n"); err != nil {
					return
				}
			}
		}, "the request was sent"},
		{"ends before the body", write(head + "Content-Length: 10\r\n\r\n"), "breaks off"},
		{"half a body", write(head + "Content-Length: 10\r\n\r\n{\"a\":"), "breaks off"},
		{"half a chunk", write(head + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"a\""), "breaks off"},
		{"bad chunk", write(head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n"), "breaks off"},
		{"hangs in the body", func(c net.Conn, r *bufio.Reader) {
			readHead(r)
			_, _ = io.WriteString(c, head+"Content-Length: 10\r\n\r\n{")
			hold(c)
		}, "no complete answer within"},
		{"announces 100 MB", write(head + "Content-Length: 104857600\r\n\r\n{}"), "answer too large"},
		{"sends without end", func(c net.Conn, r *bufio.Reader) {
			readHead(r)
			_, _ = io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\n")
			for {
				if _, err := fmt.Fprintf(c, "%x\r\n%s\r\n", 1<<16, strings.Repeat(" ", 1<<16)); err != nil {
					return
				}
			}
		}, "larger than the limit"},
		{"bad gzip", write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nnogzi"), "breaks off"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var conns atomic.Int64
			address := raw(t, func(c net.Conn, r *bufio.Reader) {
				conns.Add(1)
				tc.serve(c, r)
			})
			timeout := time.Minute
			if strings.HasPrefix(tc.name, "hangs") {
				timeout = 3 * time.Second // in which even a slow machine sends it
			}
			made := build(t, httptool.Config{Method: "POST", URL: address + "/pay/{a}?q={a}", JSON: "{a}", Header: map[string]string{"Idempotency-Key": "1"}, Timeout: timeout})
			r, err := call(t.Context(), made, map[string]any{"a": "confidential"})
			if r != nil || !isUnknown(err) {
				t.Fatalf("call() = %+v, %v, want an unknown outcome", r, err)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %q, want one with %q", err, tc.want)
			}
			if strings.Contains(err.Error(), "confidential") || strings.ContainsAny(err.Error(), "\x00\u202e\n") {
				t.Errorf("error = %q, want one without arguments and invisible characters", err)
			}
			if got := conns.Load(); got != 1 {
				t.Errorf("%d requests, want 1", got)
			}
		})
	}
}

// TestNotSent tests that a request of which nothing was sent simply fails.
func TestNotSent(t *testing.T) {
	t.Parallel()
	closed := raw(t, func(net.Conn, *bufio.Reader) {})
	selfSigned := httptest.NewUnstartedServer(http.NotFoundHandler())
	selfSigned.Config.ErrorLog = quiet()
	selfSigned.StartTLS()
	t.Cleanup(selfSigned.Close)
	tests := []struct {
		name   string
		config httptool.Config
		want   string
	}{
		{"nobody listens", httptool.Config{URL: "http://127.0.0.1:1"}, "connection failed"},
		{"no such host", httptool.Config{URL: "http://host.invalid/"}, "name not resolved"},
		{"no certificate", httptool.Config{URL: selfSigned.URL}, "TLS"},
		{"no TLS", httptool.Config{URL: "https" + strings.TrimPrefix(closed, "http")}, "nothing was sent"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.config.Method = "POST"
			r, err := call(t.Context(), build(t, tc.config), nil)
			if err == nil || r != nil || isUnknown(err) || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "host.invalid") {
				t.Errorf("call() = %+v, %v, want a failure with %q, and no address", r, err, tc.want)
			}
		})
	}
}

// TestForbiddenAddresses tests that a host cannot be one of the internal network, in any
// spelling, unless it is listed.
func TestForbiddenAddresses(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	address := answering(t, func(http.ResponseWriter, *http.Request) { requests.Add(1) })
	port := address[strings.LastIndex(address, ":"):]
	guarded, err := httptool.NewClient(httptool.ClientConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{
		"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "localhost", "LOCALHOST", "localhost.", "127.0.0.1.", "0", "0.0.0.0",
		"[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[::]", "169.254.169.254", "[fd00:ec2::254]", "10.0.0.1", "[fe80::1]",
	} {
		c := httptool.Config{Name: "it", Method: "POST", URL: "http://" + host + port, Client: guarded, Timeout: 2 * time.Second}
		made, err := httptool.New(c)
		if err != nil {
			continue // refused even sooner
		}
		_, err = call(t.Context(), made, nil)
		if err == nil || isUnknown(err) || strings.Contains(err.Error(), host) {
			t.Errorf("%s: call() = %v, want a failure that does not name it", host, err)
		}
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("%d requests arrived", n)
	}
	own := netip.MustParseAddrPort(strings.TrimPrefix(address, "http://"))
	c := httptool.Config{Method: "POST", URL: address, Client: client(t, httptool.ClientConfig{Own: func() []netip.AddrPort { return []netip.AddrPort{own} }})}
	if _, err := call(t.Context(), build(t, c), nil); err == nil || isUnknown(err) || requests.Load() > 0 {
		t.Errorf("call() of the server itself = %v, want a failure", err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	body := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			for left := n; left > 0; left -= 1 << 10 {
				_, _ = io.WriteString(w, strings.Repeat("x", min(left, 1<<10)))
			}
		}
	}
	bomb := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/event-stream") // for which another client has no limit
		z := gzip.NewWriter(w)
		block := strings.Repeat("x", 1<<20)
		for range 100 {
			if _, err := io.WriteString(z, block); err != nil {
				return
			}
		}
		_ = z.Close()
	}
	tests := []struct {
		name    string
		handler http.HandlerFunc
		fits    bool
	}{
		{"fits", body(1 << 20), true},
		{"one too many", body(1<<20 + 1), false},
		{"bomb", bomb, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			made := build(t, httptool.Config{Method: "POST", URL: answering(t, tc.handler)})
			r, err := call(t.Context(), made, nil)
			if tc.fits != (err == nil) || !tc.fits && !isUnknown(err) {
				t.Errorf("call() = %v, want it to fit: %v, or else an unknown outcome", err, tc.fits)
			}
			if err == nil && r == nil {
				t.Error("no result")
			}
		})
	}
}

// TestCanceled tests that the cause of a canceled call is passed on, after and before
// anything was sent.
func TestCanceled(t *testing.T) {
	t.Parallel()
	cause := errors.New("the task was canceled")
	read := make(chan struct{})
	address := raw(t, func(c net.Conn, r *bufio.Reader) {
		readHead(r)
		close(read)
		hold(c)
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-read
		cancel(cause)
	}()
	made := build(t, httptool.Config{Method: "POST", URL: address})
	if _, err := call(ctx, made, nil); !isUnknown(err) || !errors.Is(err, cause) {
		t.Errorf("call() = %v, want an unknown outcome with its cause", err)
	}
	if _, err := call(ctx, made, nil); isUnknown(err) || !errors.Is(err, cause) {
		t.Errorf("call() of a context that has ended = %v, want only its cause", err)
	}
}

// TestApprovedOnce tests that a request has a connection of its own, and is written once, also
// with an idempotency key, and with a method that should have no effect: a gate of the policy may
// have asked about it, which the tool does not know.
func TestApprovedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]httptool.Config{
		"with a key": {Method: "POST", Header: map[string]string{"Idempotency-Key": "1"}},
		"approved":   {Method: "GET", Approve: new(true)},
		"plain":      {Method: "GET"},
	} {
		var requests atomic.Int64
		c.URL = raw(t, func(c net.Conn, r *bufio.Reader) {
			for {
				if _, err := r.Peek(1); err != nil {
					return
				}
				readHead(r)
				if requests.Add(1) == 2 {
					return // after it was read, and without an answer
				}
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			}
		})
		made := build(t, c)
		if _, err := call(t.Context(), made, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := call(t.Context(), made, nil); !isUnknown(err) {
			t.Errorf("%s: call() = %v, want an unknown outcome", name, err)
		}
		if n := requests.Load(); n != 2 {
			t.Errorf("%s: %d requests for 2 calls", name, n)
		}
	}
}

// TestMalformedSecret tests that an error which quotes a malformed answer does not contain
// the secret that the server repeats there.
func TestMalformedSecret(t *testing.T) {
	t.Parallel()
	const value = "secret-of-the-service"
	address := raw(t, func(c net.Conn, r *bufio.Reader) {
		readHead(r)
		_, _ = io.WriteString(c, value+" 200 OK\r\n\r\n")
	})
	made := build(t, httptool.Config{
		Method: "POST", URL: address, Header: map[string]string{"Authorization": "{secret:it}"},
		Secrets: func(context.Context, string) (string, error) { return value, nil },
	})
	if _, err := call(t.Context(), made, nil); !isUnknown(err) || strings.Contains(err.Error(), value) {
		t.Errorf("call() = %v, want an unknown outcome without the secret", err)
	}
}
