package egress

import (
	"net"
	"net/netip"
	"strings"
	"testing"
)

// TestOwn tests that the server's listeners are not dialed in any form, even if all
// addresses are allowed.
func TestOwn(t *testing.T) {
	t.Parallel()
	everything := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	local := interfaceAddr(t)
	tests := []struct {
		name   string
		own    string
		dial   []string
		refuse bool
	}{
		{"exactly", "127.0.0.1:8080", []string{"127.0.0.1:8080", "[::ffff:127.0.0.1]:8080", "[64:ff9b::127.0.0.1]:8080"}, true},
		{"in mapped form", "[::ffff:127.0.0.1]:8080", []string{"127.0.0.1:8080"}, true},
		{"unspecified is this host", "127.0.0.1:8080", []string{"0.0.0.0:8080", "[::]:8080"}, true},
		{"IPv6", "[::1]:8080", []string{"[::1]:8080", "[::]:8080"}, true},
		{"on all addresses", "0.0.0.0:8080", []string{"127.0.0.1:8080", "127.9.9.9:8080", "[::1]:8080", "0.0.0.0:8080", local + ":8080"}, true},
		{"on all addresses of IPv6", "[::]:8080", []string{"127.0.0.1:8080", "[::1]:8080", local + ":8080", "[64:ff9b::127.0.0.1]:8080"}, true},
		{"without an address", ":8080", []string{"127.0.0.1:8080", "[::1]:8080"}, true},
		{"other ports", "0.0.0.0:8080", []string{"127.0.0.1:8081", "[::1]:80", local + ":443"}, false},
		{"other addresses", "127.0.0.1:8080", []string{"127.0.0.2:8080", "[::1]:8080", "10.255.0.1:8080"}, false},
		{"other hosts", "0.0.0.0:8080", []string{"203.0.113.9:8080", "[2606:4700::1111]:8080"}, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			own := netip.AddrPort{}
			if port, ok := strings.CutPrefix(tc.own, ":"); ok {
				own = netip.AddrPortFrom(netip.Addr{}, netip.MustParseAddrPort("0.0.0.0:"+port).Port())
			} else {
				own = netip.MustParseAddrPort(tc.own)
			}
			g := newGuard(&Config{Allow: everything, Own: func() []netip.AddrPort { return []netip.AddrPort{{}, own} }})
			for _, text := range tc.dial {
				at := netip.MustParseAddrPort(text)
				if got := g.refusal(at.Addr(), at.Port()); (got != "") != tc.refuse {
					t.Errorf("refusal(%s) = %q, want refused: %v", text, got, tc.refuse)
				}
			}
		})
	}
}

// interfaceAddr returns an address of this host that is not loopback, or loopback if there
// is no other.
func interfaceAddr(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() {
			return p.Addr().String()
		}
	}
	return "127.0.0.1"
}

func TestDialOwn(t *testing.T) {
	t.Parallel()
	address := listen(t)
	c := Config{AllowLoopback: true}
	conn, err := dialer(t, c).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	c.Own = func() []netip.AddrPort { return []netip.AddrPort{netip.MustParseAddrPort(address)} }
	conn, err = dialer(t, c).DialContext(t.Context(), "tcp", address)
	if conn != nil {
		_ = conn.Close()
	}
	if !isRefused(err) || !strings.Contains(err.Error(), "this server listens") || strings.Contains(err.Error(), "to allow it") {
		t.Errorf("DialContext() = %v, want a refusal that offers no way around it", err)
	}
}
