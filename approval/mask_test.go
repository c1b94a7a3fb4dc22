package approval

import (
	"encoding/json"
	"strings"
	"testing"

	"a2a-server/internal/sight"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

func TestMaskedArgs(t *testing.T) {
	t.Parallel()
	const args = `{"amount":1.50,"card":{"number":"4111","valid":[1,2]},"a/b":1,"m~n":2,"users":[{"name":"ann","age":1},{"name":"bob"}],"":3,"n":null}`
	for name, tc := range map[string]struct {
		args string
		mask []string
		want string
	}{
		"nothing":               {args, nil, args},
		"a member":              {`{"iban":"DE1","to":"bob"}`, []string{"/iban"}, `{"iban":"•••","to":"bob"}`},
		"a whole object":        {`{"card":{"number":1},"to":2}`, []string{"/card"}, `{"card":"•••","to":2}`},
		"below it, too":         {`{"card":{"number":1}}`, []string{"/card", "/card/number"}, `{"card":"•••"}`},
		"an element":            {`{"x":[1,2,3]}`, []string{"/x/1"}, `{"x":[1,"•••",3]}`},
		"each element":          {`{"users":[{"name":"a","n":1},{"name":"b"},7]}`, []string{"/users/*/name"}, `{"users":[{"name":"•••","n":1},{"name":"•••"},7]}`},
		"each member":           {`{"a":1,"b":[2]}`, []string{"/*"}, `{"a":"•••","b":"•••"}`},
		"escaped names":         {`{"a/b":1,"m~n":2,"~1":3}`, []string{"/a~1b", "/m~0n", "/~01"}, `{"a/b":"•••","m~n":"•••","~1":"•••"}`},
		"a name without text":   {`{"":1,"x":2}`, []string{"/"}, `{"":"•••","x":2}`},
		"null":                  {`{"n":null}`, []string{"/n"}, `{"n":"•••"}`},
		"pointers that miss":    {`{"a":[1],"b":"t"}`, []string{"/c", "/a/1", "/a/01", "/a/-", "/b/0", "/b/*"}, `{"a":[1],"b":"t"}`},
		"no arguments":          {``, []string{"/a"}, ``},
		"what cannot be read":   {`{"a":`, []string{"/a"}, `"•••"`},
		"a name that is twice":  {`{"a":1,"a":2}`, []string{"/a"}, `"•••"`},
		"arguments of no shape": {`[{"a":1}]`, []string{"/0/a"}, `[{"a":"•••"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := pending("t.a1", func(a *Approval) { a.Args, a.Terms.Mask = json.RawMessage(tc.args), tc.mask })
			got := a.maskedArguments()
			if got, want := string(got), tc.want; got != want && (want == "" || !json.Valid([]byte(want)) || !sameJSON(json.RawMessage(got), json.RawMessage(want))) {
				t.Errorf("maskedArguments() = %s, want %s", got, want)
			}
			if string(a.Args) != tc.args {
				t.Errorf("Args = %s, want them unchanged", a.Args)
			}
		})
	}
}

// A list has neither the masked arguments of the call nor those of an edit.
func TestFor(t *testing.T) {
	t.Parallel()
	a := pending("t.a1", endedAs(Edited, Resolution{Decision: Edit, Args: json.RawMessage(`{"to":"secret2"}`)}), func(a *Approval) {
		a.Args, a.Terms.Mask = json.RawMessage(`{"to":"secret1"}`), []string{"/to"}
	})
	whole, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	list := sight.Of(sight.Decider, sight.List)
	listed, err := json.Marshal(a.For(list))
	if err != nil || strings.Contains(string(listed), "secret") || strings.Count(string(listed), Masked) != 2 {
		t.Errorf("For() = %s, %v, want no secret", listed, err)
	}
	if after, err := json.Marshal(a); err != nil || string(after) != string(whole) {
		t.Errorf("after For() it is %s, %v, want %s", after, err, whole)
	}
	asks := pending("t.a3", func(a *Approval) {
		a.AskKind, a.Hint, a.Payload, a.Terms.Mask = askConfirm, "Pay secret1?", json.RawMessage(`{"iban":"secret1"}`), []string{"/to"}
	})
	if listed, err := json.Marshal(asks.For(list)); err != nil || strings.Contains(string(listed), "secret") {
		t.Errorf("For() of a tool's question = %s, %v, want no secret", listed, err)
	}
	if a := pending("t.a2"); a.For(list).Resolution != nil {
		t.Error("For() of a pending approval has a resolution")
	}
}

// What any gate that asks masks is in no hint and in no reason, whoever wrote the text.
func TestMaskInHints(t *testing.T) {
	t.Parallel()
	const secret = "DE4711"
	args := map[string]any{"iban": secret, "card": map[string]any{"number": secret}, "to": "bob"}
	mask := Terms{Mask: []string{"/card", "/iban"}}
	for name, tc := range map[string]struct {
		gates []Gate
		tool  fakeTool
		want  string
	}{
		"by name":             {[]Gate{{Tool: "pay", Hint: "To {to} at {iban}?", Terms: mask}}, fakeTool{}, `To "bob" at "•••"?`},
		"by pointer":          {[]Gate{{Tool: "pay", Hint: "{/iban} {/card/number} {/card/x/y} {/to/x}", Terms: mask}}, fakeTool{}, `"•••" "•••" "•••" {/to/x}`},
		"of two gates":        {[]Gate{{Tool: "pay", Hint: "{to}?"}, {Tool: "pay", Name: "b", Hint: "{to}?"}, {Tool: "*", Hint: "Is {iban} known?", Terms: mask}}, fakeTool{}, "\"bob\"?\nIs \"•••\" known?"},
		"of another gate":     {[]Gate{{Tool: "pay", Hint: "{iban}?"}, {Tool: "*", Terms: mask}}, fakeTool{}, `"•••"?`},
		"no hint":             {[]Gate{{Tool: "pay", Terms: mask}}, fakeTool{}, `May the tool "pay" run with these arguments? {"card":"•••","iban":"•••","to":"bob"}`},
		"a denial":            {[]Gate{{Tool: "pay", Action: ActionDeny, Hint: "not to {iban}", Terms: mask}}, fakeTool{}, `the gate "gate:pay" does not allow this call of "pay": not to "•••"`},
		"a denial and a gate": {[]Gate{{Tool: "pay", Action: ActionDeny, Hint: "not to {iban}"}, {Tool: "*", Terms: mask}}, fakeTool{}, `the gate "gate:pay" does not allow this call of "pay": not to "•••"`},
		"a tool that fails": {[]Gate{{Tool: "pay", Terms: mask}}, fakeTool{gate: func(agent.ReadonlyContext, map[string]any) (bool, error) { panic("boom") }},
			"Its gate failed, so you are asked: the tool's own gate. May the tool \"pay\" run with these arguments? {\"card\":\"•••\",\"iban\":\"•••\",\"to\":\"bob\"}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := tc.tool
			f.name = "pay"
			v := newPolicy(t, PolicyConfig{Gates: tc.gates}).Judge(nil, &f, args)
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			a := Approval{Kind: KindCall, Tool: "pay", Args: raw, Hint: v.Hint, Notes: v.Notes, Terms: v.Terms}
			if got := a.Question() + v.Reason; !strings.Contains(got, tc.want) || strings.Contains(got, secret) {
				t.Errorf("Judge() says %q, want %q and no %s", got, tc.want, secret)
			}
		})
	}
	if args["iban"] != secret {
		t.Error("Judge() has masked the arguments that run")
	}
}

// What any gate about the tool masks is masked, whatever the gates say of the call, and when nobody knows.
func TestMaskOfATool(t *testing.T) {
	t.Parallel()
	never := func(agent.ReadonlyContext, tool.Tool, map[string]any) (bool, error) { return false, nil }
	p := newPolicy(t, PolicyConfig{Gates: []Gate{
		{Tool: "pay", Name: "asks", Hint: "{a} {b} {c} {d}?"},
		{Tool: "p*", Name: "not now", When: never, Terms: Terms{Mask: []string{"/b"}, MaskTask: true}},
		{Tool: "pay", Name: "allows", When: never, Action: ActionAllow, Terms: Terms{Mask: []string{"/c"}}},
		{Tool: "other", Terms: Terms{Mask: []string{"/d"}}},
	}, Defaults: Terms{Mask: []string{"/a"}}})
	args := map[string]any{"a": "secret", "b": "secret", "c": "secret", "d": "seen"}
	for name, v := range map[string]Verdict{
		"judged": p.Judge(nil, &fakeTool{name: "pay"}, args),
		"a hook": p.Ask(&fakeTool{name: "pay"}, args, "a hook"),
	} {
		if got := strings.Join(v.Terms.Mask, " "); got != "/a /b /c" || !v.Terms.MaskTask || strings.Contains(v.Hint, "secret") {
			t.Errorf("%s: mask %q, of the task %t, and hint %q, want all and no secret", name, got, v.Terms.MaskTask, v.Hint)
		}
	}
	if v := p.Judge(nil, &fakeTool{namePan: true}, args); strings.Join(v.Terms.Mask, " ") != "/a" || strings.Contains(v.Hint, "secret") {
		t.Errorf("for a tool without a name: mask %q and hint %q", v.Terms.Mask, v.Hint)
	}
	grants := newPolicy(t, PolicyConfig{Gates: []Gate{{Tool: "pay", Terms: Terms{Grants: &GrantTerms{Scopes: GrantScopes()}}}, {Tool: "p*", When: never, Terms: Terms{MaskTask: true}}}})
	if v := grants.Judge(nil, &fakeTool{name: "pay"}, args); v.Terms.Grants != nil {
		t.Error("a call of a tool whose tasks are kept can be granted")
	}
}

// Of arguments that are no object nothing is shown: no mask can name a place in them.
func TestMaskOfNoObject(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{`"{\"iban\":\"x\""`: `"•••"`, `["x"]`: `"•••"`, `{"iban":`: `"•••"`, `{"iban":"x","to":"y"}`: `{"iban":"•••","to":"y"}`} {
		if got := string(MaskArgs(json.RawMessage(raw), []string{"/iban"})); got != want {
			t.Errorf("MaskArgs(%s) = %s, want %s", raw, got, want)
		}
	}
	if got := string(MaskArgs(json.RawMessage(`["x"]`), nil)); got != `["x"]` {
		t.Errorf("without a mask it is %s", got)
	}
}

func TestRisk(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		terms Terms
		want  Risk
	}{
		{Terms{}, RiskMedium},
		{Terms{Destructive: true}, RiskHigh},
		{Terms{Risk: RiskLow}, RiskLow},
		{Terms{Risk: RiskLow, Destructive: true}, RiskLow},
		{Terms{Risk: RiskHigh}, RiskHigh},
	} {
		if got := pending("t.a1", terms(tc.terms)).Risk(); got != tc.want {
			t.Errorf("Risk() of %+v = %s, want %s", tc.terms, got, tc.want)
		}
	}
	p := newPolicy(t, PolicyConfig{Gates: []Gate{{Tool: "pay"}}})
	v := p.Judge(nil, &fakeTool{name: "pay", notes: func() tool.Annotations { return tool.Annotations{Destructive: true} }}, nil)
	if got := pending("t.a1", terms(v.Terms)).Risk(); v.Terms.Risk != "" || got != RiskHigh {
		t.Errorf("Risk() of a destructive call = %s, from %q, want %s", got, v.Terms.Risk, RiskHigh)
	}
}
