package approval

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFill(t *testing.T) {
	t.Parallel()
	args := decode(t, `{"to":"bob","amount":100,"deep":{"a/b":[{"x~y":true}]},"":"empty","html":"<b>&",
		"bad":"a\u202eb\u0007\u007f\u200b\udb40\udc41","long":"`+strings.Repeat("é", 300)+`","lines":"a\nb"}`)
	tests := []struct{ text, want string }{
		{"", ""},
		{"plain", "plain"},
		{"send {amount} to {to}", `send 100 to "bob"`},
		{"{to}{to}", `"bob""bob"`},
		{"{/deep/a~1b/0/x~0y}", "true"},
		{"{deep}", `{"a/b":[{"x~y":true}]}`},
		{"{/}", `"empty"`},
		{"{html}", `"<b>&"`},
		{"{nothing} {/deep/none} {/to/x} {/deep/a~1b/1} {/deep/a~1b/00} {/deep/a~1b/-1}", "{nothing} {/deep/none} {/to/x} {/deep/a~1b/1} {/deep/a~1b/00} {/deep/a~1b/-1}"},
		{"{} { {to} }{", `{} { "bob" }{`},
		{"{to", "{to"},
		{"{{to}}", `{"bob"}`},
		{"{bad}", `"a\u202eb\u0007\u007f\u200b\udb40\udc41"`},
		{"{lines}", `"a\nb"`},
		{"{long}", `"` + strings.Repeat("é", 199) + "… (302 characters)"},
	}
	for _, tc := range tests {
		t.Run(tc.text, func(t *testing.T) {
			t.Parallel()
			got, err := FillHint(tc.text, args)
			if err != nil || got != tc.want {
				t.Errorf("FillHint() = %q, %v, want %q", got, err, tc.want)
			}
		})
	}
	if _, err := FillHint("{x}", map[string]any{"x": math.NaN()}); err == nil {
		t.Error("FillHint(NaN) = nil, want an error")
	}
}

func TestQuestionWithoutHint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, args, want string
	}{
		{"none", `{}`, `May the tool "send" run, without arguments?`},
		{"some", `{"to":"bob","n":1}`, `May the tool "send" run with these arguments? {"n":1,"to":"bob"}`},
		{"F15 a long one hides no other", `{"a":"` + strings.Repeat("x", 3000) + `","to":"mallory"}`,
			`May the tool "send" run with these arguments? {"a":"` + strings.Repeat("x", 199) + `… (3002 characters),"to":"mallory"}`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := Approval{Kind: KindCall, Tool: "send", Args: json.RawMessage(tc.args)}
			if got := a.Question(); got != tc.want {
				t.Errorf("Question() = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestQuestionIsBounded(t *testing.T) {
	t.Parallel()
	args := map[string]any{}
	for i := range 5000 {
		args[strings.Repeat("k", i%300)+string(rune('a'+i%26))] = strings.Repeat("v", 500)
	}
	raw, err := json.Marshal(args)
	a := Approval{Kind: KindCall, Tool: strings.Repeat("t", 1000), Args: raw}
	if got := a.Question(); err != nil || utf8.RuneCountInString(got) > maxHint+2*maxValue {
		t.Errorf("Question() has %d characters, %v", utf8.RuneCountInString(got), err)
	}
}
