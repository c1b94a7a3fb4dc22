package a2a_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"a2a-server/a2a"
	"a2a-server/internal/httpd"
)

// Without a URL of its own the card has the one that the client has used, as far as the
// host is one of the server's and what a proxy says comes from one that is named: ADK
// refuses a card of another origin (C4).
func TestCardHasTheURLOfItsClient(t *testing.T) {
	t.Parallel()
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	elsewhere := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	hosts := []string{"localhost", "[::1]", "agent.example"}
	for _, tt := range []struct {
		name    string
		url     string
		hosts   []string
		proxies []netip.Prefix
		host    string
		header  map[string]string
		status  int
		want    string // "": the address of the server
	}{
		{name: "host", hosts: hosts, host: "localhost:8080", status: 200, want: "http://localhost:8080"},
		{name: "without a port", hosts: hosts, host: "Agent.Example", status: 200, want: "http://agent.example"},
		{name: "IPv6", hosts: hosts, host: "[::1]:80", status: 200, want: "http://[::1]:80"},
		{name: "no port that could be", hosts: hosts, host: "localhost:99999", status: 200},
		{name: "a port that nobody writes", hosts: hosts, host: "localhost:08080", status: 200},
		{name: "a colon and no port", hosts: hosts, host: "localhost:", status: 200, want: "http://localhost"},
		{name: "foreign host", hosts: hosts, host: "attacker.example", status: 403},
		{name: "any host", host: "attacker.example", status: 200},
		{name: "URL", url: "https://public.example/a", hosts: hosts, proxies: loopback, host: "localhost", header: map[string]string{"X-Forwarded-Host": "agent.example"}, status: 200, want: "https://public.example/a"},
		{
			name: "proxy", hosts: hosts, proxies: loopback, host: "10.0.0.7:8080",
			header: map[string]string{"X-Forwarded-Host": "agent.example:8443", "X-Forwarded-Proto": "https"}, status: 200, want: "https://agent.example:8443",
		},
		{
			name: "proxy that adds to what it got", hosts: hosts, proxies: loopback, host: "localhost",
			header: map[string]string{"X-Forwarded-Host": "attacker.example, agent.example", "X-Forwarded-Proto": "ftp,HTTPS"}, status: 200, want: "https://agent.example",
		},
		{
			name: "proxy that adds a header to what it got", hosts: hosts, proxies: loopback, host: "localhost",
			header: map[string]string{"X-Forwarded-Host": "attacker.example\nagent.example", "X-Forwarded-Proto": "ftp\nhttps"}, status: 200, want: "https://agent.example",
		},
		{
			name: "proxy that passes a foreign host on", hosts: hosts, proxies: loopback, host: "localhost",
			header: map[string]string{"X-Forwarded-Host": "attacker.example"}, status: 403,
		},
		{
			name: "no proxy of ours", hosts: hosts, proxies: elsewhere, host: "localhost",
			header: map[string]string{"X-Forwarded-Host": "agent.example", "X-Forwarded-Proto": "https"}, status: 200, want: "http://localhost",
		},
		{
			name: "nobody is named", hosts: hosts, host: "localhost",
			header: map[string]string{"X-Forwarded-Host": "agent.example", "X-Forwarded-Proto": "https"}, status: 200, want: "http://localhost",
		},
		{
			name: "another standard", hosts: hosts, proxies: loopback, host: "localhost",
			header: map[string]string{"Forwarded": "host=agent.example;proto=https"}, status: 200, want: "http://localhost",
		},
		{
			name: "no scheme that is served", hosts: hosts, proxies: loopback, host: "localhost",
			header: map[string]string{"X-Forwarded-Proto": "javascript"}, status: 200, want: "http://localhost",
		},
		{
			name: "the scheme of a proxy is not that of our own address", proxies: loopback, host: "agent.example",
			header: map[string]string{"X-Forwarded-Proto": "https"}, status: 200,
		},
		{
			name: "no port, behind a proxy", hosts: hosts, proxies: loopback, host: "localhost",
			header: map[string]string{"X-Forwarded-Host": "agent.example:80@evil", "X-Forwarded-Proto": "https"}, status: 200,
		},
		{
			name: "more than a host", hosts: hosts, proxies: loopback, host: "localhost",
			header: map[string]string{"X-Forwarded-Host": "agent.example/evil"}, status: 403,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := start(t, func(c *a2a.Config) {
				c.Card.URL, c.Guard = tt.url, httpd.Guard{Hosts: tt.hosts, Proxies: tt.proxies}
			})
			r := newRequest(t, http.MethodGet, srv.URL+"/.well-known/agent-card.json", "")
			r.Host = tt.host
			for name, values := range tt.header {
				for value := range strings.Lines(values) { // a header each
					r.Header.Add(name, strings.TrimSpace(value))
				}
			}
			got := do(t, r)
			if got.status != tt.status {
				t.Fatalf("status = %d, want %d: %s", got.status, tt.status, got.body)
			}
			if tt.status != http.StatusOK {
				return
			}
			want := tt.want
			if want == "" {
				want = srv.URL
			}
			var card struct {
				SupportedInterfaces []struct{ URL string }
			}
			if err := json.Unmarshal([]byte(got.body), &card); err != nil || len(card.SupportedInterfaces) != 4 {
				t.Fatalf("card = %s, %v", got.body, err)
			}
			for _, i := range card.SupportedInterfaces {
				if i.URL != want {
					t.Errorf("URL = %s, want %s", i.URL, want)
				}
			}
			vary := strings.Join(got.header.Values("Vary"), ", ")
			for name, depends := range map[string]bool{"Host": tt.url == "", "X-Forwarded-Host": tt.url == "" && tt.proxies != nil, "X-Forwarded-Proto": tt.url == "" && tt.proxies != nil} {
				if slices.Contains(strings.Split(vary, ", "), name) != depends {
					t.Errorf("Vary = %s; want %s in it: %v", vary, name, depends)
				}
			}
		})
	}
}

// The ETag is of the card that its client gets: nobody keeps a card with another URL.
func TestTagOfTheCardFollowsTheHost(t *testing.T) {
	t.Parallel()
	srv := start(t, func(c *a2a.Config) {
		c.Card.URL, c.Guard = "", httpd.Guard{Hosts: []string{"a.example", "b.example"}}
	})
	get := func(host, etag string) answer {
		r := newRequest(t, http.MethodGet, srv.URL+"/.well-known/agent-card.json", "", "If-None-Match", etag)
		r.Host = host
		return do(t, r)
	}
	first := get("a.example", "")
	if again := get("a.example", first.header.Get("ETag")); again.status != http.StatusNotModified || again.header.Get("Vary") != "Host" {
		t.Errorf("the same card again = %d, Vary %q, want 304 and Host", again.status, again.header.Get("Vary"))
	}
	if other := get("b.example", first.header.Get("ETag")); other.status != http.StatusOK {
		t.Errorf("the card by another name = %d, want 200", other.status)
	}
}

// A proxy is known by its address, however the socket writes that; and an address with a
// zone is part of a URL only with its percent sign escaped.
func TestCardBehindAnotherFormOfAnAddress(t *testing.T) {
	t.Parallel()
	srv := start(t, func(c *a2a.Config) {
		c.Card.URL = ""
		c.Guard = httpd.Guard{Hosts: []string{"agent.example", "localhost"}, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("fe80::/10")}}
	})
	for name, c := range map[string]struct{ remote, host, forwarded, want string }{
		"IPv4 in IPv6": {"[::ffff:127.0.0.1]:5", "localhost", "agent.example", `"url":"http://agent.example"`},
		"with a zone":  {"[fe80::7%eth0]:5", "localhost", "agent.example", `"url":"http://agent.example"`},
		"our zone":     {"[fe80::7%eth0]:5", "localhost:99999", "", `"url":"http://[fe80::1%25eth0]:8080"`},
	} {
		ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0", Port: 8080})
		r := newRequest(t, http.MethodGet, "/.well-known/agent-card.json", "", "X-Forwarded-Host", c.forwarded).WithContext(ctx)
		r.RemoteAddr, r.Host = c.remote, c.host
		w := record(srv.Config.Handler, r)
		if !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s, want %s", name, w.Code, w.Body, c.want)
		}
	}
}
