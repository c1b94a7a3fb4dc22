package proxy_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/auth"
	"a2a-server/auth/proxy"
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// ask authenticates a request from an address; "": of a Unix socket.
func ask(t *testing.T, a auth.Authenticator, from string, h http.Header) (auth.Principal, error) {
	t.Helper()
	var remote netip.AddrPort
	if from != "" {
		remote = netip.MustParseAddrPort(from)
	}
	return a.Authenticate(t.Context(), &auth.Credentials{Header: h.Values, Remote: remote})
}

func made(t *testing.T, c proxy.Config) *proxy.Authenticator {
	t.Helper()
	a, err := proxy.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The header counts from the named proxies only.
func TestPeers(t *testing.T) {
	t.Parallel()
	a := made(t, proxy.Config{Header: "X-Forwarded-User", From: prefixes("10.1.2.3/32", "fd00::/64", "fe80::1/128"), Tenant: "acme", Roles: []string{"requester"}})
	alice := http.Header{"X-Forwarded-User": {"alice"}}
	want := auth.Principal{Tenant: "acme", Subject: "proxy:alice", Roles: []string{"requester"}, Method: "proxy"}
	for _, from := range []string{"10.1.2.3:1", "[::ffff:10.1.2.3]:1", "[fd00::9]:1", "[fe80::1%eth0]:1"} {
		got, err := ask(t, a, from, alice)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("Authenticate() from %s = %v (-want +got):\n%s", from, err, diff)
		}
	}
	for _, from := range []string{"", "10.1.2.4:1", "127.0.0.1:1", "[::1]:1", "[fd00:0:0:1::9]:1", "[fe80::2%eth0]:1"} {
		// Nothing in the header matters, not even whether it is valid.
		for _, h := range []http.Header{alice, {"X-Forwarded-User": {"a", "b"}}, {}, {"X-Forwarded-User": {""}}} {
			if got, err := ask(t, a, from, h); !errors.Is(err, auth.ErrNone) || !got.IsZero() {
				t.Errorf("Authenticate() from %q with %v = %v, %v, want ErrNone", from, h, got, err)
			}
		}
	}
	if _, err := ask(t, a, "10.1.2.3:1", http.Header{"X-User": {"alice"}}); !errors.Is(err, auth.ErrNone) {
		t.Errorf("Authenticate() without the header = %v, want ErrNone", err)
	}
	if _, err := ask(t, &proxy.Authenticator{}, "10.1.2.3:1", alice); !errors.Is(err, auth.ErrNone) {
		t.Errorf("the zero Authenticator: %v, want ErrNone", err)
	}
}

// What cannot be one name is refused, and the refusal does not repeat it.
func TestNames(t *testing.T) {
	t.Parallel()
	a := made(t, proxy.Config{Header: "x-forwarded-user", From: prefixes("10.0.0.0/8"), TenantHeader: "x-tenant", GroupsHeader: "x-groups", Map: map[string][]string{"sre": {"approver", "operator"}, "ops": {"operator"}}})
	for name, tc := range map[string]struct {
		h    http.Header
		want auth.Principal
		says string
	}{
		"a name":            {h: http.Header{"X-Forwarded-User": {"José (ops)"}}, want: auth.Principal{Subject: "proxy:José (ops)"}},
		"the longest":       {h: http.Header{"X-Forwarded-User": {strings.Repeat("n", 256)}}, want: auth.Principal{Subject: "proxy:" + strings.Repeat("n", 256)}},
		"anonymous":         {h: http.Header{"X-Forwarded-User": {"anonymous"}}, want: auth.Principal{Subject: "proxy:anonymous"}},
		"groups":            {h: http.Header{"X-Forwarded-User": {"a"}, "X-Groups": {"staff, sre,,ops"}, "X-Tenant": {"acme"}}, want: auth.Principal{Subject: "proxy:a", Tenant: "acme", Roles: []string{"approver", "operator"}}},
		"groups of nobody":  {h: http.Header{"X-Forwarded-User": {"a"}, "X-Groups": {"admin"}}, want: auth.Principal{Subject: "proxy:a"}},
		"two names":         {h: http.Header{"X-Forwarded-User": {"mallory", "alice"}}, says: "several values"},
		"two in one":        {h: http.Header{"X-Forwarded-User": {"mallory, alice"}}, says: "several values"},
		"the same twice":    {h: http.Header{"X-Forwarded-User": {"alice", "alice"}}, says: "several values"},
		"empty":             {h: http.Header{"X-Forwarded-User": {""}}, says: "empty"},
		"spaces":            {h: http.Header{"X-Forwarded-User": {"   "}}, says: "empty"},
		"a space in front":  {h: http.Header{"X-Forwarded-User": {" alice"}}, says: "invisible"},
		"Latin 1":           {h: http.Header{"X-Forwarded-User": {"Jos\xe9"}}, says: "UTF-8"},
		"long":              {h: http.Header{"X-Forwarded-User": {strings.Repeat("n", 257)}}, says: "256 bytes"},
		"a control":         {h: http.Header{"X-Forwarded-User": {"ali\x00ce"}}, says: "invisible"},
		"a tab":             {h: http.Header{"X-Forwarded-User": {"ali\tce"}}, says: "invisible"},
		"invisible":         {h: http.Header{"X-Forwarded-User": {"ali\u200bce"}}, says: "invisible"},
		"the wrong way":     {h: http.Header{"X-Forwarded-User": {"\u202eecila"}}, says: "invisible"},
		"two tenants":       {h: http.Header{"X-Forwarded-User": {"alice"}, "X-Tenant": {"a", "b"}}, says: "X-Tenant has several"},
		"an empty tenant":   {h: http.Header{"X-Forwarded-User": {"alice"}, "X-Tenant": {""}}, says: "X-Tenant is empty"},
		"two lists":         {h: http.Header{"X-Forwarded-User": {"alice"}, "X-Groups": {"sre", "ops"}}, says: "X-Groups is duplicated"},
		"much":              {h: http.Header{"X-Forwarded-User": {"alice"}, "X-Groups": {strings.Repeat("g,", 8<<10)}}, says: "8192 bytes"},
		"an invalid group":  {h: http.Header{"X-Forwarded-User": {"alice"}, "X-Groups": {"sre,\xff"}}, says: "UTF-8"},
		"a group with NUL":  {h: http.Header{"X-Forwarded-User": {"alice"}, "X-Groups": {"s\x00re"}}, says: "invisible"},
		"groups of no name": {h: http.Header{"X-Groups": {"sre"}}, says: "no credential"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ask(t, a, "10.0.0.1:1", tc.h)
			if tc.says == "" {
				tc.want.Method = "proxy"
				if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
					t.Errorf("Authenticate() = %v (-want +got):\n%s", err, diff)
				}
				if err := got.Validate(); err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.says) || !got.IsZero() {
				t.Errorf("Authenticate() = %v, %v, want an error with %q", got, err, tc.says)
			}
			var refused *auth.Error
			if !errors.Is(err, auth.ErrNone) && (!errors.As(err, &refused) || strings.Contains(err.Error(), "alice") || strings.Contains(refused.Challenge(), "\x00") || strings.Contains(refused.Challenge(), "\xff")) {
				t.Errorf("the error is %#v: want an *auth.Error that does not repeat the header", err)
			}
		})
	}
}

// A name from a proxy and a key are two credentials, and nobody can tell who is meant.
func TestTwo(t *testing.T) {
	t.Parallel()
	key := auth.Func(func(_ context.Context, c *auth.Credentials) (auth.Principal, error) {
		if len(c.Header("X-API-Key")) == 0 {
			return auth.Principal{}, auth.ErrNone
		}
		return auth.Principal{Subject: "key:ci"}, nil
	})
	all := auth.First(made(t, proxy.Config{Header: "X-U", From: prefixes("10.0.0.0/8")}), key)
	both := http.Header{"X-U": {"alice"}, "X-Api-Key": {"k"}}
	if _, err := ask(t, all, "10.0.0.1:1", both); !errors.Is(err, auth.ErrTwo) {
		t.Errorf("Authenticate() with both = %v, want ErrTwo", err)
	}
	if got, err := ask(t, all, "192.0.2.1:1", both); err != nil || got.Subject != "key:ci" {
		t.Errorf("Authenticate() with both, not from the proxy = %v, %v, want the key's", got, err)
	}
	if got := auth.ChallengesOf(made(t, proxy.Config{Header: "X-U", From: prefixes("10.0.0.0/8")})); len(got) != 1 || got[0] == "Bearer" {
		t.Errorf("challenges: %q", got)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]proxy.Config{
		"no header":  {From: prefixes("10.0.0.0/8")},
		"no proxies": {Header: "X-U"},
		"everybody":  {Header: "X-U", From: prefixes("10.0.0.0/8", "0.0.0.0/0")},
		"everybody6": {Header: "X-U", From: prefixes("::/0")},
		"no map":     {Header: "X-U", From: prefixes("10.0.0.0/8"), GroupsHeader: "X-G"},
		"nothing":    {Header: "X-U", From: []netip.Prefix{{}}},
	} {
		if _, err := proxy.New(c); err == nil {
			t.Errorf("%s: New() = nil, want an error", name)
		}
	}
}
