package egress

import (
	"net/netip"
	"testing"
)

func TestRefusal(t *testing.T) {
	t.Parallel()
	private := Config{AllowPrivate: true}
	allow := func(prefixes ...string) Config {
		var c Config
		for _, p := range prefixes {
			c.Allow = append(c.Allow, netip.MustParsePrefix(p))
		}
		return c
	}
	tests := []struct {
		name   string
		config Config
		addrs  []string
		refuse bool
	}{
		{"public", Config{}, []string{"8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "198.17.255.255", "198.20.0.1", "2606:4700::1111", "2003::1"}, false},
		{"loopback", Config{}, []string{"127.0.0.1", "127.255.255.254", "::1"}, true},
		{"private", Config{}, []string{"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fdff::1"}, true},
		{"link-local", Config{}, []string{"169.254.0.1", "fe80::1", "fe80::1%eth0"}, true},
		{"carrier NAT", Config{}, []string{"100.64.0.1", "100.127.255.255"}, true},
		{"benchmarks", Config{}, []string{"198.18.0.1", "198.19.255.255", "2001:2::1"}, true},
		{"protocols", Config{}, []string{"192.0.0.8", "192.88.99.1", "2001:1::1"}, true},
		{"documentation", Config{}, []string{"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"}, true},
		{"multicast and reserved", Config{}, []string{"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "ff02::1"}, true},
		{"unspecified", Config{}, []string{"0.0.0.0", "0.1.2.3", "::"}, true},
		{"metadata", Config{}, []string{"169.254.169.254", "100.100.100.200", "fd00:ec2::254", "fd20:ce::254"}, true},
		{"mapped", Config{}, []string{"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"}, true},
		{"mapped public", Config{}, []string{"::ffff:8.8.8.8"}, false},
		{"compatible", Config{}, []string{"::127.0.0.1", "::8.8.8.8"}, true},
		{"translated private", Config{}, []string{"64:ff9b::127.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b::10.0.0.1", "64:ff9b:1::8.8.8.8"}, true},
		{"translated public", Config{}, []string{"64:ff9b::8.8.8.8"}, false},
		{"tunnels", Config{}, []string{"2002:7f00:1::1", "2002:808:808::1", "2001:0:7f00:1::1", "2001:0:808:808::1"}, true},
		{"other ranges of IPv6", Config{}, []string{"100::1", "5f00::1", "fec0::1", "4000::1"}, true},

		{"private allowed", private, []string{"127.0.0.1", "::1", "10.0.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "8.8.8.8"}, false},
		{"private allowed, not these", private, []string{"169.254.169.254", "169.254.1.1", "fe80::1", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "0.0.0.0", "::", "224.0.0.1", "64:ff9b::169.254.169.254", "2002:7f00:1::1"}, true},

		{"listed", allow("127.0.0.1/32", "169.254.169.254/32", "fe80::/10"), []string{"127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1", "169.254.169.254", "fe80::1%eth0"}, false},
		{"beside what is listed", allow("127.0.0.1/32"), []string{"127.0.0.2", "::1", "10.0.0.1"}, true},
		{"listed in mapped form", allow("::ffff:10.0.0.0/104"), []string{"10.1.2.3"}, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			g := newGuard(tc.config)
			for _, addr := range tc.addrs {
				if got := g.refusal(netip.MustParseAddr(addr)); (got != "") != tc.refuse {
					t.Errorf("refusal(%s) = %q, want refused: %v", addr, got, tc.refuse)
				}
			}
		})
	}
	if newGuard(Config{}).refusal(netip.Addr{}) == "" {
		t.Error("the zero address passes")
	}
}
