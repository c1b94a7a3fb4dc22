package egress

import (
	"fmt"
	"net/netip"
	"slices"
)

// block is a range of addresses that is not part of the public internet, from IANA's
// registries of special-purpose addresses.
type block struct {
	prefix netip.Prefix
	what   string
	open   bool // by the configuration
}

func of(prefix, what string) block { return block{prefix: netip.MustParsePrefix(prefix), what: what} }

// neverOpen lists the blocks that only Config.Allow opens.
func neverOpen() []block {
	return []block{
		// Metadata services hand out credentials. Some have public addresses, some are in
		// blocks of private use, in ranges that their cloud uses for nothing else.
		of("169.254.169.254/32", "a metadata service"),
		of("168.63.129.16/32", "a metadata service"),   // Azure
		of("100.100.100.200/32", "a metadata service"), // Alibaba
		of("fd00:ec2::/32", "a metadata service"),      // AWS
		of("fd00:c1::/32", "a metadata service"),       // Oracle
		of("fd20:ce::/32", "a metadata service"),       // Google
		of("fd00:42::/32", "a metadata service"),       // Scaleway
		of("0.0.0.0/8", "unspecified"),
		of("169.254.0.0/16", "link-local"),
		of("192.0.0.0/24", "reserved for protocols"),
		of("192.0.2.0/24", "for documentation"),
		of("192.88.99.0/24", "a 6to4 relay"),
		of("198.18.0.0/15", "for benchmarks"),
		of("198.51.100.0/24", "for documentation"),
		of("203.0.113.0/24", "for documentation"),
		of("224.0.0.0/4", "multicast"),
		of("240.0.0.0/4", "reserved"),
		of("::/128", "unspecified"),
		of("2001::/32", "a Teredo tunnel"),
		of("2001::/23", "reserved for protocols"),
		of("2001:db8::/32", "for documentation"),
		of("2002::/16", "a 6to4 tunnel"),
		of("3fff::/20", "for documentation"),
		of("fe80::/10", "link-local"),
		of("ff00::/8", "multicast"),
	}
}

// local lists the blocks that Config.AllowLoopback and Config.AllowPrivate open.
func local(c *Config) []block {
	blocks := []block{
		of("127.0.0.0/8", "loopback"),
		of("::1/128", "loopback"),
		of("10.0.0.0/8", "private"),
		of("172.16.0.0/12", "private"),
		of("192.168.0.0/16", "private"),
		of("100.64.0.0/10", "shared behind a provider's NAT"),
		of("fc00::/7", "private"),
	}
	for i := range blocks {
		blocks[i].open = c.AllowPrivate
		if blocks[i].what == "loopback" {
			blocks[i].open = c.AllowLoopback
		}
	}
	return blocks
}

// guard decides which addresses may be dialed. It is immutable.
type guard struct {
	allow  []netip.Prefix
	only   bool // allow is all
	never  []block
	local  []block
	global netip.Prefix   // where public IPv6 addresses are
	nat64  []netip.Prefix // where IPv4 addresses are embedded (RFC 6052)
	ports  []uint16       // none: all
	own    func() []netip.AddrPort
}

func newGuard(c *Config) *guard {
	g := &guard{
		only:   c.OnlyAllowed,
		never:  neverOpen(),
		local:  local(c),
		global: netip.MustParsePrefix("2000::/3"),
		nat64:  append([]netip.Prefix{wellKnownNAT64()}, c.NAT64...),
		ports:  slices.Clone(c.Ports),
		own:    c.Own,
	}
	for _, p := range c.Allow {
		// Addresses are compared in their IPv4 form, so prefixes have to be too.
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		g.allow = append(g.allow, p)
	}
	return g
}

// refusal returns "" if port of addr may be dialed, else the kind of address that it is.
func (g *guard) refusal(addr netip.Addr, port uint16) string {
	// A zone would keep any prefix from containing the address.
	addr = addr.Unmap().WithZone("")
	if !addr.IsValid() {
		return "not an address"
	}
	if g.isOwn(addr, port) {
		return ownAddress
	}
	for _, p := range g.allow {
		if p.Contains(addr) {
			return ""
		}
	}
	if b, in := find(g.never, addr); in {
		return b.what
	}
	for _, p := range g.nat64 {
		if p.Contains(addr) {
			inner := embedded(addr, p.Bits())
			if what := g.refusal(inner, port); what != "" {
				return fmt.Sprintf("translated to %s, %s", inner, what)
			}
			return ""
		}
	}
	switch b, in := find(g.local, addr); {
	case g.only:
		return "not listed"
	case in && !b.open:
		return b.what
	case in, addr.Is4(), g.global.Contains(addr):
		return ""
	}
	return "not public"
}

// find returns the block that contains addr, if any.
func find(blocks []block, addr netip.Addr) (b block, in bool) {
	i := slices.IndexFunc(blocks, func(b block) bool { return b.prefix.Contains(addr) })
	if i < 0 {
		return block{}, false
	}
	return blocks[i], true
}
