package egress

import "net/netip"

// wellKnownNAT64 is the prefix of RFC 6052 §2.1.
func wellKnownNAT64() netip.Prefix { return netip.MustParsePrefix("64:ff9b::/96") }

// embedded returns the IPv4 address that addr embeds after a prefix of so many bits
// (RFC 6052 §2.2). The byte at bits 64 to 71 is not part of it.
func embedded(addr netip.Addr, bits int) netip.Addr {
	from := addr.As16()
	var v4 [4]byte
	at := bits / 8
	for i := range v4 {
		if at == 8 {
			at++
		}
		v4[i] = from[at]
		at++
	}
	return netip.AddrFrom4(v4)
}
