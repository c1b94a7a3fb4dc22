package egress

import (
	"context"
	"errors"
	"net"
	"strings"
)

// Class returns the kind of failure of a request's error, for readers who may not know the
// network of the server: it has no name, no address, and no bytes from the other side.
func Class(err error) string {
	_, large := errors.AsType[*TooLargeError](err)
	_, refused := errors.AsType[*RefusedError](err)
	network, isNetwork := errors.AsType[net.Error](err)
	_, unresolved := errors.AsType[*net.DNSError](err)
	dial, isDial := errors.AsType[*net.OpError](err)
	switch {
	case large:
		return "answer too large"
	case refused:
		return "address refused"
	case errors.Is(err, context.DeadlineExceeded), isNetwork && network.Timeout():
		return "timeout"
	case unresolved:
		return "name not resolved"
	case strings.Contains(err.Error(), "tls: "), strings.Contains(err.Error(), "x509: "):
		return "TLS"
	case isDial && dial.Op == "dial":
		return "connection failed"
	}
	return "request failed"
}
