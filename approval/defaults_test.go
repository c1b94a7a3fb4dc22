package approval

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A restriction in the defaults holds for every rule, and for the tools' own gates.
func TestJudgeTermsOfDefaults(t *testing.T) {
	t.Parallel()
	for name, restricted := range map[string]Terms{
		"four eyes":    {FourEyes: true},
		"elsewhere":    {Elsewhere: true},
		"destructive":  {Destructive: true},
		"no text":      {NoText: true},
		"cancels task": {CancelsTask: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPolicy(t, PolicyConfig{Defaults: restricted, Gates: []Gate{{Name: "r", Tool: "send"}}})
			for tool, rule := range map[string]string{"send": "r", "other": RuleTool} {
				want := restricted
				want.Rule = rule
				got := p.Judge(nil, &fakeTool{name: tool, static: true}, nil)
				if diff := cmp.Diff(want, got.Terms); diff != "" {
					t.Errorf("terms of %s (-want +got):\n%s", tool, diff)
				}
			}
		})
	}
}
