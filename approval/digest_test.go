package approval

import (
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

// The question what came of a call is not the call: neither its digest nor that of
// another attempt answers it.
func TestOutcomeDigest(t *testing.T) {
	t.Parallel()
	const args = `{"to":"bob","amount":100,"note":{"a":[1,2],"b":null}}`
	base, err := OutcomeDigest("bank", "transfer", "def", decode(t, args), 1)
	if err != nil {
		t.Fatal(err)
	}
	// The form is on disk and on the wire: this very value must not change.
	const golden = "0cd00744b4300bd8ee96a8057d38b780f666eddc388216d2a1e055313784cab9"
	if base != golden {
		t.Errorf("OutcomeDigest() = %s, want %s", base, golden)
	}
	ofCall, err := Digest("bank", "transfer", "def", decode(t, args))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{base: "the question", ofCall: "the call"}
	if len(seen) != 2 {
		t.Error("the question has the digest of the call")
	}
	for _, tc := range []struct {
		name                    string
		agent, tool, definition string
		args                    string
		attempt                 int
	}{
		{"agent", "bank2", "transfer", "def", args, 1},
		{"tool", "bank", "transfer2", "def", args, 1},
		{"definition", "bank", "transfer", "def2", args, 1},
		{"arguments", "bank", "transfer", "def", `{}`, 1},
		{"attempt", "bank", "transfer", "def", args, 2},
	} {
		got, err := OutcomeDigest(tc.agent, tc.tool, tc.definition, decode(t, tc.args), tc.attempt)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("with another %s the digest is that of %s", tc.name, other)
		}
		seen[got] = "another " + tc.name
	}
	none, errNone := OutcomeDigest("a", "t", "d", nil, 0)
	empty, errEmpty := OutcomeDigest("a", "t", "d", map[string]any{}, 0)
	if errNone != nil || errEmpty != nil || none != empty {
		t.Errorf("OutcomeDigest() without arguments = %s, %v, and with none %s, %v", none, errNone, empty, errEmpty)
	}
	if _, err := OutcomeDigest("a", "t", "d", map[string]any{"x": math.NaN()}, 1); err == nil {
		t.Error("OutcomeDigest(NaN) = nil, want an error")
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
