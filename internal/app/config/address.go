package config

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// checkListen wants host:port. An empty host is every address of the machine.
func checkListen(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return wrong("%s is not host:port; write it as 127.0.0.1:8080", quote(text))
	}
	if !isPort(port) {
		return wrong("%s has no port from 0 to 65535; write it as 127.0.0.1:8080", quote(text))
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "" && !isName(host) {
		return wrong("%s has no host that could exist; write it as 127.0.0.1:8080", quote(text))
	}
	return nil
}

// loopback reports whether only this machine can reach an address that checkListen
// has passed. A name other than localhost may mean anything, so it is not.
func loopback(listen string) bool {
	host, _, _ := net.SplitHostPort(listen)
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// baseURL is an http URL to which paths are appended, or "".
func baseURL() form[string] {
	f := words("a URL such as https://agent.example.com/a2a, or nothing", func(text string) error {
		if text == "" {
			return nil
		}
		u, err := webURL(text)
		switch {
		case err != nil:
			return err
		case u.User != nil:
			return wrong("the URL has a user or a password, which everybody could read in the agent card; remove them")
		case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
			return wrong("%s has a query or a fragment; paths are appended to this URL, so end it before ? and #", quote(text))
		}
		return nil
	})
	parse := f.parse
	f.parse = func(text string) (string, error) {
		text, err := parse(text)
		return strings.TrimRight(text, "/"), err
	}
	return f
}

func webURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || strings.ContainsAny(text, " \n\t"):
		return nil, wrong("%s is not a URL; write it as https://agent.example.com", quote(text))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, wrong("%s does not begin with http:// or https://", quote(text))
	case !isHost(u.Hostname()) || u.Port() != "" && !isPort(u.Port()) || strings.HasSuffix(u.Host, ":"):
		return nil, wrong("%s has no host, or an impossible port; write it as https://agent.example.com:8443", quote(text))
	}
	return u, nil
}

// hostname is a name or an address without a port, in lower case, as the Host header
// of a request is compared with it.
func hostname() form[string] {
	return form[string]{
		value: "a host without a port, such as agent.example.com",
		parse: func(text string) (string, error) {
			host := strings.ToLower(text)
			bare := host
			if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
				bare = host[1 : len(host)-1]
			}
			addr, err := netip.ParseAddr(bare)
			switch {
			case text == "":
				return "", wrong("a host is empty; remove it")
			case err == nil && addr.Is6():
				return "[" + bare + "]", nil
			case !isHost(host):
				return "", wrong("%s is not a host; write a name or an address, without scheme, port or *", quote(text))
			}
			return host, nil
		},
		write: func(host string) string { return host },
	}
}

// network is an address, or all that begin alike.
func network() form[netip.Prefix] {
	return form[netip.Prefix]{
		value: "an address or a network, such as 127.0.0.1 or 10.0.0.0/8",
		parse: func(text string) (netip.Prefix, error) {
			if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
				addr = addr.Unmap()
				return netip.PrefixFrom(addr, addr.BitLen()), nil
			}
			p, err := netip.ParsePrefix(text)
			switch {
			case err != nil:
				return p, wrong("%s is neither an address nor a network; write it as 127.0.0.1 or 10.0.0.0/8", quote(text))
			case p != p.Masked():
				return p, wrong("%s has an address within the network; write %s for the network, or the address alone", quote(text), p.Masked())
			case p.Addr().Is4In6():
				return p, wrong("%s is an IPv4 network; write it as 10.0.0.0/8", quote(text))
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

// webOrigin is scheme://host[:port] exactly as browsers write it in Origin.
func webOrigin() form[string] {
	return words("an origin such as https://console.example.com", func(text string) error {
		scheme, host, ok := strings.Cut(text, "://")
		u, err := url.Parse(text)
		switch {
		case !ok || err != nil || scheme == "" || !isHost(u.Hostname()) || u.User != nil || u.Port() != "" && !isPort(u.Port()) || strings.HasSuffix(host, ":"):
			return wrong("%s is not an origin; write scheme://host or scheme://host:port, without *", quote(text))
		case strings.ContainsAny(host, "/?#"):
			return wrong("%s has more than a scheme and a host; write %s://%s", quote(text), clip(scheme), clip(u.Host))
		case strings.ToLower(text) != text:
			return wrong("%s has capital letters, which browsers do not send; write %s", quote(text), clip(strings.ToLower(text)))
		case scheme == "http" && u.Port() == "80" || scheme == "https" && u.Port() == "443":
			return wrong("%s names the default port, which browsers leave out; write %s", quote(text), clip(strings.TrimSuffix(text, ":"+u.Port())))
		}
		return nil
	})
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == text
}

// isHost reports whether text is a name or an address.
func isHost(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil || isName(text)
}

// isName reports whether text could be the name of a host. Underscores are not in the
// standard, but in the names that container networks give.
func isName(text string) bool {
	if len(text) > 253 {
		return false
	}
	numeric := true
	for label := range strings.SplitSeq(strings.TrimSuffix(text, "."), ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, r := range label {
			if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' {
				return false
			}
		}
		numeric = strings.Trim(label, "0123456789") == ""
	}
	// A name that ends in a number is an address that is wrong, such as 127.0.0.256.
	return !numeric
}
