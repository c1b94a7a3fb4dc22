package approval

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// part is one element of a random policy: what it does when it is asked.
type part struct {
	action                Action
	holds, fails, panicky bool
}

func drawPart(t *rapid.T, label string) part {
	return part{
		action:  rapid.SampledFrom([]Action{ActionAllow, ActionAsk, ActionDeny}).Draw(t, label+" action"),
		holds:   rapid.Bool().Draw(t, label+" holds"),
		fails:   rapid.Bool().Draw(t, label+" fails"),
		panicky: rapid.Bool().Draw(t, label+" by a panic"),
	}
}

func (p part) run() (bool, error) {
	switch {
	case p.fails && p.panicky:
		panic("broken")
	case p.fails:
		return p.holds, errors.New("broken")
	default:
		return p.holds, nil
	}
}

// TestJudgeNeverAllowsWhatFailed makes random policies and tools of which anything may
// fail, and holds each verdict against the rules, written down a second time.
func TestJudgeNeverAllowsWhatFailed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var failed, denied, asks, exactAllow bool
		var c PolicyConfig
		c.IgnoreDeclared = rapid.Bool().Draw(t, "declared gates ignored")
		for range rapid.IntRange(0, 5).Draw(t, "gates") {
			p := drawPart(t, "gate")
			name := rapid.SampledFrom([]string{"send", "s*", "*", "mail", "m*"}).Draw(t, "tool")
			g := Gate{
				Name: string(rune('a' + len(c.Gates))), Tool: name, Action: p.action,
				Hint: rapid.SampledFrom([]string{"", "{v}", "{"}).Draw(t, "hint"),
				When: func(agent.ReadonlyContext, tool.Tool, map[string]any) (bool, error) { return p.run() },
			}
			c.Gates = append(c.Gates, g)
			if name == "mail" || name == "m*" {
				continue
			}
			failed = failed || p.fails
			if p.holds || p.fails {
				denied = denied || p.action == ActionDeny
				asks = asks || p.action == ActionAsk
			}
			if p.holds && !p.fails {
				exactAllow = exactAllow || p.action == ActionAllow && name == "send"
			}
		}
		own := drawPart(t, "own gate")
		f := &fakeTool{
			name:   "send",
			static: rapid.Bool().Draw(t, "static"),
			gate:   func(agent.ReadonlyContext, map[string]any) (bool, error) { return own.run() },
		}
		if !c.IgnoreDeclared && !exactAllow {
			asks = asks || f.static || own.holds
			failed = failed || own.fails
		}
		args := map[string]any{"v": rapid.SampledFrom([]any{1.0, "x", nil, angryValue{}}).Draw(t, "value")}

		p, err := NewPolicy(c)
		if err != nil {
			t.Fatal(err)
		}
		got := p.Judge(nil, f, args)
		want := ActionAllow
		switch {
		case denied:
			want = ActionDeny
		case asks, failed:
			want = ActionAsk
		}
		if got.Action != want {
			t.Fatalf("Judge() = %+v, want %s", got, want)
		}
		if got.Terms.Gate == "" || want == ActionAsk && got.Failed != nil && got.Notes == "" {
			t.Fatalf("Judge() = %+v: no rule, or a failure that is not told", got)
		}
	})
}
