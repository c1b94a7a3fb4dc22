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

// maxGrace is longer than any supervisor waits.
const maxGrace = 24 * time.Hour

// validate checks values that depend on each other. It runs after all layers have been read,
// and ignores refused values.
func (l *loader) validate() {
	c := l.config
	l.checkNeeds()
	l.checkAuth()
	checkAdmin(l)
	checkPush(l)
	l.refuse(len(c.Notify) > maxRoutes, "notify", "has %d routes; write at most %d", len(c.Notify), maxRoutes)
	l.refuse(l.sound("card.sign", "public_url") && c.Card.Sign && c.PublicURL == "", "card.sign", "needs public_url: the signature says where its public key is; set public_url to the URL at which clients reach the server")
	l.refuse(l.config.Limits.Grace > maxGrace, "limits.grace", "%s is too long; write at most %s", l.config.Limits.Grace, maxGrace)
	checkReach(l)
	checkGRPC(l)
	checkModel(l, &l.config.Planner, l.config.origins["planner.kind"].layer != "")
	l.checkTools()
	for _, check := range l.references {
		check()
	}
}

// noEffect is the problem of a key without a key that it needs.
const noEffect = "%s; set %s, or remove this"

// checkNeeds refuses keys with another value than their default that have no effect without a key that
// has its default.
func (l *loader) checkNeeds() {
	blank, given := keysOf(&Config{}), map[string]bool{}
	setDefaults(blank)
	for i, k := range l.keys {
		given[k.name] = !sameValue(k, blank[i])
	}
	for _, k := range l.keys {
		for _, need := range k.needs() {
			l.refuse(given[k.name] && !given[need[0]] && l.sound(k.name, need[0]), k.name, noEffect, need[1], need[0])
		}
	}
}

// checkModel checks the keys of the planner llm that depend on each other. named says that the
// configuration names a planner.
func checkModel(l *loader, p *Planner, named bool) {
	m, asks := &p.LLM, p.Kind == "llm"
	for name, given := range map[string]bool{"planner.llm.url": m.URL != "", "planner.llm.model": m.Model != ""} {
		l.refuse(l.sound("planner.kind", name) && asks && !given, "planner.kind", "llm needs %s", name)
		l.refuse(!named && given && !asks && l.sound(name, "planner.kind"), name, "it would not be read, because planner.kind is direct by default; set planner.kind, or remove this")
	}
	l.refuse(l.sound("planner.llm.context", "planner.llm.max_tokens") && m.MaxTokens > m.Context/2, "planner.llm.max_tokens", "leaves less than half of planner.llm.context for the conversation; lower it, or raise planner.llm.context")
}

// sound reports whether all values for these keys are valid.
func (l *loader) sound(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(k string) bool { return l.refused[k] })
}

// atKey adds a problem at the name of a key in the file.
func (l *loader) atKey(path, format string, args ...any) {
	at := l.config.origins[path]
	at.at = at.key
	l.add(at, path, format, args...)
}

// refuse is at, if a rule is broken.
func (l *loader) refuse(broken bool, name, format string, args ...any) {
	if broken {
		l.at(name, format, args...)
	}
}

// refuseKey is atKey, if a rule is broken.
func (l *loader) refuseKey(broken bool, path, format string, args ...any) {
	if broken {
		l.atKey(path, format, args...)
	}
}

// at adds a problem at the place where the key was set.
func (l *loader) at(name, format string, args ...any) {
	l.add(l.config.origins[name], name, format, args...)
}

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
