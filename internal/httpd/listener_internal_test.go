package httpd

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// fakeListener gives connections from addresses, or errors.
type fakeListener struct {
	net.Listener
	next []any // a string is an address, an error is an error
}

type fakeConn struct {
	net.Conn
	from   net.Addr
	closed bool
}

func (c *fakeConn) RemoteAddr() net.Addr { return c.from }
func (c *fakeConn) Close() error         { c.closed = true; return nil }

func (l *fakeListener) Accept() (net.Conn, error) {
	next := l.next[0]
	l.next = l.next[1:]
	if err, ok := next.(error); ok {
		return nil, err
	}
	text, _ := next.(string)
	return &fakeConn{from: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text))}, nil
}

// accept takes connections from addresses.
func accept(t *testing.T, l *Listener, from ...string) []*Conn {
	t.Helper()
	var all []*Conn
	for _, a := range from {
		l.Listener = &fakeListener{next: []any{a}}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c, ok := conn.(*Conn)
		if !ok {
			t.Fatalf("a %T", conn)
		}
		all = append(all, c)
	}
	return all
}

func beyond(all []*Conn) string {
	var b strings.Builder
	for _, c := range all {
		if c.beyond {
			b.WriteString("x")
		} else {
			b.WriteString(".")
		}
	}
	return b.String()
}

// One address has a quarter of all connections, or one network of version 6; this
// machine has no such limit.
func TestShareOfOneAddress(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		from []string
		want string
	}{
		"one":                  {[]string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "192.0.2.2:4", "192.0.2.1:5"}, "..x.x"},
		"mapped":               {[]string{"192.0.2.1:1", "[::ffff:192.0.2.1]:2", "192.0.2.1:3"}, "..x"},
		"one network":          {[]string{"[2001:db8::1]:1", "[2001:db8::2]:2", "[2001:db8::3]:3", "[2001:db8:0:1::1]:4"}, "..x."},
		"with a zone":          {[]string{"[fe80::1%eth0]:1", "[fe80::1%eth1]:2", "[fe80::2]:3"}, "..x"},
		"this machine":         {[]string{"127.0.0.1:1", "127.0.0.1:2", "[::1]:3", "[::ffff:127.0.0.1]:4", "127.0.0.1:5"}, "....."},
		"all":                  {[]string{"127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:1"}, "........x"},
		"all, others together": {[]string{"192.0.2.1:1", "192.0.2.1:1", "192.0.2.2:1", "192.0.2.2:1", "192.0.2.3:1", "192.0.2.3:1", "192.0.2.4:1", "192.0.2.4:1", "192.0.2.5:1"}, "........x"},
	} {
		l := NewListener(nil, 8, zerolog.Nop(), time.Now)
		all := accept(t, l, tc.from...)
		if got := beyond(all); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		for _, c := range all { // twice: net/http does so, too
			_, _ = c.Close(), c.Close()
		}
		if l.open != 0 || len(l.from) != 0 || len(l.beyond) != 0 {
			t.Errorf("%s: when all are closed %d are open, from %v, %d beyond", name, l.open, l.from, len(l.beyond))
		}
	}
}

// Beyond the limit the oldest connection makes room for the newest.
func TestOldestMakesRoom(t *testing.T) {
	t.Parallel()
	l := NewListener(nil, 1, zerolog.Nop(), time.Now)
	from := make([]string, 2+reserved)
	for i := range from {
		from[i] = "127.0.0.1:1"
	}
	all := accept(t, l, from...)
	for i, c := range all {
		inner, ok := c.Conn.(*fakeConn)
		if want := i == 1; !ok || inner.closed != want {
			t.Errorf("connection %d: closed %t, want %t", i, inner.closed, want)
		}
	}
	for _, c := range all {
		_ = c.Close()
	}
	if got := beyond(accept(t, l, "127.0.0.1:1", "127.0.0.1:1")); got != ".x" {
		t.Errorf("after all were closed: %s", got)
	}
}

// What is missing is said once a minute, however often it is missing.
func TestComplaints(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	clock := time.Unix(1_700_000_000, 0)
	l := NewListener(nil, 1, zerolog.New(&out), func() time.Time { return clock })
	said := func() (files, room int) {
		text := out.String()
		out.Reset()
		return strings.Count(text, "ulimit -n"), strings.Count(text, "beyond limits.connections")
	}
	full := &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	burst := func() {
		l.Listener = &fakeListener{next: []any{full, full, full, &net.OpError{Op: "accept", Err: net.ErrClosed}}}
		for range 4 {
			if _, err := l.Accept(); err == nil {
				t.Error("Accept() has no error")
			}
		}
		accept(t, l, "127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:1")
	}
	for _, step := range []struct {
		after       time.Duration
		files, room int
	}{{0, 1, 1}, {59 * time.Second, 0, 0}, {time.Second, 1, 1}, {time.Second, 0, 0}} {
		clock = clock.Add(step.after)
		burst()
		if files, room := said(); files != step.files || room != step.room {
			t.Errorf("after another %v: said %d and %d times, want %d and %d", step.after, files, room, step.files, step.room)
		}
	}
}
