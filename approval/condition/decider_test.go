package condition_test

import (
	"errors"
	"strings"
	"testing"

	"a2a-server/approval/condition"
	"a2a-server/auth"
)

// Conditions on deciders have the decider beside the call, in the same part of CEL.
func TestDecider(t *testing.T) {
	t.Parallel()
	bob := auth.Principal{Tenant: "acme", Subject: "key:bob", Roles: []string{"finance", "a"}}
	for text, want := range map[string]any{
		"args.tags.exists(t, t in decider.roles)":                  true,
		"args.to in decider.roles":                                 false,
		"decider.subject == 'key:bob' && decider.tenant == 'acme'": true,
		"decider.subject != caller.subject":                        true,
		"decider.roles.exists(r, r.startsWith('fin'))":             true,
		"tool == 'pay' && args.amount < 1000":                      true,
		"args.region in decider.roles":                             "an argument is missing, at 1:5",
		"args.amount.startsWith('1')":                              "a value is of another type",
	} {
		c, err := condition.CompileDecider(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := c.Match(facts(t, call).For(bob))
		if words, fails := want.(string); fails {
			if err == nil || got || !strings.Contains(err.Error(), words) {
				t.Errorf("%s = %v, %v, want %q", text, got, err, words)
			}
		} else if err != nil || got != want {
			t.Errorf("%s = %v, %v, want %v", text, got, err, want)
		}
		if again, err := condition.CompileDecider(text); err != nil || again != c {
			t.Errorf("%s is compiled twice (%v)", text, err)
		}
	}
	for text, want := range map[string]string{
		"args.region in decider.regions": "decider.subject, decider.tenant, decider.roles, args, tool",
		"args.a.matches(args.b)":         "not a literal",
		"decider.roles + ['x'] == []":    "does not take",
		"args.force":                     "not true or false",
	} {
		_, err := condition.CompileDecider(text)
		if is, ok := errors.AsType[*condition.Error](err); !ok || !strings.Contains(is.Message, want) || is.Line != 1 {
			t.Errorf("CompileDecider(%s) = %v, want %q", text, err, want)
		}
	}
	if _, err := condition.Compile("decider.subject == 'bob'"); err == nil {
		t.Error("a condition on calls may name the decider, who is not known then")
	}
	for i := range 1100 { // more than are kept
		name := strings.Repeat("x", i)
		c, err := condition.CompileDecider("decider.subject == '" + name + "'")
		if err != nil {
			t.Fatal(err)
		}
		if is, err := c.Match(facts(t, call).For(auth.Principal{Subject: name})); err != nil || !is {
			t.Fatalf("condition %d = %v, %v", i, is, err)
		}
	}
}
