package e2e_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"
)

// lineTo returns a connection to an address, with TLS unless c is nil.
func lineTo(t *testing.T, at net.Addr, c *tls.Config) *line {
	t.Helper()
	var conn net.Conn
	var err error
	if c == nil {
		conn, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", at.String())
	} else {
		conn, err = (&tls.Dialer{Config: c}).DialContext(t.Context(), "tcp", at.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	l := &line{conn, t, bufio.NewReader(conn)}
	l.inTime()
	return l
}

// The header of a call comes in time over gRPC, too, with TLS and without, whether it began
// together with the connection or later.
func TestHeaderOfGRPCComesInTime(t *testing.T) {
	t.Parallel()
	t.Run("without TLS", func(t *testing.T) {
		t.Parallel()
		in := start(t, load(t, map[string]string{"store": "memory", "grpc.listen": "127.0.0.1:0", "limits.read_timeout": "3s"}))
		headersComeInTime(t, func(t *testing.T) *line { return lineTo(t, in.server.GRPCAddr(), nil) })
	})
	t.Run("with TLS", func(t *testing.T) {
		t.Parallel()
		s := startSecure(t, "grpc: {listen: 127.0.0.1:0}\nlimits: {read_timeout: 3s}\n")
		c := &tls.Config{RootCAs: s.ca.Pool(), NextProtos: []string{"h2"}}
		headersComeInTime(t, func(t *testing.T) *line { return lineTo(t, s.server.GRPCAddr(), c) })
	})
}

// headersComeInTime checks the connections that dial makes.
func headersComeInTime(t *testing.T, dial func(*testing.T) *line) {
	t.Helper()
	const empty = "\x00\x00\x00\x00\x00"
	begin := preface + frame(kindSettings, 0, 0, "")
	block := func(method string) string {
		return fields(":method", "POST", ":scheme", "http", ":path", "/grpc.health.v1.Health/"+method, ":authority", "localhost",
			"content-type", "application/grpc", "te", "trailers")
	}
	check, watch := block("Check"), block("Watch")
	called := frame(kindHeaders, endHeaders, 1, check) + frame(kindData, endStream, 1, empty)
	take := func(l *line, n int) {
		l.t.Helper()
		for range n {
			if kind, text, err := l.take(); err != nil || kind != kindHeaders && kind != kindData {
				l.t.Fatalf("a call gets kind %d, %q, %v", kind, text, err)
			}
		}
	}
	// It is open when the limit of those below has passed. They come at the same time, but not in
	// tests that wait for their turn: it would be closed by then, because nobody here answers a
	// ping.
	beside := dial(t)
	beside.write(begin + frame(kindHeaders, 0, 1, watch[:20]))
	beside.write(frame(kindContinuation, endHeaders, 1, watch[20:]) + frame(kindData, endStream, 1, empty))
	take(beside, 2)
	var hostile []*line
	for _, texts := range [][]string{
		{begin + frame(kindHeaders, 0, 1, check)},                                               // with the connection
		{begin + frameOf(len(check)+1, kindHeaders, endHeaders, 1) + check},                     // a frame that does not end
		{begin, frame(kindHeaders, 0, 1, check[:9]) + frame(kindContinuation, 0, 1, check[9:])}, // continued
		{begin + called + frame(kindHeaders, 0, 3, check)},                                      // with a call
		{begin + called, frame(kindHeaders, 0, 3, check)},                                       // after a call
	} {
		l := dial(t)
		for i, text := range texts {
			if l.write(text); i == 0 && text == begin+called {
				take(l, 3)
			}
		}
		hostile = append(hostile, l)
	}
	endless := dial(t) // its header is continued again and again
	endless.write(begin + frame(kindHeaders, 0, 1, check))
	every := time.NewTicker(10 * time.Millisecond)
	defer every.Stop()
	for began := time.Now(); ; <-every.C {
		if _, err := io.WriteString(endless, frame(kindContinuation, 0, 1, "")); err != nil {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatal("the header is still read")
		}
	}
	for _, l := range hostile {
		l.ended()
	}
	beside.inTime()
	beside.write(frame(kindHeaders, endHeaders, 3, check) + frame(kindData, endStream, 3, empty))
	take(beside, 3)
}
