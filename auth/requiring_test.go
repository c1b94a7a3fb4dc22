package auth_test

import (
	"context"
	"errors"
	"testing"

	"a2a-server/auth"
)

// changing is an Authenticator that says when it changes, and how to ask it.
type changing struct{ auth.Authenticator }

func (changing) Changed() <-chan struct{} { return nil }
func (changing) Challenges() []string     { return []string{"Odd"} }

// A request that lacks what is required is refused for that alone; for everything else it is
// the Authenticator's.
func TestRequiring(t *testing.T) {
	t.Parallel()
	asked := false
	inner := changing{auth.Func(func(context.Context, *auth.Credentials) (auth.Principal, error) {
		asked = true
		return auth.Principal{Subject: "alice"}, nil
	})}
	lacks := &auth.Error{Description: "it lacks something"}
	var err error
	outer := changing{}
	a := auth.Requiring(func(*auth.Credentials) error { return err }, outer, auth.First(inner))
	if p, got := a.Authenticate(t.Context(), &auth.Credentials{}); got != nil || p.Subject != "alice" {
		t.Errorf("Authenticate() = %+v, %v", p, got)
	}
	err, asked = lacks, false
	if p, got := a.Authenticate(t.Context(), &auth.Credentials{}); !errors.Is(got, error(lacks)) || !p.IsZero() || asked {
		t.Errorf("Authenticate() without what is required = %+v, %v; asked %v", p, got, asked)
	}
	if all := auth.ChangingOf(a); len(all) != 2 {
		t.Errorf("ChangingOf() = %v, want the one inside and that of the check", all)
	}
	if all := auth.ChangingOf(auth.Requiring(func(*auth.Credentials) error { return nil }, nil, inner)); len(all) != 1 {
		t.Errorf("ChangingOf() = %v, want the one inside", all)
	}
	if all := auth.ChallengesOf(a); len(all) != 1 || all[0] != "Odd" {
		t.Errorf("ChallengesOf() = %v, want those inside", all)
	}
}
