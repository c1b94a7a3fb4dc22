package egress

import (
	"net"
	"net/netip"
	"slices"
)

// ownAddress is the reason of refusal for an address of Config.Own.
const ownAddress = "an address on which this server listens"

// isOwn reports whether a connection to port of addr would reach a listener of Config.Own,
// directly or through the network's NAT64. Dialing the unspecified address reaches the local
// host.
func (g *guard) isOwn(addr netip.Addr, port uint16) bool {
	if g.own == nil {
		return false
	}
	if slices.ContainsFunc(g.nat64, func(p netip.Prefix) bool { return p.Contains(addr) && g.isOwn(embedded(addr, p.Bits()), port) }) {
		return true
	}
	for _, own := range g.own() {
		at := own.Addr().Unmap().WithZone("")
		switch {
		case own.Port() != port:
		case at == addr, addr.IsUnspecified():
			return true
		case !at.IsValid() || at.IsUnspecified():
			if addr.IsLoopback() || isLocal(addr) {
				return true
			}
		}
	}
	return false
}

// isLocal reports whether an interface of this host has the address. If the interfaces cannot
// be listed, it returns true.
func isLocal(addr netip.Addr) bool {
	locals, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, local := range locals {
		if p, err := netip.ParsePrefix(local.String()); err == nil && p.Addr().Unmap().WithZone("") == addr {
			return true
		}
	}
	return false
}
