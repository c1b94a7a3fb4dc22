package config_test

import (
	"net/netip"
	"strings"
	"testing"

	"a2a-server/cmd/a2a-server/internal/config"
)

// A network of receivers that is wider than every private one is warned of, in one line.
func TestPushWarnings(t *testing.T) {
	t.Parallel()
	for networks, want := range map[string]string{
		"": "",
		"10.0.0.0/8 fc00::/7 192.168.1.4/32 ::1/128": "",
		"0.0.0.0/0": "with 0.0.0.0/0 webhooks may reach",
		"::/0":      "with ::/0 webhooks may reach",
		"0.0.0.0/1 10.0.0.0/8 128.0.0.0/1 f000::/4": "with 0.0.0.0/1 and 128.0.0.0/1 and f000::/4 webhooks may reach",
	} {
		c := &config.Config{}
		for _, text := range strings.Fields(networks) {
			c.Push.Networks = append(c.Push.Networks, netip.MustParsePrefix(text))
		}
		got := config.PushWarnings(c)
		if len(got) > 1 || want == "" && len(got) > 0 || want != "" && (len(got) == 0 || !strings.Contains(got[0], want) || !strings.Contains(got[0], "metadata") || strings.Contains(got[0], "\n")) {
			t.Errorf("%q: %q, want %q", networks, got, want)
		}
	}
}
