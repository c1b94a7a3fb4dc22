package condition_test

import (
	"fmt"
	"strings"
	"testing"

	"a2a-server/approval/condition"
	"a2a-server/auth"
)

// Conditions on deciders have the decider beside the call, in the same part of CEL.
func TestDecider(t *testing.T) {
	t.Parallel()
	bob := auth.Principal{Tenant: "acme", Subject: "key:bob", Roles: []string{"finance", "a"}}
	said := func(text string) string {
		c, err := condition.CompileDecider(text)
		if err != nil {
			return "wrong: " + err.Error()
		}
		if again, err := condition.CompileDecider(text); err != nil || again != c {
			t.Errorf("%s is compiled twice (%v)", text, err)
		}
		is, err := c.Match(facts(t, call).For(bob))
		return fmt.Sprint(is, err)
	}
	for text, want := range map[string]string{
		"args.tags.exists(t, t in decider.roles)":                                        "true <nil>",
		"args.to in decider.roles":                                                       "false <nil>",
		"decider.subject == 'key:bob' && decider.tenant == 'acme'":                       "true <nil>",
		"decider.subject != caller.subject && tool == 'pay'":                             "true <nil>",
		"args.region in decider.roles":                                                   "false an argument is missing, at 1:5",
		"args.region in decider.regions":                                                 "wrong: there is no \"decider.regions\" here; known are decider.subject, decider.tenant, decider.roles, args,",
		"args.a.matches(args.b)":                                                         "not a literal",
		"decider.roles":                                                                  "not true or false",
		"decider.subject == 'key:bob' || '" + strings.Repeat("x", 2000) + "' == args.to": "wrong: ",
	} {
		if got := said(text); !strings.Contains(got, want) {
			t.Errorf("%s is %s, want %q", text, got, want)
		}
	}
	for i := range 1100 { // more than are kept
		if got := said(fmt.Sprintf("decider.subject == 'key:bob' && args.amount < %d", i)); got != fmt.Sprint(i > 100, " <nil>") {
			t.Fatalf("condition %d is %s", i, got)
		}
	}
}
