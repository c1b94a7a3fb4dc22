package operation

import (
	"errors"
	"slices"
	"strings"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2a/internal/wire"
)

// What a webhook may be, and which field an error names.
func TestWebhook(t *testing.T) {
	t.Parallel()
	bearer := func(credentials string) *sdk.PushAuthInfo {
		return &sdk.PushAuthInfo{Scheme: "Bearer", Credentials: credentials}
	}
	keys := func() ([]byte, error) { return nil, nil }
	const good = "https://hook.example.com/a?b=c"
	private := &Push{Refuses: func(host, port string) bool { return host == "10.0.0.1" || host == "fc00::1" || port == "22" }}
	for name, tc := range map[string]struct {
		push  *Push
		set   sdk.PushConfig
		wrong []string // fields; none: it is accepted
	}{
		"plain":                       {nil, sdk.PushConfig{URL: good}, nil},
		"everything":                  {nil, sdk.PushConfig{ID: "a.b:c~1", URL: good, Token: "t o", Auth: bearer("x y=")}, nil},
		"an IPv4 address":             {nil, sdk.PushConfig{URL: "https://8.8.8.8:8443/"}, nil},
		"an IPv6 address":             {nil, sdk.PushConfig{URL: "https://[2606:4700::1111]/"}, nil},
		"a name that ends in a dot":   {nil, sdk.PushConfig{URL: "https://hook.example.com."}, nil},
		"no URL":                      {nil, sdk.PushConfig{}, []string{"url"}},
		"http":                        {nil, sdk.PushConfig{URL: "http://hook.example.com"}, []string{"url"}},
		"http that is allowed":        {&Push{HTTP: true}, sdk.PushConfig{URL: "http://hook.example.com"}, nil},
		"another scheme":              {&Push{HTTP: true}, sdk.PushConfig{URL: "file:///etc/passwd"}, []string{"url"}},
		"gopher":                      {&Push{HTTP: true}, sdk.PushConfig{URL: "gopher://x/"}, []string{"url"}},
		"without a scheme":            {nil, sdk.PushConfig{URL: "hook.example.com/x"}, []string{"url"}},
		"without slashes":             {nil, sdk.PushConfig{URL: "https:hook.example.com"}, []string{"url"}},
		"without a host":              {nil, sdk.PushConfig{URL: "https:///x"}, []string{"url"}},
		"only a port":                 {nil, sdk.PushConfig{URL: "https://:443/"}, []string{"url"}},
		"an empty port":               {nil, sdk.PushConfig{URL: "https://example.com:/"}, []string{"url"}},
		"a user":                      {nil, sdk.PushConfig{URL: "https://user@hook.example.com"}, []string{"url"}},
		"a user and a password":       {nil, sdk.PushConfig{URL: "https://a:b@hook.example.com"}, []string{"url"}},
		"an empty user":               {nil, sdk.PushConfig{URL: "https://@hook.example.com"}, []string{"url"}},
		"a fragment":                  {nil, sdk.PushConfig{URL: good + "#x"}, []string{"url"}},
		"an empty fragment":           {nil, sdk.PushConfig{URL: good + "#"}, []string{"url"}},
		"a line break":                {nil, sdk.PushConfig{URL: good + "\r\nX-Evil: 1"}, []string{"url"}},
		"a tab in the scheme":         {nil, sdk.PushConfig{URL: "ht\ttps://hook.example.com"}, []string{"url"}},
		"a space":                     {nil, sdk.PushConfig{URL: "https://hook.example.com/a b"}, []string{"url"}},
		"a backslash":                 {nil, sdk.PushConfig{URL: `https://hook.example.com\@evil.example`}, []string{"url"}},
		"a host in Cyrillic":          {nil, sdk.PushConfig{URL: "https://ехаmple.com"}, []string{"url"}},
		"a host with an escape":       {nil, sdk.PushConfig{URL: "https://127.0.0.1%2f.example.com/"}, []string{"url"}},
		"a short address":             {nil, sdk.PushConfig{URL: "https://127.1/"}, []string{"url"}},
		"a decimal address":           {nil, sdk.PushConfig{URL: "https://2130706433/"}, []string{"url"}},
		"a hexadecimal address":       {nil, sdk.PushConfig{URL: "https://0x7f000001/"}, []string{"url"}},
		"an octal address":            {nil, sdk.PushConfig{URL: "https://0177.0.0.1/"}, []string{"url"}},
		"an address with large parts": {nil, sdk.PushConfig{URL: "https://999.1.1.1/"}, []string{"url"}},
		"an address with a zone":      {nil, sdk.PushConfig{URL: "https://[fe80::1%25eth0]/"}, []string{"url"}},
		"a forbidden address":         {private, sdk.PushConfig{URL: "https://10.0.0.1/"}, []string{"url"}},
		"a forbidden IPv6 address":    {private, sdk.PushConfig{URL: "https://[fc00::1]/"}, []string{"url"}},
		"a forbidden port":            {private, sdk.PushConfig{URL: "https://hook.example.com:22/"}, []string{"url"}},
		"a port that is none":         {nil, sdk.PushConfig{URL: "https://hook.example.com:x/"}, []string{"url"}},
		"an endless URL":              {nil, sdk.PushConfig{URL: good + strings.Repeat("x", MaxPushURL)}, []string{"url"}},
		"a token with a line break":   {nil, sdk.PushConfig{URL: good, Token: "a\r\nX-Evil: 1"}, []string{"token"}},
		"a token with a newline":      {nil, sdk.PushConfig{URL: good, Token: "a\n"}, []string{"token"}},
		"a token with a NUL":          {nil, sdk.PushConfig{URL: good, Token: "a\x00"}, []string{"token"}},
		"a token in UTF-8":            {nil, sdk.PushConfig{URL: good, Token: "ü"}, []string{"token"}},
		"a token with a space":        {nil, sdk.PushConfig{URL: good, Token: "a "}, []string{"token"}},
		"an endless token":            {nil, sdk.PushConfig{URL: good, Token: strings.Repeat("x", MaxPushToken+1)}, []string{"token"}},
		"an id with a slash":          {nil, sdk.PushConfig{URL: good, ID: "a/b"}, []string{"id"}},
		"an id with a line break":     {nil, sdk.PushConfig{URL: good, ID: "a\r\n"}, []string{"id"}},
		"an endless id":               {nil, sdk.PushConfig{URL: good, ID: strings.Repeat("x", MaxPushID+1)}, []string{"id"}},
		"a scheme with a line break":  {nil, sdk.PushConfig{URL: good, Auth: &sdk.PushAuthInfo{Scheme: "Bearer\r\nX", Credentials: "x"}}, []string{"authentication.scheme"}},
		"two schemes":                 {nil, sdk.PushConfig{URL: good, Auth: &sdk.PushAuthInfo{Scheme: "Bearer, Basic", Credentials: "x"}}, []string{"authentication.scheme"}},
		"no scheme":                   {nil, sdk.PushConfig{URL: good, Auth: &sdk.PushAuthInfo{Credentials: "x"}}, []string{"authentication.scheme"}},
		"credentials with CR":         {nil, sdk.PushConfig{URL: good, Auth: bearer("x\ry")}, []string{"authentication.credentials"}},
		"endless credentials":         {nil, sdk.PushConfig{URL: good, Auth: bearer(strings.Repeat("x", MaxPushCredentials+1))}, []string{"authentication.credentials"}},
		"no credentials":              {nil, sdk.PushConfig{URL: good, Auth: bearer("")}, []string{"authentication.credentials"}},
		"no credentials, with tokens": {&Push{Keys: keys}, sdk.PushConfig{URL: good, Auth: bearer("")}, nil},
		"Basic without credentials":   {&Push{Keys: keys}, sdk.PushConfig{URL: good, Auth: &sdk.PushAuthInfo{Scheme: "Basic"}}, []string{"authentication.credentials"}},
		"everything is wrong":         {nil, sdk.PushConfig{URL: "x", Token: "\n", ID: "/", Auth: &sdk.PushAuthInfo{Scheme: "\n", Credentials: "\n"}}, []string{"url", "id", "token", "authentication.scheme", "authentication.credentials"}},
	} {
		if tc.push == nil {
			tc.push = &Push{}
		}
		out, err := tc.push.webhook(&tc.set, "0.3", "in.")
		var fields []string
		if w, is := errors.AsType[*wire.Error](err); is {
			for _, v := range w.Limited().Violations {
				fields = append(fields, strings.TrimPrefix(v.Field, "in."))
			}
			if secret := tc.set.Token; len(secret) > 2 && strings.Contains(w.Message, secret) {
				t.Errorf("%s: the message repeats the token: %s", name, w.Message)
			}
		}
		if !slices.Equal(fields, tc.wrong) {
			t.Errorf("%s: the errors are about %v, want %v: %v", name, fields, tc.wrong, err)
		}
		if err == nil && (out.URL != tc.set.URL || out.Token != tc.set.Token || out.ID != tc.set.ID || out.Version != "0.3" || tc.set.Auth != nil && out.Credentials != tc.set.Auth.Credentials) {
			t.Errorf("%s: becomes %+v", name, out)
		}
	}
}
