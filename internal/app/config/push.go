package config

import (
	"net/netip"
	"strings"
	"time"

	"a2a-server/internal/setting"
)

// maxPushTimeout bounds how long one notification may take.
const maxPushTimeout = 30 * time.Second

// Push configures push notifications: which webhooks are called, and how.
type Push struct {
	Enabled       bool
	AllowHTTP     bool
	AllowPrivate  bool
	AllowLoopback bool
	Networks      []netip.Prefix // addresses that are allowed besides
	Ports         []int          // the only ones that are called. Empty: all.
	NAT64         []netip.Prefix // prefixes of the network's translator
	CA            string         // absolute path of a file in PEM. Empty: none.
	JWT           bool
	Timeout       time.Duration // of one notification. Defaults to 15 s.
}

// keys returns the keys below push.
func (p *Push) keys() []key {
	return []key{
		one("push.enabled", "false", setting.Bool(&p.Enabled),
			"Sends push notifications: clients may set webhooks for their tasks, and the agent card says so. Webhooks must use https and have public addresses, unless the keys below allow more."),
		one("push.allow_http", "false", setting.Bool(&p.AllowHTTP),
			"Allows webhooks with http. What is sent to them, tokens and credentials included, can be read on the way."),
		one("push.allow_private", "false", setting.Bool(&p.AllowPrivate),
			"Allows webhooks with private addresses (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, fc00::/7). Whoever may send a message can then reach services in these networks by POST. Metadata services of clouds stay forbidden; so do loopback and link-local addresses."),
		one("push.allow_loopback", "false", setting.Bool(&p.AllowLoopback),
			"Allows webhooks on this machine, for trying things out. The addresses on which this server listens stay forbidden."),
		many("push.networks", "", &p.Networks, setting.Network,
			"Addresses that webhooks may have, in addition to public ones, whatever they are. Prefer it to push.allow_private. For a network that is wider than every private one, such as 0.0.0.0/0, the log and config check have a warning."),
		many("push.ports", "", &p.Ports, func(to *int) setting.Value { return setting.Count(to, 1, 65535) },
			"The only ports that webhooks may have. Without it, all."),
		many("push.nat64", "", &p.NAT64, setting.Network,
			"Prefixes with which the network translates IPv4 addresses to IPv6 (RFC 6052), in addition to 64:ff9b::/96: of an address in one of them, the IPv4 address in it must be allowed, too."),
		one("push.ca", "", setting.Text(&p.CA, "a file", setting.OneLine),
			"Authorities that the certificates of webhooks may have, in PEM, in addition to those of the system."+fileInFolder),
		one("push.jwt", "false", setting.Bool(&p.JWT),
			"Sends a signed token (JWT, ES256) with each notification whose webhook has no authentication of its own, so that its receiver can check that it comes from this server; the keys are at public_url followed by /.well-known/jwks.json. It needs public_url."),
		one("push.timeout", "15s", setting.Duration(&p.Timeout, time.Second),
			"How long a webhook may take to answer a notification, at most 30s."),
	}
}

// checkPush checks what depends on several keys of push, and makes its path absolute.
func (l *loader) checkPush() {
	p := &l.config.Push
	l.locate("push.ca", &p.CA)
	for name, given := range map[string]bool{
		"push.allow_http": p.AllowHTTP, "push.allow_private": p.AllowPrivate, "push.allow_loopback": p.AllowLoopback, "push.jwt": p.JWT,
		"push.networks": len(p.Networks) > 0, "push.ports": len(p.Ports) > 0, "push.nat64": len(p.NAT64) > 0, "push.ca": p.CA != "",
	} {
		l.needs(name, given, "push.enabled", p.Enabled, "it would have no effect")
	}
	l.needs("push.jwt", p.JWT, "public_url", l.config.PublicURL != "", "receivers could not find the keys of the tokens")
	if p.Timeout > maxPushTimeout && l.sound("push.timeout") {
		l.at("push.timeout", "%s is too long; write at most %s", p.Timeout, maxPushTimeout)
	}
	for _, n := range p.NAT64 {
		if !isNAT64(n) && l.sound("push.nat64") {
			l.at("push.nat64", "%s is not a prefix of RFC 6052; write an IPv6 prefix of 32, 40, 48, 56, 64 or 96 bits", quote(n.String()))
			break
		}
	}
}

// The widest networks that are private, and so allowed on purpose: 10.0.0.0/8 and fc00::/7.
const (
	widest4 = 8
	widest6 = 7
)

// Warnings returns what is allowed and hardly meant. Push notifications are enabled.
func (p *Push) Warnings() []string {
	var wide []string
	for _, n := range p.Networks {
		if n.Addr().Is4() && n.Bits() < widest4 || n.Addr().Is6() && n.Bits() < widest6 {
			wide = append(wide, n.String())
		}
	}
	if len(wide) == 0 {
		return nil
	}
	return []string{"push.networks: with " + strings.Join(wide, " and ") + " webhooks may reach every service in the server's own networks, on this machine, and the metadata service of its cloud: name only the addresses of receivers; public ones need no entry"}
}

func isNAT64(p netip.Prefix) bool {
	switch p.Bits() {
	case 32, 40, 48, 56, 64, 96:
		return p.Addr().Is6()
	}
	return false
}
