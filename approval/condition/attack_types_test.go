package condition_test

import (
	"testing"

	"a2a-server/approval/condition"
	"a2a-server/auth"
	"a2a-server/internal/strictjson"
)

// A condition fails if an argument has another type (docs/policy.md): a gate that denies must not be evaded
// with "true" for true, "10000" for 10000, a list around a text, an object for a list, or a text for an object.
func TestAttackOtherTypesAreNoFailure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ when, args string }{
		{`args.force == true`, `{"force": "true"}`},
		{`args.amount == 10000`, `{"amount": "10000"}`},
		{`args.amount in [10000, 20000]`, `{"amount": "10000"}`},
		{`args.to == "eve"`, `{"to": ["eve"]}`},
		{`args.to in ["eve", "mallory"]`, `{"to": ["eve"]}`},
		{`args.to.exists(x, x == "eve")`, `{"to": {"0": "eve"}}`},
		{`has(args.to.iban) && args.to.iban.startsWith("DE")`, `{"to": "DE02"}`},
	} {
		args, err := strictjson.DecodeObject([]byte(tt.args))
		if err != nil {
			t.Fatal(err)
		}
		f := condition.NewFacts(args, "pay", "desk", auth.Principal{Subject: "alice"}, func() bool { return false })
		if is, err := condition.MustCompile(tt.when).Match(f); err == nil && !is {
			t.Errorf("%s is false about %s; want that it fails", tt.when, tt.args)
		}
	}
}
