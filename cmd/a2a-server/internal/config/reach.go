package config

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"a2a-server/internal/setting"
)

// checkGRPC checks the keys of grpc that depend on each other.
func checkGRPC(l *loader) {
	c := l.config
	l.refuse(c.GRPC.Listen != "" && c.GRPC.Listen == c.Listen && l.sound("grpc.listen", "listen") && !freePort(c.Listen), "grpc.listen", "%s is the address of listen, too; gRPC needs a port of its own", quote(c.GRPC.Listen))
}

// freePort reports whether the system picks the port of an address.
func freePort(listen string) bool {
	_, port, _ := net.SplitHostPort(listen)
	n, err := strconv.Atoi(port)
	return err == nil && n == 0
}

// checkReach refuses keys that let other machines reach a server without authentication:
// public addresses, and settings of a server behind a proxy.
func checkReach(l *loader) {
	c := l.config
	if c.Auth.Given() || c.InsecureNoAuth || l.source.Authenticated || l.source.Later || l.source.Place {
		return
	}
	const (
		listens = "; set auth (docs/security.md), listen on 127.0.0.1, or set insecure_no_auth if every caller may do everything"
		proxied = "; set auth (docs/security.md), or set insecure_no_auth if a proxy in front authenticates callers and blocks all other access"
	)
	for _, k := range []struct {
		name   string
		public bool
		why    string
	}{
		{"listen", !setting.Loopback(c.Listen), quote(c.Listen) + " can be reached by other machines, and there is no authentication" + listens},
		{"grpc.listen", c.GRPC.Listen != "" && !setting.Loopback(c.GRPC.Listen), quote(c.GRPC.Listen) + " can be reached by other machines, and there is no authentication" + listens},
		{"public_url", c.PublicURL != "" && !setting.LocalURL(c.PublicURL), "clients on other machines use " + quote(c.PublicURL) + ", and there is no authentication" + proxied},
		{"grpc.public_url", c.GRPC.PublicURL != "" && !setting.Loopback(c.GRPC.PublicURL), "clients on other machines use " + quote(c.GRPC.PublicURL) + ", and there is no authentication" + proxied},
		{"trusted_proxies", len(c.TrustedProxies) > 0, "a proxy lets other machines in, and there is no authentication" + proxied},
	} {
		l.refuse(k.public && l.sound(k.name, "insecure_no_auth"), k.name, "%s", k.why)
	}
}

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
