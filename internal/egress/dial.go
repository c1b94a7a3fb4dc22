package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// RefusedError says that an address may not be dialed.
type RefusedError struct {
	Host string     // as the caller gave it
	Addr netip.Addr // the resolved address; the zero Addr if Host was not resolved
	What string     // the kind of address, such as "link-local", or the fault in it
}

// Error says which address was refused, and how to allow it.
func (e *RefusedError) Error() string {
	if !e.Addr.IsValid() {
		return fmt.Sprintf("connection to %q refused: %s", e.Host, e.What)
	}
	text := fmt.Sprintf("connection to %q refused: its address %s is %s", e.Host, e.Addr, e.What)
	if strings.HasSuffix(e.What, ownAddress) { // no configuration allows it
		return text
	}
	return text + "; to allow it, add the address to networks in the configuration, next to the URL"
}

// Dialer opens connections to the addresses that its configuration allows. It is
// safe for concurrent use.
type Dialer struct {
	guard  *guard
	net    net.Dialer
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// NewDialer returns a dialer for c. The error is that of [Config.Validate].
func NewDialer(c Config) (*Dialer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return newDialer(&c), nil
}

func newDialer(c *Config) *Dialer {
	timeout := maxDial
	if c.Timeout > 0 {
		timeout = min(timeout, c.Timeout)
	}
	return &Dialer{
		guard:  newGuard(c),
		net:    net.Dialer{Timeout: timeout},
		lookup: net.DefaultResolver.LookupNetIP,
	}
}

// DialContext connects to address, "host:port", on tcp, tcp4 or tcp6. It resolves the host
// once and checks every address that it gets; if one of them is refused, it dials none, and
// the error is a *[RefusedError]. It dials only addresses that it has checked, so DNS
// rebinding has no effect. It tries the addresses in turn, for ten seconds in total.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	family, ok := map[string]string{"tcp": "ip", "tcp4": "ip4", "tcp6": "ip6"}[network]
	if !ok {
		return nil, &RefusedError{Host: address, What: fmt.Sprintf("network %q is not one of tcp, tcp4 and tcp6", network)}
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial %q: %w", address, err)
	}
	if host == "" {
		// The standard library would dial the local host.
		return nil, &RefusedError{Host: address, What: "it has no host"}
	}
	number, err := d.port(host, port)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.net.Timeout)
	defer cancel()
	addrs, err := d.addresses(ctx, family, host, number)
	if err != nil {
		return nil, err
	}
	return d.dial(ctx, network, port, addrs)
}

// Loopback reports whether a host is this machine: localhost, or a loopback address.
func Loopback(host string) bool {
	addr, _ := netip.ParseAddr(host) // zero: it is a name
	return strings.EqualFold(host, "localhost") || addr.Unmap().IsLoopback()
}

// Check returns the error with which [Dialer.DialContext] always refuses a host and port: a
// *[RefusedError] if the host is an address, or the name localhost, that may not be dialed, or
// the port may not be. It resolves nothing, so any other name passes: its addresses are known
// only when it is dialed.
func (d *Dialer) Check(host, port string) error {
	number, err := d.port(host, port)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	addr, err := netip.ParseAddr(host)
	switch {
	case err == nil:
	case name == "localhost" || strings.HasSuffix(name, ".localhost"): // RFC 6761, section 6.3
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	default:
		return nil
	}
	return d.check(host, addr, number)
}

// check returns a *RefusedError if port of addr may not be dialed.
func (d *Dialer) check(host string, addr netip.Addr, port uint16) error {
	if what := d.guard.refusal(addr, port); what != "" {
		return &RefusedError{Host: host, Addr: addr, What: what}
	}
	return nil
}

// port returns the number of a port that may be dialed.
func (d *Dialer) port(host, port string) (uint16, error) {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return 0, &RefusedError{Host: host, What: fmt.Sprintf("port %q is not a number from 1 to 65535", port)}
	}
	if len(d.guard.ports) > 0 && !slices.Contains(d.guard.ports, uint16(number)) {
		return 0, &RefusedError{Host: host, What: fmt.Sprintf("port %d is not one of the allowed ports", number)}
	}
	return uint16(number), nil
}

// addresses returns the addresses of host, all of them checked.
func (d *Dialer) addresses(ctx context.Context, family, host string, port uint16) ([]netip.Addr, error) {
	var addrs []netip.Addr
	if addr, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{addr}
	} else if addrs, err = d.lookup(ctx, family, host); err != nil {
		return nil, fmt.Errorf("resolve %q: %w", host, err)
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("resolve %q: it has no address", host)
	}
	for i, addr := range addrs {
		if err := d.check(host, addr, port); err != nil {
			return nil, err
		}
		addrs[i] = addr.Unmap()
	}
	return addrs, nil
}

// dial tries addrs in turn and returns the first connection. Each address gets its share of
// the time left, so that an address that does not answer leaves time for the next.
func (d *Dialer) dial(ctx context.Context, network, port string, addrs []netip.Addr) (net.Conn, error) {
	var errs []error
	for i, addr := range addrs {
		one := d.net
		if deadline, ok := ctx.Deadline(); ok {
			one.Timeout = time.Until(deadline) / time.Duration(len(addrs)-i)
		}
		conn, err := one.DialContext(ctx, network, net.JoinHostPort(addr.String(), port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}
