package condition_test

import (
	"testing"

	"cel.dev/cel-go/cel"

	"a2a-server/approval/condition"
	"a2a-server/auth"
)

// BenchmarkMatch compares conditions with bare evaluations of CEL.
func BenchmarkMatch(b *testing.B) {
	env, err := cel.NewEnv(cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)), cel.CrossTypeNumericComparisons(true))
	if err != nil {
		b.Fatal(err)
	}
	args := map[string]any{"amount": 100.0, "to": "bob", "tags": []any{"a", "b", "c"}}
	for name, text := range map[string]string{
		"compare": "args.amount > 1000", "join": "args.amount > 10 && args.to == 'eve' || args.to.startsWith('x')", "list": "args.tags.exists(t, t == 'x')", "in": "'x' in args.tags", "pattern": "args.to.matches('^[a-z]+$')",
	} {
		tree, issues := env.Compile(text)
		if issues.Err() != nil {
			b.Fatal(issues.Err())
		}
		bare, err := env.Program(tree, cel.EvalOptions(cel.OptOptimize))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/bare", func(b *testing.B) {
			for b.Loop() {
				if _, _, err := bare.Eval(map[string]any{"args": args}); err != nil {
					b.Fatal(err)
				}
			}
		})
		c := condition.MustCompile(text)
		b.Run(name+"/condition", func(b *testing.B) {
			f := condition.NewFacts(args, "pay", "desk", auth.Principal{}, func() bool { return false })
			for b.Loop() {
				if _, err := c.Match(f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
