package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// listen accepts on loopback until the test ends and returns the address.
func listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

func listed() Config {
	return Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
}

func dialer(t *testing.T, c Config) *Dialer {
	t.Helper()
	d, err := NewDialer(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDial(t *testing.T) {
	t.Parallel()
	names := map[string][]string{
		"local.test":  {"127.0.0.1"},
		"mapped.test": {"::ffff:127.0.0.1"},
		"mixed.test":  {"127.0.0.1", "10.0.0.1"},
		"second.test": {"127.0.0.2", "127.0.0.1"},
		"empty.test":  {},
	}
	tests := []struct {
		name    string
		config  Config
		network string
		host    string // the port is that of the listener
		refused bool
		err     string
	}{
		{name: "loopback by default", network: "tcp", host: "127.0.0.1", refused: true, err: "is loopback; to allow it, add the address to networks in the configuration"},
		{name: "name of loopback by default", network: "tcp", host: "local.test", refused: true, err: "loopback"},
		{name: "listed", config: listed(), network: "tcp", host: "127.0.0.1"},
		{name: "listed by name", config: listed(), network: "tcp4", host: "local.test"},
		{name: "loopback allowed", config: Config{AllowLoopback: true}, network: "tcp", host: "mapped.test"},
		{name: "one of two refused", config: listed(), network: "tcp", host: "mixed.test", refused: true, err: "10.0.0.1"},
		{name: "the second answers", config: Config{AllowLoopback: true}, network: "tcp", host: "second.test"},
		{name: "no address", network: "tcp", host: "empty.test", err: "no address"},
		{name: "unknown name", network: "tcp", host: "none.test", err: "no such host"},
		{name: "no host", config: listed(), network: "tcp", host: "", refused: true, err: "has no host"},
		{name: "other network", config: listed(), network: "unix", host: "127.0.0.1", refused: true, err: "network"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, port, err := net.SplitHostPort(listen(t))
			if err != nil {
				t.Fatal(err)
			}
			d := dialer(t, tc.config)
			d.lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
				texts, ok := names[host]
				if !ok {
					return nil, errors.New("no such host")
				}
				addrs := make([]netip.Addr, len(texts))
				for i, text := range texts {
					addrs[i] = netip.MustParseAddr(text)
				}
				return addrs, nil
			}
			conn, err := d.DialContext(t.Context(), tc.network, net.JoinHostPort(tc.host, port))
			if conn != nil {
				defer conn.Close()
			}
			if isRefused(err) != tc.refused {
				t.Errorf("DialContext() = %v, want refused: %v", err, tc.refused)
			}
			if tc.err == "" {
				if err != nil {
					t.Errorf("DialContext() = %v, want a connection", err)
				}
			} else if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("DialContext() = %v, want an error with %q", err, tc.err)
			}
		})
	}
}

func TestDialBadAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:http", "127.0.0.1:-1", "127.0.0.1:65616", "127.0.0.1:080x"} {
		if conn, err := dialer(t, listed()).DialContext(t.Context(), "tcp", address); err == nil {
			_ = conn.Close()
			t.Errorf("DialContext(%q) = nil, want an error", address)
		}
	}
}

func TestDialCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := dialer(t, listed()).DialContext(ctx, "tcp", listen(t))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("DialContext() = %v, want %v", err, context.Canceled)
	}
}
