package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"a2a-server/internal/strictjson"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct {
		name string
		in   string
	}{
		{"object", ` {"a": 1, "b": [true, false, null, "x"], "c": {}} `},
		{"empty array", "[ ]"},
		{"numbers", "[0, -0, 1.5, -1e3, 1E+2, 5e-324, 1e-400, 333333333.33333329]"},
		{"largest integers", "[9007199254740991, -9007199254740991]"},
		{"large, but no integer token", "1e20"},
		{"escapes", `"\"\\\/\b\f\n\r\t\u00e9\u0000 é 漢 😀"`},
		{"surrogate pair", `"\ud83d\ude00"`},
		{"same name in two objects", `{"a": {"a": 1}, "b": {"a": 2}}`},
		{"empty name", `{"": 1}`},
		{"deepest", nested(strictjson.MaxDepth)},
		{"wide is not deep", "[" + strings.Repeat("[],", 200) + "[]]"},
		{"a replacement character", "\"\uFFFD\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var want any
			if err := json.Unmarshal([]byte(tt.in), &want); err != nil {
				t.Fatal(err)
			}
			got, err := strictjson.Decode([]byte(tt.in))
			if err != nil {
				t.Fatalf("Decode(%q) = %v", tt.in, err)
			}
			if !reflect.DeepEqual(got, want) { // go-cmp takes 2^depth steps
				t.Errorf("Decode(%q) = %v, want %v", tt.in, got, want)
			}
			if err := strictjson.Validate([]byte(tt.in)); err != nil {
				t.Errorf("Validate(%q) = %v", tt.in, err)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		in      string
		pointer string
		reason  string // part of it
	}{
		{"nothing", "", "", "ends where a value"},
		{"a name twice", `{"a": {"x/y": 1, "x/y": 2}}`, "/a/x~1y", "duplicate name"},
		{"a name twice, once escaped", `{"a": 1, "\u0061": 2}`, "/a", "duplicate name"},
		{"integer too large", `{"a": [1, 9007199254740992]}`, "/a/1", "beyond"},
		{"integer too small", `-9007199254740993`, "", "beyond"},
		{"integer of many digits", `[1` + strings.Repeat("0", 400) + `]`, "/0", "beyond"},
		{"number out of range", `{"n": 1e400}`, "/n", "does not fit"},
		{"long fraction out of range", `{"n": 1` + strings.Repeat("0", 400) + `.5}`, "/n", "does not fit"},
		{"invalid UTF-8", "{\"a\": \"\xff\"}", "/a", "UTF-8"},
		{"invalid UTF-8 after an escape", "{\"a\": \"\\n\xc3\"}", "/a", "UTF-8"},
		{"surrogate as UTF-8", "[\"\xed\xa0\x80\"]", "/0", "UTF-8"},
		{"invalid UTF-8 in a name", "{\"o\": {\"\xff\": 1}}", "/o", "UTF-8"},
		{"high surrogate alone", `["\ud83d"]`, "/0", "surrogate"},
		{"high surrogate and text", `["\ud83dxxxxxx"]`, "/0", "surrogate"},
		{"low surrogate alone", `["\ude00"]`, "/0", "surrogate"},
		{"two high surrogates", `["\ud83d\ud83d"]`, "/0", "surrogate"},
		{"short escape", `["\u00e"]`, "/0", "escape"},
		{"unknown escape", `["\x"]`, "/0", "escape"},
		{"control character", "[\"\n\"]", "/0", "control"},
		{"trailing data", `{} {}`, "", "after the end"},
		{"trailing comma", `[1,]`, "", "start of value"},
		{"leading zero", `[01]`, "", "after array element"},
		{"plus", `[+1]`, "/0", "start of value"},
		{"no digit after point", `[1.]`, "/0", "expecting digit"},
		{"no digit in exponent", `[1e]`, "/0", "expecting digit"},
		{"minus alone", `-`, "", "too early"},
		{"word", `{"a": nul}`, "/a", "literal null"},
		{"name without quotes", `{a: 1}`, "", "start of value"},
		{"no colon", `{"a" 1}`, "/a", "expecting ':'"},
		{"open string", `["a`, "/0", "too early"},
		{"open escape", `["a\`, "/0", "too early"},
		{"open object", `{"a": 1`, "", "too early"},
		{"open array", `[1`, "", "too early"},
		{"byte order mark", "\ufeff{}", "", "start of value"},
		{"one level too deep", `{"a":` + strings.Repeat("[", 64), "/a" + strings.Repeat("/0", 63), "deeper than 64"},
		{"200,000 levels", strings.Repeat("[", 200_000), strings.Repeat("/0", 64), "deeper than 64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, read := range []func([]byte) error{
				func(raw []byte) error { _, err := strictjson.Decode(raw); return err },
				strictjson.Validate,
			} {
				e, ok := errors.AsType[*strictjson.Error](read([]byte(tt.in)))
				if !ok {
					t.Fatalf("no *Error for %.60q", tt.in)
				}
				if e.Pointer != tt.pointer || !strings.Contains(e.Reason, tt.reason) {
					t.Errorf("%.60q: at %q: %s; want at %q: …%s…", tt.in, e.Pointer, e.Reason, tt.pointer, tt.reason)
				}
			}
		})
	}
}

// Checking a value builds nothing of it.
func TestValidateBuildsNothing(t *testing.T) {
	raw := []byte(`{"list":[` + strings.Repeat(`{"a":["text",1.5]},`, 1000) + `null]}`)
	if n := testing.AllocsPerRun(10, func() {
		if err := strictjson.Validate(raw); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("checking 1,000 objects allocates %.0f times", n)
	}
}

func TestDecodeObject(t *testing.T) {
	t.Parallel()
	if got, err := strictjson.DecodeObject([]byte(`{"a": 1}`)); err != nil || got["a"] != 1.0 {
		t.Errorf("DecodeObject() = %v, %v", got, err)
	}
	for in, want := range map[string]string{
		"null": "null", "[]": "an array", `"x"`: "a string", "1": "a number", "true": "a boolean",
	} {
		_, err := strictjson.DecodeObject([]byte(in))
		if want := "invalid JSON: is " + want + ", want an object"; err == nil || err.Error() != want {
			t.Errorf("DecodeObject(%s) = %v, want %s", in, err, want)
		}
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"b": 1, "a": [1e21, -0, 100000000000000000000.0]}`: `{"a":[1e+21,0,100000000000000000000],"b":1}`,
		`{"\u20ac": 1, "\r": 2, "<": "é\u0001<"}`:            "{\"\\r\":2,\"<\":\"é\\u0001<\",\"€\":1}",
		`"x"`: `"x"`, `null`: `null`, `1.0`: `1`,
	} {
		v, err := strictjson.Decode([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		got, err := strictjson.Canonical(v)
		if err != nil || string(got) != want {
			t.Errorf("Canonical(%s) = %s, %v, want %s", in, got, err, want)
		}
	}
	if _, err := strictjson.Canonical(func() {}); err == nil {
		t.Error("Canonical(func) is no error")
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"a": [1, -0.5e3, true, null], "b\u00e9\ud83d\ude00": "x\n"}`, `{"a":1,"a":2}`, `9007199254740993`, `1e400`,
		`["\ud800"]`, "\"\xff\"", strings.Repeat("[", 70), `[01]`, ` "\u0000" `, `{"":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := strictjson.Decode(raw)
		if (err == nil) != (strictjson.Validate(raw) == nil) {
			t.Fatalf("Decode(%q) = %v, Validate differs", raw, err)
		}
		if err != nil {
			if _, ok := errors.AsType[*strictjson.Error](err); !ok {
				t.Fatalf("Decode(%q) = %T", raw, err)
			}
			return
		}
		var want any
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("Decode accepts %q, encoding/json says %v", raw, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("Decode(%q) = %v, want %v", raw, got, want)
		}
		form, err := strictjson.Canonical(got)
		if err != nil {
			t.Fatalf("Canonical(%q) = %v", raw, err)
		}
		var again any
		if err := json.Unmarshal(form, &again); err != nil {
			t.Fatalf("Canonical(%q) = %q: %v", raw, form, err)
		}
		twice, err := strictjson.Canonical(again)
		if err != nil || !bytes.Equal(form, twice) {
			t.Fatalf("Canonical is not stable: %q, then %q, %v", form, twice, err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	small := []byte(`{"path":"/var/log/syslog","lines":100,"follow":false}`)
	var large bytes.Buffer
	large.WriteString(`{"items":[`)
	for i := range 1000 {
		fmt.Fprintf(&large, `{"id":%d,"name":"item number %d","tags":["a","b"],"price":%d.25},`, i, i, i)
	}
	large.WriteString(`null]}`)
	for name, raw := range map[string][]byte{"small": small, "large": large.Bytes()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := strictjson.Decode(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/encoding-json", func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				var v any
				if err := json.Unmarshal(raw, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMembers checks the body of a request, and takes its members apart.
func BenchmarkMembers(b *testing.B) {
	raw := []byte(`{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{"message":{"messageId":"0198c1a4-7d5e-7cc1-b0a2-5d4c3b2a1908","role":"ROLE_USER","parts":[{"data":{"tool":"note","args":{"text":"some words to keep"}}}]}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := strictjson.Members(raw); err != nil {
			b.Fatal(err)
		}
	}
}
