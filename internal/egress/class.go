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
	var (
		refused *RefusedError
		network net.Error
		dial    *net.OpError
		name    *net.DNSError
	)
	if _, large := errors.AsType[*TooLargeError](err); large {
		return "answer too large"
	}
	switch {
	case errors.As(err, &refused):
		return "address refused"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "timeout"
	case errors.As(err, &name):
		return "name not resolved"
	case strings.Contains(err.Error(), "tls: "), strings.Contains(err.Error(), "x509: "):
		return "TLS"
	case errors.As(err, &dial) && dial.Op == "dial":
		return "connection failed"
	}
	return "request failed"
}
