package approval

import (
	"fmt"
	"testing"
	"time"

	"a2a-server/approval/condition"
)

// BenchmarkJudge shows what a call costs with 10 and with 1,000 gates: of other tools by their
// exact names, of other tools by patterns, and with a condition on each.
func BenchmarkJudge(b *testing.B) {
	args := map[string]any{"amount": 100.0, "to": "bob"}
	by := ownedCall{by: alice()}
	for _, n := range []int{0, 10, 1000} {
		for kind, name := range map[string]string{"exact": "tool%d", "patterns": "tool%d_*"} {
			var gates []Gate
			for i := range n {
				gates = append(gates, conditioned(Gate{Name: fmt.Sprint("g", i), Tool: fmt.Sprintf(name, i)}, "args.amount > 1000"))
			}
			p := newPolicy(b, PolicyConfig{Gates: gates})
			called := &fakeTool{name: fmt.Sprintf(name, n/2)}
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p.Judge(by, called, args)
				}
			})
		}
	}
	b.Run("no gate about the tool", func(b *testing.B) {
		p := newPolicy(b, PolicyConfig{Gates: []Gate{conditioned(Gate{Tool: "other"}, "args.amount > 1000")}})
		for b.Loop() {
			p.Judge(by, &fakeTool{name: "pay"}, args)
		}
	})
}

// BenchmarkReload shows what making a policy of 1,000 different conditions, and one of 10,000 gates, takes.
func BenchmarkReload(b *testing.B) {
	b.Run("1,000 conditions", func(b *testing.B) {
		for b.Loop() {
			gates := make([]Gate, 1000)
			for i := range gates {
				gates[i] = Gate{Name: fmt.Sprint("g", i), Tool: fmt.Sprint("tool", i), Condition: condition.MustCompile(fmt.Sprintf("args.amount > %d && args.to.startsWith('x%d')", i, i))}
			}
			newPolicy(b, PolicyConfig{Gates: gates})
		}
	})
	b.Run("10,000 gates of a shared prefix, one with a condition", func(b *testing.B) {
		gates := []Gate{conditioned(Gate{Name: "when", Tool: "*"}, "args.amount > 1000")}
		for i := range 10_000 {
			gates = append(gates, Gate{Name: fmt.Sprint("g", i), Tool: fmt.Sprintf("*x%dx*", i)})
		}
		for b.Loop() {
			newPolicy(b, PolicyConfig{Gates: gates})
		}
	})
	b.Run("10,000 gates", func(b *testing.B) {
		gates := make([]Gate, 10_000)
		for i := range gates {
			gates[i] = Gate{Name: fmt.Sprint("g", i), Tool: fmt.Sprint("tool", i, "*"), Terms: Terms{Mask: []string{"/a"}, Expires: time.Hour}}
		}
		for b.Loop() {
			newPolicy(b, PolicyConfig{Gates: gates})
		}
	})
}
