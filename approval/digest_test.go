package approval

import (
	"encoding/json"
	"math"
	"regexp"
	"testing"

	"a2a-server/tool"
)

func decode(t testing.TB, raw string) map[string]any {
	t.Helper()
	args, err := tool.DecodeArgs([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return args
}

func TestDigest(t *testing.T) {
	t.Parallel()
	const args = `{"to":"bob","amount":100,"note":{"a":[1,2],"b":null}}`
	base, err := Digest("bank", "transfer", "def", decode(t, args))
	if err != nil {
		t.Fatal(err)
	}
	// The form is on disk and on the wire: this very value must not change.
	const golden = "a0d23aafe778bd159c2df451cf0dddf92032c4531f28f052a8dd6ab34d5d365e"
	if base != golden {
		t.Errorf("Digest() = %s, want %s", base, golden)
	}
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(base) {
		t.Errorf("Digest() = %s, want lower-case hex of 32 bytes", base)
	}
	tests := []struct {
		name                    string
		agent, tool, definition string
		args                    string
		same                    bool
	}{
		{"order of keys and space", "bank", "transfer", "def", ` {"note":{"b":null,"a":[1, 2]},"amount":1e2,"to":"b\u006fb"}`, true},
		{"agent", "bank2", "transfer", "def", args, false},
		{"tool", "bank", "transfer2", "def", args, false},
		{"definition", "bank", "transfer", "def2", args, false},
		{"value", "bank", "transfer", "def", `{"to":"bob","amount":101,"note":{"a":[1,2],"b":null}}`, false},
		{"type", "bank", "transfer", "def", `{"to":"bob","amount":"100","note":{"a":[1,2],"b":null}}`, false},
		{"key", "bank", "transfer", "def", `{"To":"bob","amount":100,"note":{"a":[1,2],"b":null}}`, false},
		{"order of an array", "bank", "transfer", "def", `{"to":"bob","amount":100,"note":{"a":[2,1],"b":null}}`, false},
		{"null and nothing", "bank", "transfer", "def", `{"to":"bob","amount":100,"note":{"a":[1,2]}}`, false},
		{"text between fields", "banktransfer", "", "def", args, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := Digest(tc.agent, tc.tool, tc.definition, decode(t, tc.args))
			if err != nil {
				t.Fatal(err)
			}
			if (got == base) != tc.same {
				t.Errorf("Digest() = %s, want the same as %s: %v", got, base, tc.same)
			}
		})
	}
}

func TestDigestWithoutArgs(t *testing.T) {
	t.Parallel()
	none, err := Digest("a", "t", "d", nil)
	if err != nil {
		t.Fatal(err)
	}
	empty, err := Digest("a", "t", "d", map[string]any{})
	if err != nil || none != empty {
		t.Errorf("Digest() = %s, %v, want %s", empty, err, none)
	}
}

// A question that shows more than a call has a digest of its own, which covers all that it shows. Equal
// calls share the digest of the gate's question, and equal questions theirs.
func TestQuestionDigest(t *testing.T) {
	t.Parallel()
	args := decode(t, `{"to":"bob","amount":100}`)
	digest := func(edits ...func(*Approval)) string {
		t.Helper()
		got, err := pending("t.a1", edits...).QuestionDigest("bank", "transfer", "def", args)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	asks := func(kind Kind, ask, hint, payload, schema string, attempt int) func(*Approval) {
		return func(a *Approval) {
			a.Kind, a.Ask, a.AskKind, a.Hint, a.Attempt = kind, "q", ask, hint, attempt
			a.Payload, a.Schema = json.RawMessage(payload), json.RawMessage(schema)
		}
	}
	again := func(kind Kind, attempt int) func(*Approval) {
		return func(a *Approval) { a.Kind, a.Attempt = kind, attempt }
	}
	plain, err := Digest("bank", "transfer", "def", args)
	if err != nil {
		t.Fatal(err)
	}
	if got := digest(func(a *Approval) { a.Hint, a.ID, a.Call = "May it?", "t.a7", "c4.4" }); got != plain {
		t.Errorf("the digest of a gate's question is %s, want that of the call, %s", got, plain)
	}
	same := asks(KindCall, askConfirm, "sure?", `{"n":1,"m":2}`, `{"type":"object"}`, 1)
	other := asks(KindCall, askConfirm, "sure?", `{ "m": 2, "n": 1.0 }`, `{"type": "object"}`, 1)
	if digest(same) != digest(other, func(a *Approval) { a.ID, a.Ask, a.Call = "t.a7", "r", "c4.4" }) {
		t.Error("equal questions of equal calls have two digests")
	}
	seen := map[string]string{plain: "the call"}
	for name, edit := range map[string]func(*Approval){
		"another attempt":         again(KindCall, 1),
		"the outcome":             again(KindOutcome, 1),
		"the outcome of the next": again(KindOutcome, 2),
		"a confirmation":          same,
		"a confirmation, later":   asks(KindCall, askConfirm, "sure?", `{"n":1,"m":2}`, `{"type":"object"}`, 2),
		"with another hint":       asks(KindCall, askConfirm, "really?", `{"n":1,"m":2}`, `{"type":"object"}`, 1),
		"with another payload":    asks(KindCall, askConfirm, "sure?", `{"n":1,"m":3}`, `{"type":"object"}`, 1),
		"without a payload":       asks(KindCall, askConfirm, "sure?", ``, `{"type":"object"}`, 1),
		"without a schema":        asks(KindCall, askConfirm, "sure?", `{"n":1,"m":2}`, ``, 1),
		"an outcome elsewhere":    asks(KindOutcome, "outcome", "sure?", `{"n":1,"m":2}`, `{"type":"object"}`, 1),
		"a question":              asks(KindQuestion, "question", "sure?", ``, ``, 1),
		"a form":                  asks(KindQuestion, "form", "sure?", ``, ``, 1),
	} {
		got := digest(edit)
		if before := seen[got]; before != "" {
			t.Errorf("%s has the digest of %s", name, before)
		}
		seen[got] = name
	}
	if _, err := pending("t.a1", asks(KindCall, askConfirm, "", `{"n":1,"n":2}`, ``, 1)).QuestionDigest("a", "t", "d", args); err == nil {
		t.Error("the digest of a payload that is read in two ways = nil, want an error")
	}
}

// An approval is bound as long as its digest is that of what it shows.
func TestIsBound(t *testing.T) {
	t.Parallel()
	a := pending("t.a1", askKind(askConfirm), func(a *Approval) { a.Ask, a.Payload = "q", json.RawMessage(`{"n":1}`) })
	if a.IsBound() {
		t.Error("a digest that nothing has is bound")
	}
	args, err := tool.DecodeArgs(a.Args)
	if err == nil {
		a.Digest, err = a.QuestionDigest(a.Agent, a.Tool, a.Definition, args, "r1")
	}
	if err != nil || !a.IsBound("r1") || a.IsBound() {
		t.Errorf("IsBound() = %v, %v, without the restoration %v", a.IsBound("r1"), err, a.IsBound())
	}
	if a.Payload = json.RawMessage(`{"n":2}`); a.IsBound("r1") {
		t.Error("another payload is bound to the digest")
	}
}

func TestDigestOfNoJSON(t *testing.T) {
	t.Parallel()
	if _, err := Digest("a", "t", "d", map[string]any{"x": math.NaN()}); err == nil {
		t.Error("Digest(NaN) = nil, want an error")
	}
}

func BenchmarkDigest(b *testing.B) {
	args := decode(b, `{"to":"bob","amount":100,"note":{"a":[1,2],"b":null}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Digest("bank", "transfer", "def", args); err != nil {
			b.Fatal(err)
		}
	}
}
