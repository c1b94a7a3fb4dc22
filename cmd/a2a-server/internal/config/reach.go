package config

import (
	"net"
	"strconv"

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
