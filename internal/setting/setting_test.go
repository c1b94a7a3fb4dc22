package setting_test

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"a2a-server/internal/setting"
)

// TestValues has each value take a text. What it takes is written again, so that it is
// taken again; what it does not take leaves its variable as it was.
// field returns the value of a field with tags.
func field(to any, tag reflect.StructTag) setting.Value {
	return setting.Field(reflect.ValueOf(to).Elem(), tag)
}

func TestValues(t *testing.T) {
	t.Parallel()
	yes, n, bytes, d, at, word, text, host, origin, base, media, listen := false, 7, int64(7), 7*time.Second, 7*time.Second, "old", "old", "old", "old", "old", "old", "old"
	network := netip.MustParsePrefix("7.0.0.0/8")
	tests := []struct {
		value setting.Value
		text  string
		want  string // what it is written as; or, after a !, what is wrong
	}{
		{field(&yes, ``), "True", "true"},
		{field(&yes, ``), "on", `!"on" is neither true nor false; write one of the two`},
		{setting.Choice(&word, "a color", "red", "green", "blue"), "red", "red"},
		{setting.Choice(&word, "a color", "red", "green", "blue"), "Red", `!"Red" is not a color; use red, green or blue`},
		{setting.Count(&n, 1, 100), "100", "100"},
		{setting.Count(&n, 1, 100), "101", "!101 is too large; at most 100 is allowed"},
		{setting.Count(&n, 1, 100), "-99999999999999999999", "!-99999999999999999999 is too small; at least 1 is required"},
		{setting.Count(&n, 1, 100), "99999999999999999999", "!99999999999999999999 is too large; at most 100 is allowed"},
		{setting.Count(&n, 1, 100), "010", `!"010" is not a whole number; write one such as 64`},
		{setting.Count(&n, 1, 100), "+1", `!"+1" is not a whole number; write one such as 64`},
		{setting.Count(&n, 1, 100), "1_0", `!"1_0" is not a whole number; write one such as 64`},
		{setting.Count(&n, 1, 100), " 1", `!" 1" is not a whole number; write one such as 64`},
		{setting.Count(&n, 1, 100), "", `!"" is not a whole number; write one such as 64`},
		{setting.Count(&n, 1, 100), "1e1", `!"1e1" is not a whole number; write one such as 64`},
		{setting.Count(&n, 1, 100), "٣", `!"٣" is not a whole number; write one such as 64`},
		{field(&bytes, `min:"1KiB" max:"1GiB" or:"0"`), "0", "0"},
		{field(&bytes, `min:"1KiB" max:"1GiB" or:"0"`), "2048 KiB", "2MiB"},
		{field(&bytes, `min:"1KiB" max:"1GiB" or:"0"`), "1", "!1 is too small; at least 1KiB is required"},
		{field(&bytes, `min:"1KiB" max:"1GiB" or:"0"`), "-1GiB", "!-1GiB is too small; at least 1KiB is required"},
		{field(&bytes, `min:"1KiB" max:"1GiB" or:"0"`), "-99999999999999999999GiB", "!-99999999999999999999GiB is too small; at least 1KiB is required"},
		{field(&bytes, `min:"1KiB" max:"1GiB" or:"0"`), "9223372036854775807GiB", "!9223372036854775807GiB is too large; at most 1GiB is allowed"},
		{field(&bytes, `min:"1KiB" max:"1GiB" or:"0"`), "1.5GiB", `!"1.5GiB" is not a size; write bytes, or KiB, MiB or GiB such as 4MiB`},
		{field(&bytes, `min:"1KiB" max:"1GiB" or:"0"`), "MiB", `!"MiB" is not a size; write bytes, or KiB, MiB or GiB such as 4MiB`},
		{field(&bytes, `min:"1KiB" max:"1GiB"`), "0", "!0 is too small; at least 1KiB is required"},
		{field(&bytes, `min:"1KiB" max:"1GiB" or:"0"`), "1GB", `!"1GB" is not a size; write bytes, or KiB, MiB or GiB such as 4MiB`},
		{setting.Duration(&d, time.Second), "3600s", "1h"},
		{setting.Duration(&d, time.Second), "10", "!10 has no unit; write 10s for seconds, or use ms, m or h"},
		{setting.Duration(&d, time.Second), "1ms", "!1ms is too short; at least 1s is required"},
		{setting.Duration(&d, time.Second), "9999999h", `!"9999999h" is not a duration; use h, m, s and ms, such as 1h30m or 10s`},
		{setting.Duration(&d, time.Second), "1d", `!"1d" is not a duration; use h, m, s and ms, such as 1h30m or 10s`},
		{field(&at, `or:"never" never:"-1"`), "never", "never"},
		{field(&at, `or:"never" never:"-1"`), "90m", "1h30m"},
		{field(&at, `or:"never" never:"-1"`), "-1ns", "!-1ns is too short; at least 1ms is required; or never"},
		{setting.Text(&text, "a text", setting.NotEmpty("a name"), setting.OneLine), "a name", "a name"},
		{setting.Text(&text, "a text", setting.NotEmpty("a name"), setting.OneLine), " ", "!is empty; write a name"},
		{setting.Text(&text, "a text", setting.NotEmpty("a name"), setting.OneLine), "a\nb", `!"a\u000ab" has a line break or a tab; write it on one line`},
		{setting.Text(&text, "a text"), strings.Repeat("x", 1<<20) + "\x00", `!"` + strings.Repeat("x", 60) + `… (1048577 bytes)" has the control character U+0000; remove it`},
		{setting.Text(&text, "a text"), "\xff", "!\"\ufffd\" is not UTF-8"},
		{setting.Host(&host), "Agent.Example.COM", "agent.example.com"},
		{setting.Host(&host), "::1", "[::1]"},
		{setting.Host(&host), "[", `!"[" is not a host; write a name or an address, without scheme, port or *`},
		{setting.Host(&host), strings.Repeat("a", 64), `!"` + strings.Repeat("a", 60) + `… (64 bytes)" is not a host; write a name or an address, without scheme, port or *`},
		{setting.Host(&host), "a..b", `!"a..b" is not a host; write a name or an address, without scheme, port or *`},
		{setting.Host(&host), "10.0.0.256", `!"10.0.0.256" is not a host; write a name or an address, without scheme, port or *`},
		{setting.Origin(&origin), "https://a:8443", "https://a:8443"},
		{setting.Origin(&origin), "https://a:443", `!"https://a:443" names the default port, which browsers leave out; write https://a`},
		{setting.BaseURL(&base), "https://a/b//", "https://a/b"},
		{setting.BaseURL(&base), "https://u:p@a", "!the URL has a user or a password, which the agent card would publish; remove them"},
		{field(&network, ``), "10.0.0.0/8", "10.0.0.0/8"},
		{field(&network, ``), "10.0.0.1/8", `!"10.0.0.1/8" has an address within the network; write 10.0.0.0/8 for the network, or the address alone`},
		{field(&network, ``), "::ffff:127.0.0.1", "127.0.0.1"},
		{field(&network, ``), "::ffff:10.0.0.0/104", `!"::ffff:10.0.0.0/104" is an IPv4 network; write it as 10.0.0.0/8`},
		{field(&network, ``), "fe80::1%eth0", `!"fe80::1%eth0" is neither an address nor a network; write it as 127.0.0.1 or 10.0.0.0/8`},
		{setting.MediaRange(&media), "image/*", "image/*"},
		{setting.MediaRange(&media), "Image/*", `!"Image/*" has capitals or spaces; write image/*`},
		{setting.Listen(&listen), "[::1]:0", "[::1]:0"},
		{setting.Listen(&listen), "::1", `!"::1" is not host:port; write it as 127.0.0.1:8080`},
	}
	for _, tt := range tests {
		before := tt.value.String()
		err := tt.value.UnmarshalText([]byte(tt.text))
		wrong, refused := strings.CutPrefix(tt.want, "!")
		switch {
		case refused && (err == nil || err.Error() != wrong || tt.value.String() != before):
			t.Errorf("%s of %.99q: %v, and it is %s; want %q, and %s", tt.value.Form(), tt.text, err, tt.value, wrong, before)
		case !refused && (err != nil || tt.value.String() != tt.want):
			t.Errorf("%s of %.99q: %v, and it is %s; want %s", tt.value.Form(), tt.text, err, tt.value, tt.want)
		case !refused:
			if err := tt.value.UnmarshalText([]byte(tt.value.String())); err != nil || tt.value.String() != tt.want {
				t.Errorf("%s does not take %s, which it writes: %v", tt.value.Form(), tt.want, err)
			}
		}
	}
}
