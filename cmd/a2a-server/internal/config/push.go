package config

import (
	"net/netip"
	"slices"
	"strings"
	"time"
)

// maxPushTimeout bounds the time of a notification.
const maxPushTimeout = 30 * time.Second

// checkPush checks the keys of push that depend on each other.
func checkPush(l *loader) {
	p := &l.config.Push
	l.refuse(p.Timeout > maxPushTimeout && l.sound("push.timeout"), "push.timeout", "%s is too long; write at most %s", p.Timeout, maxPushTimeout)
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

// PushWarnings returns the risky settings of push notifications, which are enabled.
func PushWarnings(c *Config) []string {
	var wide []string
	for _, n := range c.Push.Networks {
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
	return p.Addr().Is6() && slices.Contains([]int{32, 40, 48, 56, 64, 96}, p.Bits())
}
