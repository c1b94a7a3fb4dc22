package confirm_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/approval/confirm"
)

// forms are what testdata/forms.py writes with Haystack 2.31 or 3.4.
type forms struct {
	Strategies []map[string]any
	Hook       map[string]any
	Decision   map[string]any
	Runs       []struct{ Answer, Decision map[string]any }
}

func haystack(t *testing.T, version string) forms {
	t.Helper()
	raw, err := os.ReadFile("testdata/haystack" + version + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var f forms
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// same compares two values as JSON, with the module paths and lists of Haystack 3.
func same(t *testing.T, want, got any) {
	t.Helper()
	text := func(v any) any {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var out any
		if err := json.Unmarshal([]byte(strings.NewReplacer("haystack.human", "haystack.hooks.human", `\", \"`, `\",\"`).Replace(string(raw))), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if diff := cmp.Diff(text(want), text(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The forms that Haystack itself writes are read, and written again as they were.
func TestHaystacksForms(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2", "3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			f := haystack(t, version)
			if len(f.Strategies) != 3 || len(f.Runs) != 5 || (f.Hook != nil) != (version == "3") {
				t.Fatalf("the file has %d strategies and %d runs", len(f.Strategies), len(f.Runs))
			}
			for _, form := range f.Strategies {
				s, err := confirm.StrategyFromMap(form, confirm.Kinds{})
				if err != nil {
					t.Fatal(err)
				}
				same(t, form, s.ToMap())
			}
			if f.Hook != nil {
				all, err := confirm.StrategiesFromMap(f.Hook, confirm.Kinds{})
				if err != nil {
					t.Fatal(err)
				}
				same(t, f.Hook, all.ToMap())
			}
			d, err := confirm.DecisionFromMap(f.Decision)
			if err != nil {
				t.Fatal(err)
			}
			same(t, f.Decision, d.ToMap())
		})
	}
}

// said is a UI that gives answers, the last one over and over.
type said struct {
	confirm.UI
	asked   []confirm.Call
	answers []confirm.UIResult
}

func (u *said) GetUserConfirmation(_ context, c confirm.Call) (confirm.UIResult, error) {
	n := min(len(u.asked), len(u.answers)-1)
	u.asked = append(u.asked, c)
	return u.answers[n], nil
}

// An answer leads to the same decision as in Haystack, but for the spelling of arguments in texts.
func TestHaystacksDecisions(t *testing.T) {
	t.Parallel()
	for _, run := range haystack(t, "3").Runs {
		answer, err := confirm.UIResultFromMap(run.Answer)
		if err != nil {
			t.Fatal(err)
		}
		same(t, run.Answer, answer.ToMap())
		s := confirm.BlockingStrategy{Policy: confirm.AlwaysAsk(), UI: &said{answers: []confirm.UIResult{answer}}}
		got, err := s.Run(t.Context(), confirm.Call{ToolName: "transfer", ToolCallID: "c1.1", Params: map[string]any{"amount": 7.0, "to": "bob"}})
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := run.Decision["feedback"].(string); ok {
			run.Decision["feedback"] = strings.Replace(text, "{'amount': 5}", `{"amount":5}`, 1)
		}
		same(t, run.Decision, got.ToMap())
		again, err := confirm.DecisionFromMap(got.ToMap())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("read again (-want +got):\n%s", diff)
		}
	}
}

// What is not understood is an error that names it.
func TestFormsRefused(t *testing.T) {
	t.Parallel()
	const prefix = "haystack.hooks.human_in_the_loop."
	never := `{"type": "` + prefix + `policies.NeverAskPolicy"}`
	simple := `{"type": "` + prefix + `user_interfaces.SimpleConsoleUI", "init_parameters": {}}`
	blocking := func(policy, ui, more string) string {
		return `{"type": "` + prefix + `strategies.BlockingConfirmationStrategy", "init_parameters": {"confirmation_policy": ` + policy + `, "confirmation_ui": ` + ui + more + `}}`
	}
	hook := func(entries string) string {
		return `{"type": "` + prefix + `hooks.ConfirmationHook", "init_parameters": {"confirmation_strategies": {` + entries + `}}}`
	}
	good := blocking(never, simple, "")
	for _, tt := range []struct{ name, form, want string }{
		{"policy", blocking(`{"type": "my.Policy"}`, simple, ""), `policy type "my.Policy" is unknown`},
		{"UI", blocking(never, `{"type": "my.UI"}`, ""), `UI type "my.UI" is unknown`},
		{"strategy", `{"type": "my.Strategy"}`, `strategy type "my.Strategy" is unknown`},
		{"no type", `{}`, "type is missing"},
		{"no policy", blocking("null", simple, ""), "confirmation_policy is missing"},
		{"another member", blocking(never, simple, `, "timeout": 3`), `"timeout" is unknown`},
		{"parameter of a policy", blocking(`{"type": "`+prefix+`policies.NeverAskPolicy", "init_parameters": {"except": 1}}`, simple, ""), `"except" is unknown`},
		{"template", blocking(never, simple, `, "reject_template": 3`), "reject_template is a float64, want a string"},
		{"console", blocking(never, `{"type": "`+prefix+`user_interfaces.RichConsoleUI", "init_parameters": {"console": {}}}`, ""), "console cannot be read"},
		{"a tool twice", hook(`"[\"a\", \"b\"]": ` + good + `, "[\"b\", \"c\"]": ` + good), `"b" is in two entries`},
		{"no list", hook(`"[a": ` + good), "no list of names"},
		{"empty list", hook(`"[]": ` + good), "no list of names"},
		{"not all", hook(`"[\"a\", \"*\"]": ` + good), `"*" beside other names`},
		{"no strategy", hook(`"a": 3`), "type is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var form map[string]any
			if err := json.Unmarshal([]byte(tt.form), &form); err != nil {
				t.Fatal(err)
			}
			var err error
			if strings.Contains(tt.form, "ConfirmationHook") {
				_, err = confirm.StrategiesFromMap(form, confirm.Kinds{})
			} else {
				_, err = confirm.StrategyFromMap(form, confirm.Kinds{})
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want …%s…", err, tt.want)
			}
		})
	}
	for form, want := range map[string]string{
		`{"execute": true, "final_tool_params": {}}`:                                     "tool_name is missing",
		`{"tool_name": "a", "final_tool_params": {}}`:                                    "execute is missing",
		`{"tool_name": "a", "execute": "yes", "final_tool_params": {}}`:                  "execute is a string, want a bool",
		`{"tool_name": "a", "execute": true}`:                                            "no final_tool_params",
		`{"tool_name": "a", "execute": true, "final_tool_params": {}, "approved": true}`: `"approved" is unknown`,
	} {
		var m map[string]any
		if err := json.Unmarshal([]byte(form), &m); err != nil {
			t.Fatal(err)
		}
		if _, err := confirm.DecisionFromMap(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want …%s…", form, err, want)
		}
	}
}

// Short names are read in place of Haystack's classes, unless the program has a type of that name.
func TestShortForms(t *testing.T) {
	t.Parallel()
	kind := func(name string) map[string]any { return map[string]any{"type": name} }
	for name, want := range map[string]confirm.Policy{"always_ask": confirm.AlwaysAsk(), "never_ask": confirm.NeverAsk(), "ask_once": confirm.AskOnce(nil)} {
		for _, ui := range []string{"simple_console", "rich_console"} {
			form := map[string]any{"type": "blocking", "init_parameters": map[string]any{"confirmation_policy": kind(name), "confirmation_ui": kind(ui)}}
			all, err := confirm.StrategiesFromMap(map[string]any{"type": "hook", "init_parameters": map[string]any{"confirmation_strategies": map[string]any{"pay": form}}}, confirm.Kinds{})
			if err != nil {
				t.Fatal(err)
			}
			console := confirm.SimpleConsole(strings.NewReader(""), &strings.Builder{})
			if ui == "rich_console" {
				console = confirm.RichConsole(strings.NewReader(""), &strings.Builder{})
			}
			same(t, (&confirm.BlockingStrategy{Policy: want, UI: console}).ToMap(), all.For("pay").ToMap())
		}
	}
	if _, err := confirm.PolicyFromMap(kind("simple_console"), confirm.Kinds{}); err == nil || !strings.Contains(err.Error(), `policy type "simple_console" is unknown`) {
		t.Errorf("a console as a policy = %v", err)
	}
	p, err := confirm.PolicyFromMap(kind("ask_once"), confirm.Kinds{Policies: map[string]func(map[string]any) (confirm.Policy, error){
		"ask_once": func(map[string]any) (confirm.Policy, error) { return confirm.NeverAsk(), nil },
	}})
	if err != nil || p != confirm.NeverAsk() {
		t.Errorf("PolicyFromMap = %v, %v, want the program's policy", p, err)
	}
}

// A program's own types are made by its functions, and its memory is used.
func TestKinds(t *testing.T) {
	t.Parallel()
	mine := map[string]any{"type": "my.Policy", "init_parameters": map[string]any{"limit": 3.0}}
	var given map[string]any
	p, err := confirm.PolicyFromMap(mine, confirm.Kinds{Policies: map[string]func(map[string]any) (confirm.Policy, error){
		"my.Policy": func(parameters map[string]any) (confirm.Policy, error) {
			given = parameters
			return confirm.AlwaysAsk(), nil
		},
	}})
	if err != nil || p != confirm.AlwaysAsk() || given["limit"] != 3.0 {
		t.Errorf("PolicyFromMap = %v, %v with %v, want the program's policy", p, err, given)
	}
	memory := &remembers{err: errFull}
	p, err = confirm.PolicyFromMap(confirm.AskOnce(nil).ToMap(), confirm.Kinds{Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.ShouldAsk(t.Context(), confirm.Call{ToolName: "x"}); err == nil {
		t.Error("a read AskOnce does not use the memory of Kinds")
	}
}
