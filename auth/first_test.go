package auth_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/auth"
)

// by answers always the same.
func by(p auth.Principal, err error) auth.Authenticator {
	return auth.Func(func(context.Context, *auth.Credentials) (auth.Principal, error) { return p, err })
}

func TestFirst(t *testing.T) {
	t.Parallel()
	alice, bob := auth.Principal{Subject: "keys:alice"}, auth.Principal{Subject: "oidc:bob"}
	none, wrong, down := by(auth.Principal{}, auth.ErrNone), &auth.Error{Code: "invalid_token"}, errors.New("down")
	for _, tc := range []struct {
		name string
		all  []auth.Authenticator
		want auth.Principal
		err  error
	}{
		{"none at all", nil, auth.Principal{}, auth.ErrNone},
		{"no credential", []auth.Authenticator{none, none}, auth.Principal{}, auth.ErrNone},
		{"nobody is no credential", []auth.Authenticator{by(auth.Principal{}, nil)}, auth.Principal{}, auth.ErrNone},
		{"nobody, then somebody", []auth.Authenticator{by(auth.Principal{Tenant: "acme"}, nil), by(alice, nil)}, alice, nil},
		{"the first", []auth.Authenticator{by(alice, nil), none}, alice, nil},
		{"the last", []auth.Authenticator{none, by(bob, nil)}, bob, nil},
		{"a wrong one is not made good", []auth.Authenticator{by(auth.Principal{}, wrong), by(bob, nil)}, auth.Principal{}, wrong},
		{"a wrong one makes a good one wrong", []auth.Authenticator{by(bob, nil), by(auth.Principal{}, wrong)}, auth.Principal{}, wrong},
		{"one that cannot be checked", []auth.Authenticator{by(auth.Principal{}, down), by(bob, nil)}, auth.Principal{}, down},
		{"a principal with an error is none", []auth.Authenticator{by(bob, wrong)}, auth.Principal{}, wrong},
		{"two", []auth.Authenticator{by(alice, nil), by(bob, nil)}, auth.Principal{}, auth.ErrTwo},
		{"the same one twice", []auth.Authenticator{by(alice, nil), by(alice, nil)}, auth.Principal{}, auth.ErrTwo},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := auth.First(tc.all...).Authenticate(t.Context(), &auth.Credentials{})
			if diff := cmp.Diff(tc.want, got); diff != "" || !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) {
				t.Errorf("Authenticate() = %+v, %v, want %+v, %v", got, err, tc.want, tc.err)
			}
		})
	}
}

// challenger has challenges, and never a caller.
type challenger []string

func (c challenger) Authenticate(context.Context, *auth.Credentials) (auth.Principal, error) {
	return auth.Principal{}, auth.ErrNone
}

func (c challenger) Challenges() []string { return c }

func TestChallenges(t *testing.T) {
	t.Parallel()
	plain := by(auth.Principal{}, auth.ErrNone)
	for name, tc := range map[string]struct {
		a    auth.Authenticator
		want []string
	}{
		"nil":                 {nil, []string{"Bearer"}},
		"not a challenger":    {plain, []string{"Bearer"}},
		"one that names none": {challenger{}, []string{"Bearer"}},
		"one":                 {challenger{`ApiKey realm="a"`}, []string{`ApiKey realm="a"`}},
		"none of several":     {auth.First(), []string{"Bearer"}},
		"each once, in order": {auth.First(challenger{"ApiKey"}, plain, challenger{"Bearer", "Basic"}, challenger{"ApiKey"}), []string{"ApiKey", "Bearer", "Basic"}},
		"nested":              {auth.First(auth.First(challenger{"A"}), challenger{"B", "A"}), []string{"A", "B"}},
	} {
		if diff := cmp.Diff(tc.want, auth.ChallengesOf(tc.a)); diff != "" {
			t.Errorf("%s: ChallengesOf (-want +got):\n%s", name, diff)
		}
	}
}
