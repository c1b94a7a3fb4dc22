package egress

import (
	"net"
	"net/netip"
)

// ownAddress is what refusal says of an address of Config.Own.
const ownAddress = "an address on which this server listens"

// isOwn reports whether a connection to port of addr would reach one of the listeners
// that Config.Own names, also by way of the network's translator. Dialing the unspecified
// address reaches the local host.
func (g *guard) isOwn(addr netip.Addr, port uint16) bool {
	if g.own == nil {
		return false
	}
	for _, p := range g.nat64 {
		if p.Contains(addr) && g.isOwn(embedded(addr, p.Bits()), port) {
			return true
		}
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

// isLocal reports whether an interface of this host has the address. If they cannot be
// listed, every address may be one.
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
