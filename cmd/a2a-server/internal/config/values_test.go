package config_test

import (
	"testing"
	"time"

	"a2a-server/cmd/a2a-server/internal/config"
)

// TestValues gives single values as flags and looks whether they are taken, and as
// what.
func TestValues(t *testing.T) {
	t.Parallel()
	listen := func(c *config.Config) any { return c.Listen }
	public := func(c *config.Config) any { return c.PublicURL }
	expires := func(c *config.Config) any { return c.Deadlines.Expires }
	keywords := func(c *config.Config) any { return c.Keywords }
	storeOf := func(c *config.Config) any { return c.Store }
	agent := func(c *config.Config) any { return c.Agent.Name }

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
		{"limits.grace", "2562047h", agent, nil},
		{"auth.keys.file", "", agent, nil},
		{"tls.cert", "", agent, nil},
		{"tls.key", " ", agent, nil},
		{"planner.llm.url", "https://u:p@h/v1", agent, nil},
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
