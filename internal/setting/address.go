package setting

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Listen returns a value that is host:port. An empty host means all addresses of the
// machine.
func Listen(to *string) Value {
	return Text(to, "host:port", NotEmpty("host:port"), CheckListen)
}

// CheckListen refuses a text that is not host:port.
func CheckListen(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("%s is not host:port; write it as 127.0.0.1:8080", quote(text))
	}
	if !isPort(port) {
		return fmt.Errorf("%s has no port from 0 to 65535; write it as 127.0.0.1:8080", quote(text))
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "" && !isName(host) {
		return fmt.Errorf("%s has an invalid host; write it as 127.0.0.1:8080", quote(text))
	}
	return nil
}

// Loopback reports whether only this machine can reach an address that [Listen] has
// accepted. It is false for names other than localhost, which may have any address.
func Loopback(listen string) bool {
	host, _, _ := net.SplitHostPort(listen)
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// LocalURL reports whether the host of a URL is an address of this machine alone.
func LocalURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && Loopback(net.JoinHostPort(u.Hostname(), "0"))
}

// BaseURL returns a value that is "" or an http or https URL to which paths are appended; a
// trailing slash is removed.
func BaseURL(to *string) Value {
	return textAs(to, "a URL", func(text string) (string, error) {
		if text == "" {
			return "", nil
		}
		u, err := url.Parse(text)
		switch {
		case err != nil || strings.ContainsAny(text, " \n\t"):
			return "", fmt.Errorf("%s is not a URL; write it as https://agent.example.com", quote(text))
		case u.Scheme != "http" && u.Scheme != "https":
			return "", fmt.Errorf("%s does not begin with http:// or https://", quote(text))
		case !hasHost(u) || strings.HasSuffix(u.Host, ":"):
			return "", fmt.Errorf("%s has no host, or an invalid port; write it as https://agent.example.com:8443", quote(text))
		case u.User != nil:
			return "", fmt.Errorf("the URL has a user or a password, which the agent card would publish; remove them")
		case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
			return "", fmt.Errorf("%s has a query or a fragment; paths are appended to this URL, so end it before ? and #", quote(text))
		}
		return strings.TrimRight(text, "/"), nil
	})
}

// Host returns a value that is a name or an address without a port. It is stored in lower
// case, as it is compared with the Host header of requests.
func Host(to *string) Value {
	return textAs(to, "a host", func(text string) (string, error) {
		host := strings.ToLower(text)
		bare := host
		if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
			bare = host[1 : len(host)-1]
		}
		addr, err := netip.ParseAddr(bare)
		switch {
		case text == "":
			return "", fmt.Errorf("a host is empty; remove it")
		case err == nil && addr.Is6():
			return "[" + bare + "]", nil
		case !isHost(host):
			return "", fmt.Errorf("%s is not a host; write a name or an address, without scheme, port or *", quote(text))
		}
		return host, nil
	})
}

// network returns a value that is an address, or a network in CIDR notation.
func network(to *netip.Prefix) Value {
	return variable[netip.Prefix]{
		to: to, how: "a network such as 10.0.0.0/8",
		parse: func(text string) (netip.Prefix, error) {
			if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
				addr = addr.Unmap()
				return netip.PrefixFrom(addr, addr.BitLen()), nil
			}
			p, err := netip.ParsePrefix(text)
			switch {
			case err != nil:
				return p, fmt.Errorf("%s is neither an address nor a network; write it as 127.0.0.1 or 10.0.0.0/8", quote(text))
			case p != p.Masked():
				return p, fmt.Errorf("%s has an address within the network; write %s for the network, or the address alone", quote(text), p.Masked())
			case p.Addr().Is4In6():
				return p, fmt.Errorf("%s is an IPv4 network; write it as 10.0.0.0/8", quote(text))
			}
			return p, nil
		},
		write: func(p netip.Prefix) string {
			if p.IsSingleIP() {
				return p.Addr().String()
			}
			return p.String()
		},
	}
}

// Origin returns a value that is scheme://host[:port] exactly as browsers send it in the
// Origin header.
func Origin(to *string) Value {
	return Text(to, "an origin", func(text string) error {
		scheme, host, ok := strings.Cut(text, "://")
		u, err := url.Parse(text)
		switch {
		case !ok || err != nil || scheme == "" || !hasHost(u) || u.User != nil || strings.HasSuffix(host, ":"):
			return fmt.Errorf("%s is not an origin; write scheme://host or scheme://host:port, without *", quote(text))
		case strings.ContainsAny(host, "/?#"):
			return fmt.Errorf("%s has more than a scheme and a host; write %s://%s", quote(text), clip(scheme), clip(u.Host))
		case strings.ToLower(text) != text:
			return fmt.Errorf("%s has capital letters, which browsers do not send; write %s", quote(text), clip(strings.ToLower(text)))
		case scheme == "http" && u.Port() == "80" || scheme == "https" && u.Port() == "443":
			return fmt.Errorf("%s names the default port, which browsers leave out; write %s", quote(text), clip(strings.TrimSuffix(text, ":"+u.Port())))
		}
		return nil
	})
}

func hasHost(u *url.URL) bool { return isHost(u.Hostname()) && (u.Port() == "" || isPort(u.Port())) }

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == text
}

// isHost reports whether text is a name or an address.
func isHost(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil || isName(text)
}

var (
	labels   = regexp.MustCompile(`^([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.|$))+$`)
	inNumber = regexp.MustCompile(`(^|\.)[0-9]+\.?$`)
)

// isName reports whether text can be a host name. Underscores are not standard, but container
// networks use them. A name that ends in a number is an invalid address, such as 127.0.0.256.
func isName(text string) bool {
	return len(text) <= 253 && labels.MatchString(text) && !inNumber.MatchString(text)
}
