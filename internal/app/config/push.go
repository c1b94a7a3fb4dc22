package config

import (
	"net/netip"
	"slices"
	"strings"
	"time"
)

// maxPushTimeout bounds the time of a notification.
const maxPushTimeout = 30 * time.Second

// Push configures push notifications: which webhooks are called, and how.
type Push struct {
	Enabled       bool           `yaml:"enabled" doc:"Sends push notifications, to https and public addresses unless the keys below allow more."`
	AllowHTTP     bool           `yaml:"allow_http" needs:"push.enabled" doc:"Allows http; tokens can be read on the way."`
	AllowPrivate  bool           `yaml:"allow_private" needs:"push.enabled" doc:"Allows private addresses; every caller can then POST into these networks."`
	AllowLoopback bool           `yaml:"allow_loopback" needs:"push.enabled" doc:"Allows this machine, except the server's own addresses."`
	Networks      []netip.Prefix `yaml:"networks" needs:"push.enabled" doc:"Further allowed addresses. Prefer this to push.allow_private."`
	Ports         []int          `yaml:"ports" min:"1" max:"65535" needs:"push.enabled" doc:"The only ports that are allowed. Default: all."`
	NAT64         []netip.Prefix `yaml:"nat64" needs:"push.enabled" doc:"Prefixes of translated IPv4 addresses (RFC 6052), beside 64:ff9b::/96."`
	CA            string         `yaml:"ca" text:"path" needs:"push.enabled" doc:"Authorities of webhooks beside the system's, in PEM."`
	JWT           bool           `yaml:"jwt" needs:"push.enabled | public_url: receivers could not find the keys of the tokens" doc:"Signs a token (JWT, ES256) for webhooks without authentication. Needs public_url."`
	Timeout       time.Duration  `yaml:"timeout" default:"15s" min:"1s" doc:"How long a webhook may take to answer, at most 30s."`
}

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

// Warnings returns the risky settings. Push notifications are enabled.
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
	return p.Addr().Is6() && slices.Contains([]int{32, 40, 48, 56, 64, 96}, p.Bits())
}
