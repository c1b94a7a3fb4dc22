package config

import (
	"net"
	"strconv"

	"a2a-server/internal/setting"
)

// GRPC says where the server speaks gRPC.
type GRPC struct {
	Listen     string // host:port; "": nowhere
	PublicURL  string // host:port in the agent card; "": the host of its other URLs, with the port of Listen
	Reflection bool   // clients may ask which services there are
}

// keys returns the keys below grpc.
func (g *GRPC) keys() []key {
	return []key{
		one("grpc.listen", "", setting.Text(&g.Listen, "host:port, or nothing", optional(checkHostPort)),
			"The address at which the server speaks gRPC: A2A 1.0 and 0.3, and grpc.health.v1, which follows /readyz. Port 0 picks a free one. Without it the server does not speak gRPC. It speaks TLS if tls.cert is set, and needs authentication as listen does."),
		one("grpc.public_url", "", setting.Text(&g.PublicURL, "host:port, or nothing", optional(checkHostPort)),
			"The host and port at which clients reach gRPC, in the agent card. Without it the card has the host of its other URLs and the port of grpc.listen."),
		one("grpc.reflection", "false", setting.Bool(&g.Reflection),
			"Lets authenticated clients such as grpcurl ask which services there are (grpc.reflection.v1)."),
	}
}

// optional returns a check that accepts nothing, too.
func optional(check func(string) error) func(string) error {
	return func(text string) error {
		if text == "" {
			return nil
		}
		return check(text)
	}
}

func checkHostPort(text string) error {
	var to string
	return setting.Listen(&to).UnmarshalText([]byte(text))
}

// checkGRPC checks what depends on several keys of grpc.
func (l *loader) checkGRPC() {
	c := l.config
	if c.GRPC.Listen != "" && c.GRPC.Listen == c.Listen && l.sound("grpc.listen", "listen") && !freePort(c.Listen) {
		l.at("grpc.listen", "%s is the address of listen, too; gRPC needs a port of its own", quote(c.GRPC.Listen))
	}
}

// freePort reports whether the system picks the port of an address.
func freePort(listen string) bool {
	_, port, _ := net.SplitHostPort(listen)
	n, err := strconv.Atoi(port)
	return err == nil && n == 0
}
