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
		"approvers":    {Approvers: &Approvers{Roles: []string{"sre"}, Subjects: []string{"key:dora"}}},
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

// The terms of an approval share nothing with those of the policy, nor those with what it
// was made from.
func TestApproversAreCopied(t *testing.T) {
	t.Parallel()
	given := Approvers{Roles: []string{"sre"}, Subjects: []string{"key:dora"}}
	of := given
	p := newPolicy(t, PolicyConfig{Defaults: Terms{Approvers: &given}, Gates: []Gate{{Tool: "send", Terms: Terms{Approvers: &of}}}})
	given.Roles[0] = "anybody"
	for _, tool := range []string{"send", "other"} {
		for range 2 {
			got := p.Judge(nil, &fakeTool{name: tool, static: true}, nil).Terms.Approvers
			if diff := cmp.Diff(&Approvers{Roles: []string{"sre"}, Subjects: []string{"key:dora"}}, got); diff != "" {
				t.Fatalf("approvers of %s (-want +got):\n%s", tool, diff)
			}
			got.Roles[0], got.Subjects[0] = "anybody", "anybody"
		}
	}
	for _, wrong := range []Approvers{{}, {Roles: []string{""}}, {Subjects: []string{"a", ""}}} {
		if _, err := NewPolicy(PolicyConfig{Gates: []Gate{{Tool: "send", Terms: Terms{Approvers: &wrong}}}}); err == nil {
			t.Errorf("NewPolicy() with approvers %+v = nil, want an error", wrong)
		}
	}
}
