package auth_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"a2a-server/auth"
)

func TestChallenge(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  auth.Error
		want string
	}{
		{"nothing", auth.Error{}, "Bearer"},
		{"a scheme", auth.Error{Scheme: "ApiKey"}, "ApiKey"},
		{"no scheme", auth.Error{Scheme: "Bearer\r\nSet-Cookie: a=b"}, "Bearer"},
		{"all", auth.Error{Scheme: "Bearer", Code: "invalid_token", Description: "it has expired: get another one"}, `Bearer error="invalid_token", error_description="it has expired: get another one"`},
		{"only why", auth.Error{Description: "no"}, `Bearer error_description="no"`},
		{"much", auth.Error{Description: strings.Repeat("d\n", 100_000)}, `Bearer error_description="` + strings.Repeat("d", 500) + `"`},
		{"quotes, ends of lines and more", auth.Error{Code: "a\"b\\c", Description: "one\r\ntwo\x00 “three”\x7f"}, `Bearer error="abc", error_description="onetwo three"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := tc.err.Challenge(); got != tc.want {
				t.Errorf("Challenge() = %q, want %q", got, tc.want)
			}
			if tc.err.Error() == "" {
				t.Error("Error() is empty")
			}
		})
	}
}

func TestFunc(t *testing.T) {
	t.Parallel()
	want := auth.Principal{Subject: "alice"}
	var a auth.Authenticator = auth.Func(func(_ context.Context, c *auth.Credentials) (auth.Principal, error) {
		if len(c.Header("X-Who")) == 0 {
			return auth.Principal{}, auth.ErrNone
		}
		return want, nil
	})
	if _, err := a.Authenticate(t.Context(), &auth.Credentials{Header: func(string) []string { return nil }}); !errors.Is(err, auth.ErrNone) {
		t.Errorf("Authenticate() = %v, want ErrNone", err)
	}
	if got, err := a.Authenticate(t.Context(), &auth.Credentials{Header: func(string) []string { return []string{"alice"} }}); err != nil || got.Subject != want.Subject {
		t.Errorf("Authenticate() = %v, %v, want %v", got, err, want)
	}
}

func TestActionNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for a := auth.Create; a <= auth.Admin; a++ {
		if name := a.String(); name == "" || name == "unknown" || seen[name] {
			t.Errorf("action %d is called %q", a, name)
		} else {
			seen[name] = true
		}
	}
	for _, a := range []auth.Action{0, auth.Admin + 1} {
		if a.String() != "unknown" {
			t.Errorf("action %d is called %q", a, a)
		}
	}
}
