package config

import (
	"net"
	"strconv"
)

// GRPC says where the server speaks gRPC.
type GRPC struct {
	Listen     string // host:port; "": nowhere
	PublicURL  string // host:port in the agent card; "": the host of its other URLs, with the port of Listen
	Reflection bool   // clients may ask which services there are
}

// checkGRPC checks the keys of grpc that depend on each other.
func checkGRPC(l *loader) {
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
