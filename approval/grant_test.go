package approval

import (
	"fmt"
	"testing"
	"time"

	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// describing is a tool that only describes the call, as commands and requests do.
type describing struct{ *fakeTool }

func (describing) HasGate() bool { return false }

// A grant covers a call that differs in what may vary, also of a tool that shows its arguments
// when it asks; but no call that a gate of the tool has another reason to ask about.
func TestGrantKeyOfAToolThatAsks(t *testing.T) {
	t.Parallel()
	p, err := NewPolicy(PolicyConfig{Gates: []Gate{{Name: "mails", Tool: "mail", Terms: Terms{Grants: &GrantTerms{Scopes: GrantScopes(), Vary: []string{"/subject"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	shows := func(_ agent.ReadonlyContext, args map[string]any) (string, error) {
		return fmt.Sprint(args["subject"]), nil
	}
	wire := func(_ agent.ReadonlyContext, args map[string]any) (bool, error) {
		return args["subject"] == "wire", nil
	}
	yes := func(agent.ReadonlyContext, map[string]any) (bool, error) { return true, nil }
	plain := &fakeTool{name: "mail", static: true, gate: yes, hint: shows}
	watched, err := tool.WithConfirmation(tool.NewToolset("mails", describing{plain}), tool.ConfirmWhen(wire)).Tools(nil)
	if err != nil {
		t.Fatal(err)
	}
	key := func(mail tool.Tool, subject string) string {
		t.Helper()
		args := map[string]any{"to": "bob", "subject": subject}
		v := p.Judge(nil, mail, args)
		key, err := v.GrantKey(&Approval{Requester: alice(), Tool: "mail"}, args, nil)
		if err != nil || key == "" {
			t.Fatalf("GrantKey() = %q, %v", key, err)
		}
		return key
	}
	for _, tc := range []struct {
		name    string
		mail    tool.Tool
		subject string
		same    bool
	}{
		{"it describes the call", describing{plain}, "wire", true},
		{"it decides about the call", plain, "wire", false},
		{"another gate does not ask", watched[0], "lunch", true},
		{"another gate asks", watched[0], "wire", false},
	} {
		if same := key(tc.mail, "hello") == key(tc.mail, tc.subject); same != tc.same {
			t.Errorf("%s: covered %t, want %t", tc.name, same, tc.same)
		}
	}
}

// No argument may vary where a gate of the tool has decided about masked arguments: its reason is not known whole.
func TestGrantWhereTheReasonIsMasked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		mask  []string
		gated bool
		want  int
	}{{nil, true, 1}, {[]string{"/to"}, true, 0}, {[]string{"/to"}, false, 1}} {
		p := newPolicy(t, PolicyConfig{Gates: []Gate{{Tool: "mail", Terms: Terms{Mask: tc.mask, Grants: &GrantTerms{Scopes: GrantScopes(), Vary: []string{"/subject"}}}}}})
		mail := tool.Tool(&fakeTool{name: "mail", static: true, gate: toolGate(true, nil)})
		if !tc.gated {
			mail = describing{&fakeTool{name: "mail", static: true}}
		}
		v := p.Judge(nil, mail, map[string]any{"to": "bob", "subject": "hello"})
		if v.Terms.Grants == nil || len(v.Terms.Grants.Vary) != tc.want {
			t.Errorf("mask %q, gated %t: grants %+v, want %d that vary", tc.mask, tc.gated, v.Terms.Grants, tc.want)
		}
	}
}

// A grant of another store, which has been restored since, covers nothing, and lets no suspended call go on.
func TestGrantOfAnotherStore(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	g := Grant{V: 1, Scope: GrantTime, Key: "k", Store: "s", Made: made, Until: made.Add(time.Hour)}
	for _, of := range []string{"s", "other"} {
		covers, goesOn := g.Covers([]string{"k"}, "t", "c", of, made), g.Continues([]string{"k"}, "t", "c", of, made)
		if want := of == "s"; covers != want || goesOn != want {
			t.Errorf("in the store %s it covers a call: %t, lets it go on: %t, want %t", of, covers, goesOn, want)
		}
	}
}

// A clock that jumps back makes no grant last longer, and revives none that has ended.
func TestGrantCoversNothingBeforeItWasMade(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	g := Grant{V: 1, Scope: GrantTime, Key: "k", Store: "s", Made: made, Until: made.Add(time.Hour)}
	if g.Covers([]string{"k"}, "t", "c", "s", made.Add(-24*time.Hour)) {
		t.Error("the grant covers a call a day before it was made: it lasts a day and an hour")
	}
}
