package config_test

import (
	"fmt"
	"testing"
	"time"

	"a2a-server/internal/app/config"
)

// TestValues gives single values as flags and looks whether they are taken, and as
// what.
func TestValues(t *testing.T) {
	t.Parallel()
	listen := func(c *config.Config) any { return c.Listen }
	public := func(c *config.Config) any { return c.PublicURL }
	turns := func(c *config.Config) any { return c.Limits.Turns }
	body := func(c *config.Config) any { return c.Limits.Body }
	memory := func(c *config.Config) any { return c.Limits.Memory }
	grace := func(c *config.Config) any { return c.Limits.Grace }
	expires := func(c *config.Config) any { return c.Terms.Expires }
	keywords := func(c *config.Config) any { return c.Keywords }
	storeOf := func(c *config.Config) any { return c.Store }
	agent := func(c *config.Config) any { return c.Agent.Name }

	proxies := func(c *config.Config) any { return fmt.Sprint(c.TrustedProxies) }

	tests := []struct {
		key, text string
		get       func(*config.Config) any
		want      any // nil: refused
	}{
		{"listen", "127.0.0.1:0", listen, "127.0.0.1:0"},
		{"listen", "localhost:65535", listen, "localhost:65535"},
		{"listen", "[::1]:80", listen, "[::1]:80"},
		{"listen", "127.8.9.10:80", listen, "127.8.9.10:80"},
		{"listen", "[::ffff:127.0.0.1]:80", listen, "[::ffff:127.0.0.1]:80"},
		{"listen", "0.0.0.0:80", listen, nil},
		{"listen", ":80", listen, nil},
		{"listen", "[::]:80", listen, nil},
		{"listen", "agent.example.com:80", listen, nil},
		{"listen", "localhost.example.com:80", listen, nil},
		{"listen", "127.0.0.1", listen, nil},
		{"listen", "127.0.0.1:", listen, nil},
		{"listen", "127.0.0.1:65536", listen, nil},
		{"listen", "127.0.0.1:080", listen, nil},
		{"listen", "127.0.0.1:http", listen, nil},
		{"listen", "::1:80", listen, nil},
		{"listen", "a b:80", listen, nil},
		{"listen", "-a:80", listen, nil},
		{"trusted_proxies", "", proxies, "[]"},
		{"trusted_proxies", "127.0.0.1, ::1,10.0.0.0/8", proxies, "[127.0.0.1/32 ::1/128 10.0.0.0/8]"},
		{"trusted_proxies", "::ffff:127.0.0.1", proxies, "[127.0.0.1/32]"},
		{"trusted_proxies", "10.0.0.1/8", proxies, nil},
		{"trusted_proxies", "::ffff:10.0.0.0/104", proxies, nil},
		{"trusted_proxies", "fe80::1%eth0", proxies, nil},
		{"trusted_proxies", "proxy.example.com", proxies, nil},
		{"trusted_proxies", "127.0.0.1,127.0.0.1/32", proxies, nil},
		{"public_url", "", public, ""},
		{"public_url", "https://a.example.com/", public, "https://a.example.com"},
		{"public_url", "http://a.example.com:81/x/y//", public, "http://a.example.com:81/x/y"},
		{"public_url", "http://[::1]:81", public, "http://[::1]:81"},
		{"public_url", "https://a.example.com/?x", public, nil},
		{"public_url", "https://a.example.com/?", public, nil},
		{"public_url", "https://a.example.com/#x", public, nil},
		{"public_url", "https://a.example.com#", public, nil},
		{"public_url", "ftp://a.example.com", public, nil},
		{"public_url", "a.example.com", public, nil},
		{"public_url", "https://", public, nil},
		{"public_url", "https://a:99999", public, nil},
		{"public_url", "https://a:", public, nil},
		{"public_url", "https://a b", public, nil},
		{"limits.turns", "1", turns, 1},
		{"limits.turns", "0", turns, nil},
		{"limits.turns", "-1", turns, nil},
		{"limits.turns", "+1", turns, nil},
		{"limits.turns", "0x10", turns, nil},
		{"limits.turns", "1_000", turns, nil},
		{"limits.turns", " 1", turns, nil},
		{"limits.turns", "", turns, nil},
		{"limits.turns", "2147483648", turns, nil},
		{"limits.body", "4096", body, int64(4096)},
		{"limits.body", "64KiB", body, int64(64 << 10)},
		{"limits.body", "64 KiB", body, int64(64 << 10)},
		{"limits.body", "64MiB", body, int64(64 << 20)},
		{"limits.body", "64mib", body, nil},
		{"limits.body", "64M", body, nil},
		{"limits.body", "1.5MiB", body, nil},
		{"limits.body", "MiB", body, nil},
		{"limits.body", "0", body, nil},
		{"limits.body", "65MiB", body, nil},
		{"limits.body", "-9223372036854775808", body, nil},
		{"limits.body", "-9223372036854775808GiB", body, nil},
		{"limits.body", "9223372036854775807GiB", body, nil},
		{"limits.memory", "0", memory, int64(0)},
		{"limits.memory", "2GiB", memory, int64(2 << 30)},
		{"limits.memory", "1", memory, nil},
		{"limits.grace", "0s", grace, time.Duration(0)},
		{"limits.grace", "1h30m", grace, 90 * time.Minute},
		{"limits.grace", "-1s", grace, nil},
		{"limits.grace", "never", grace, nil},
		{"limits.grace", "9999999h", grace, nil},
		{"deadlines.expires", "never", expires, time.Duration(0)},
		{"deadlines.expires", "1ms", expires, time.Millisecond},
		{"deadlines.expires", "0s", expires, nil},
		{"deadlines.expires", "-1s", expires, nil},
		{"keywords", "false", keywords, false},
		{"keywords", "TRUE", keywords, true},
		{"keywords", "1", keywords, nil},
		{"keywords", "", keywords, nil},
		{"store", "memory", storeOf, "memory"},
		{"store", "bolt:/var/lib/a b.db", storeOf, "bolt:/var/lib/a b.db"},
		{"store", "bolt:", storeOf, nil},
		{"store", "boltdb", storeOf, nil},
		{"agent.name", "007", agent, "007"},
		{"agent.name", "Größe 家", agent, "Größe 家"},
		{"agent.name", " ", agent, nil},
		{"agent.name", "a\xff", agent, nil},
		{"agent.name", "a\u0085", agent, nil},
	}
	for _, tt := range tests {
		t.Run(tt.key+"="+tt.text, func(t *testing.T) {
			t.Parallel()
			from := config.Source{Flags: map[string]string{tt.key: tt.text}, Authenticated: tt.key != "listen"}
			if tt.want == nil {
				if all := problems(t, from).Problems; len(all) != 1 {
					t.Errorf("problems = %v, want one", all)
				}
				return
			}
			if got := tt.get(load(t, from)); got != tt.want {
				t.Errorf("Load() took %v, want %v", got, tt.want)
			}
		})
	}
}

// TestTextsAsWritten shows that a text is what stands in the file, whatever YAML
// would make of it.
func TestTextsAsWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1.10", "no", "true", "012", "2001-01-01", ".inf", "0x10", `"null"`, "'~'"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			want := text
			if text[0] == '"' || text[0] == '\'' {
				want = text[1 : len(text)-1]
			}
			if got := load(t, config.Source{File: write(t, "agent: {name: "+text+"}\n")}).Agent.Name; got != want {
				t.Errorf("name = %q, want %q", got, want)
			}
		})
	}
}
