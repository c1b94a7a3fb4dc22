package approval

import (
	"strings"
	"testing"
	"time"
)

func TestNewPolicyProblems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		config PolicyConfig
		words  []string
	}{
		{"no tool", PolicyConfig{Gates: []Gate{{}}}, []string{"gate 0", "names no tool"}},
		{"no such action", PolicyConfig{Gates: []Gate{{Tool: "a", Action: "run"}}}, []string{`"run"`, "ask, allow or deny"}},
		{"reserved name", PolicyConfig{Gates: []Gate{{Tool: "a", Name: "tool"}, {Tool: "b", Name: "default"}}}, []string{`"tool"`, `"default"`}},
		{"name twice", PolicyConfig{Gates: []Gate{{Tool: "a"}, {Tool: "a"}}}, []string{"gate 1", `"gate:a"`, "Name"}},
		{"rule set", PolicyConfig{Gates: []Gate{{Tool: "a", Terms: Terms{Gate: "x"}}}}, []string{"Terms.Gate"}},
		{"no such outcome", PolicyConfig{Gates: []Gate{{Tool: "a", Terms: Terms{OnExpiry: "run"}}}}, []string{`"run"`, "reject, cancel or keep"}},
		{"no such verb", PolicyConfig{Gates: []Gate{{Tool: "a", Terms: Terms{Allowed: []DecisionType{"run", Approve}}}}}, []string{`"run"`}},
		{"no verb of a call", PolicyConfig{Gates: []Gate{{Tool: "a", Terms: Terms{Allowed: []DecisionType{Respond}}}}}, []string{"no decision about a call"}},
		{"expiry too short", PolicyConfig{Gates: []Gate{{Tool: "a", Terms: Terms{Expires: 1}}}}, []string{"millisecond"}},
		{"no such risk", PolicyConfig{Gates: []Gate{{Tool: "a", Terms: Terms{Risk: "huge"}}}}, []string{`"huge"`, "low, medium or high"}},
		{"mask that is no pointer", PolicyConfig{Gates: []Gate{{Tool: "a", Terms: Terms{Mask: []string{"/a", "iban", ""}}}}}, []string{`Mask: "iban"`, `Mask: ""`, "/*"}},
		{"mask with a wrong escape", PolicyConfig{Defaults: Terms{Mask: []string{"/a~2", "/~"}}}, []string{`"/a~2"`, `"/~"`, "~0"}},
		{"notify that is no name", PolicyConfig{Gates: []Gate{{Tool: "a", Terms: Terms{Notify: []string{"ops-1.a_b", "a b", ""}}}}}, []string{`Notify: "a b"`, `Notify: ""`}},
		{"more people than approvers", PolicyConfig{Gates: []Gate{{Tool: "a", Terms: Terms{People: 2, Approvers: &Approvers{Subjects: []string{"key:bob"}}}}}}, []string{"2 people have to approve"}},
		{"too many people", PolicyConfig{Gates: []Gate{{Tool: "a", Terms: Terms{People: 11}}}}, []string{"11 people"}},
		{"needs of a gate", PolicyConfig{Gates: []Gate{{Tool: "a", Terms: Terms{Needs: []Need{}}}}}, []string{"Needs is for the merged terms"}},
		{"times that never come", PolicyConfig{Gates: []Gate{{Tool: "a", Terms: Terms{Expires: time.Hour, Remind: time.Hour, Escalate: Escalation{After: 2 * time.Hour}}}}}, []string{"remind never comes, because the approval ends after 1h", "escalate.after never comes", "tells nobody"}},
		{"times that never come by the defaults", PolicyConfig{Defaults: Terms{Expires: time.Hour}, Gates: []Gate{{Tool: "a", Terms: Terms{Remind: time.Hour}}}}, []string{"gate 0 (tool \"a\"): remind never comes, because the approval ends after 1h: set a shorter time"}},
		{"an escalation at once", PolicyConfig{Gates: []Gate{{Tool: "a", Terms: Terms{Remind: -1, Escalate: Escalation{AddRoles: []string{""}, Notify: []string{"a b"}}}}}}, []string{"remind -1ns is less", "escalation after 0s is less", "has an empty name", "Notify"}},
		{"a wrong condition on approvers", PolicyConfig{Gates: []Gate{{Tool: "a", Terms: Terms{Approvers: &Approvers{Roles: []string{"a"}, When: "args.a"}}}}}, []string{"Approvers.When: is"}},
		{"no approvers", PolicyConfig{Gates: []Gate{{Tool: "a", Terms: Terms{Approvers: &Approvers{}}}}}, []string{"Approvers is empty"}},
		{"approvers without a name", PolicyConfig{Gates: []Gate{{Tool: "a", Terms: Terms{Approvers: &Approvers{Subjects: []string{"a", ""}}}}}}, []string{"an empty name"}},
		{"negative default", PolicyConfig{Defaults: Terms{Expires: -1}}, []string{"default terms", "negative"}},
		{"all at once", PolicyConfig{Defaults: Terms{OnExpiry: "x"}, Gates: []Gate{{Action: "x"}, {Tool: "a", Terms: Terms{Allowed: []DecisionType{}}}}}, []string{"default terms", "names no tool", `"x"`, "gate 1"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, err := NewPolicy(tc.config)
			if err == nil || p != nil {
				t.Fatalf("NewPolicy() = %v, %v, want an error alone", p, err)
			}
			for _, w := range tc.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q lacks %q", err, w)
				}
			}
		})
	}
}

func TestNewPolicyKeepsNothingOfItsConfig(t *testing.T) {
	t.Parallel()
	c := PolicyConfig{
		Defaults: Terms{Allowed: []DecisionType{Approve}, Approvers: &Approvers{Roles: []string{"sre"}}},
		Gates:    []Gate{{Tool: "send", Terms: Terms{Expires: time.Hour, Mask: []string{"/a"}, Notify: []string{"a"}}}},
	}
	p := newPolicy(t, c)
	c.Defaults.Allowed[0], c.Defaults.Approvers.Roles[0] = Cancel, "anybody"
	c.Gates[0].Tool, c.Gates[0].Terms.Mask[0], c.Gates[0].Terms.Notify[0] = "other", "/b", "b"
	got := p.Judge(nil, &fakeTool{name: "send"}, nil)
	if got.Action != ActionAsk || got.Terms.Allowed[0] != Approve || got.Terms.Approvers.Roles[0] != "sre" || got.Terms.Mask[0] != "/a" || got.Terms.Notify[0] != "a" {
		t.Errorf("Judge() = %+v, want what was configured", got)
	}
}

func TestGlob(t *testing.T) {
	t.Parallel()
	tests := []struct {
		glob     string
		yes, not []string
	}{
		{"*", []string{"", "a", "a/b"}, nil},
		{"a*", []string{"a", "ab", "aa"}, []string{"", "ba"}},
		{"*a", []string{"a", "ba"}, []string{"", "ab"}},
		{"a*a", []string{"aa", "aba"}, []string{"a", "ab"}},
		{"a*b*c", []string{"abc", "axbxc", "abbc"}, []string{"ac", "acb", "abcd"}},
		{"a**b", []string{"ab", "axb"}, []string{"a"}},
		{"[a]*", []string{"[a]x"}, []string{"a"}},
		{"a", []string{"a"}, []string{"", "ab"}},
		{"ab*bc", []string{"abbc", "abxbc"}, []string{"abc"}},
	}
	for _, tc := range tests {
		g := Gate{Tool: tc.glob}
		for _, name := range tc.yes {
			if !g.Matches(name) {
				t.Errorf("%q does not match %q", tc.glob, name)
			}
		}
		for _, name := range tc.not {
			if g.Matches(name) {
				t.Errorf("%q matches %q", tc.glob, name)
			}
		}
	}
}
