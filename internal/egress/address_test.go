package egress

import (
	"net/netip"
	"testing"
)

func TestRefusal(t *testing.T) {
	t.Parallel()
	metadata := []string{
		"169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192",
		"fd00:ec2::254", "fd00:ec2::23", "fd00:ec2:ffff::1", "fd00:c1::a9fe:a9fe", "fd20:ce::254", "fd20:ce::1", "fd00:42::42",
		"::ffff:168.63.129.16", "64:ff9b::168.63.129.16",
	}
	private := Config{AllowPrivate: true}
	local := Config{AllowLoopback: true}
	networks := func(prefixes ...string) Config {
		c := Config{AllowLoopback: true}
		for _, p := range prefixes {
			c.NAT64 = append(c.NAT64, netip.MustParsePrefix(p))
		}
		return c
	}
	allow := func(prefixes ...string) Config {
		var c Config
		for _, p := range prefixes {
			c.Allow = append(c.Allow, netip.MustParsePrefix(p))
		}
		return c
	}
	only := allow("10.1.0.0/16")
	only.OnlyAllowed = true
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
		{"metadata", Config{}, metadata, true},
		{"mapped", Config{}, []string{"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"}, true},
		{"mapped public", Config{}, []string{"::ffff:8.8.8.8"}, false},
		{"compatible", Config{}, []string{"::127.0.0.1", "::8.8.8.8"}, true},
		{"translated private", Config{}, []string{"64:ff9b::127.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b::10.0.0.1", "64:ff9b:1::8.8.8.8"}, true},
		{"translated public", Config{}, []string{"64:ff9b::8.8.8.8"}, false},
		{"tunnels", Config{}, []string{"2002:7f00:1::1", "2002:808:808::1", "2001:0:7f00:1::1", "2001:0:808:808::1"}, true},
		{"other ranges of IPv6", Config{}, []string{"100::1", "5f00::1", "fec0::1", "4000::1"}, true},

		{"only listed", only, []string{"10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3"}, false},
		{"only listed, not public", only, []string{"8.8.8.8", "2606:4700::1111", "64:ff9b::8.8.8.8", "10.2.0.1", "127.0.0.1", "169.254.169.254"}, true},

		{"private allowed", private, []string{"10.0.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "fd00:ec1::1", "fd00:ec3::1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "8.8.8.8"}, false},
		{"private allowed, not metadata", private, metadata, true},
		{"private allowed, not loopback", private, []string{"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1"}, true},
		{"private allowed, not these", private, []string{"169.254.1.1", "fe80::1", "0.0.0.0", "::", "224.0.0.1", "64:ff9b::169.254.169.254", "2002:7f00:1::1"}, true},

		{"loopback allowed", local, []string{"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1", "8.8.8.8"}, false},
		{"loopback allowed, not private", local, []string{"10.0.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "0.0.0.0", "::", "169.254.1.1"}, true},
		{"both allowed, not metadata", Config{AllowPrivate: true, AllowLoopback: true}, metadata, true},

		// The forms of RFC 6052 §2.4, here with 192.168.2.33 and with 8.8.8.8.
		{"translated by the network, private", networks("2a02:db8::/32", "2a03:db8:100::/40", "2a04:db8:122::/48", "2a05:db8:122:300::/56", "2a06:db8:122:344::/64", "2a07:db8:122:344::/96"), []string{
			"2a02:db8:c0a8:221::", "2a03:db8:1c0:a802:21::", "2a04:db8:122:c0a8:2:2100::", "2a05:db8:122:3c0:a8:221::", "2a06:db8:122:344:c0:a802:2100::", "2a07:db8:122:344::192.168.2.33",
		}, true},
		{"translated by the network, public", networks("2a02:db8::/32", "2a03:db8:100::/40", "2a04:db8:122::/48", "2a05:db8:122:300::/56", "2a06:db8:122:344::/64", "2a07:db8:122:344::/96"), []string{
			"2a02:db8:808:808::", "2a03:db8:108:808:8::", "2a04:db8:122:808:8:800::", "2a05:db8:122:308:8:808::", "2a06:db8:122:344:8:808:800::", "2a07:db8:122:344::8.8.8.8",
		}, false},
		{"translated by the network in private use", networks("fd64::/96", "64:ff9b:1::/48"), []string{"fd64::8.8.8.8", "64:ff9b:1:808:8:800::", "fd64::127.0.0.1"}, false},
		{"translated by the network to what is refused", networks("fd64::/96", "64:ff9b:1::/48"), []string{"fd64::10.0.0.1", "64:ff9b:1:a00:0:100::", "fd64::169.254.169.254", "64:ff9b::10.0.0.1", "fd65::8.8.8.8"}, true},

		{"listed", allow("127.0.0.1/32", "169.254.169.254/32", "fe80::/10"), []string{"127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1", "169.254.169.254", "fe80::1%eth0"}, false},
		{"beside what is listed", allow("127.0.0.1/32"), []string{"127.0.0.2", "::1", "10.0.0.1"}, true},
		{"listed in mapped form", allow("::ffff:10.0.0.0/104"), []string{"10.1.2.3"}, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			g := newGuard(&tc.config)
			for _, addr := range tc.addrs {
				if got := g.refusal(netip.MustParseAddr(addr), 443); (got != "") != tc.refuse {
					t.Errorf("refusal(%s) = %q, want refused: %v", addr, got, tc.refuse)
				}
			}
		})
	}
	if newGuard(&Config{}).refusal(netip.Addr{}, 443) == "" {
		t.Error("the zero address passes")
	}
}
