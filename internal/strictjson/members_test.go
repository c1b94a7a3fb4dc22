package strictjson_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"a2a-server/internal/strictjson"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	in := ` {"id": 7 , "a\u0062": {"x": [1, 2]},"z":null}  `
	got, err := strictjson.Members([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	want := []strictjson.Member{{"id", []byte("7")}, {"ab", []byte(`{"x": [1, 2]}`)}, {"z", []byte("null")}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Members() = %s, want %s", got, want)
	}
}

func TestMembersRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in, pointer, reason string
		syntax                    bool
	}{
		{"no object", `[1]`, "", "is an array, want an object", false},
		{"nothing", ``, "", "it ends where a value should be", true},
		{"half", `{"a": 1`, "", "it ends too early", true},
		{"more after it", `{} {}`, "", "unexpected data after the end", true},
		{"NUL after it", "{}\x00", "", "unexpected data after the end", true},
		{"twice", `{"a": 1, "b": 2, "\u0061": 3}`, "/a", "duplicate name", false},
		{"twice among many", `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"i":1}`, "/i", "duplicate name", false},
		{"twice, of the first of many", `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"a":1}`, "/a", "duplicate name", false},
		{"a large integer elsewhere", `{"id": 1, "params": {"n": 9007199254740993}}`, "/params/n", "beyond", false},
		{"deep", `{"a": ` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "/a" + strings.Repeat("/0", 63), "nested deeper", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := strictjson.Members([]byte(tc.in))
			var e *strictjson.Error
			if !errors.As(err, &e) || e.Pointer != tc.pointer || !strings.Contains(e.Reason, tc.reason) || e.Syntax != tc.syntax {
				t.Errorf("Members() = %+v, want %q at %q, syntax %v", err, tc.reason, tc.pointer, tc.syntax)
			}
		})
	}
}

// Members takes the objects that Decode takes, and finds the same in them.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, `{"a":{"b":[1,{"c":"d"}]},"\u00e9":"x"}`, `{"a":1,"a":2}`, `[{}]`, `{"a":1e400}`, `{"a":9007199254740993}`, `x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		want, wantErr := strictjson.DecodeObject(raw)
		got, err := strictjson.Members(raw)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("Members() = %v, DecodeObject() = %v", err, wantErr)
		}
		if err != nil {
			return
		}
		if len(got) != len(want) {
			t.Fatalf("%d members, want %d", len(got), len(want))
		}
		for _, m := range got {
			var v any
			if err := json.Unmarshal(m.Value, &v); err != nil || !reflect.DeepEqual(v, want[m.Name]) {
				t.Errorf("member %q = %s (%v), want %v", m.Name, m.Value, err, want[m.Name])
			}
		}
	})
}

// A value too many is refused where it stands, and what comes after it is not looked at.
func TestMaxValues(t *testing.T) {
	t.Parallel()
	list := func(n int) string { return "[" + strings.Repeat("{},", n-1) + "{}]" }
	for _, tc := range []struct {
		name string
		raw  string
		at   string // "": taken
	}{
		{"as many as are taken", `{"a":` + list(strictjson.MaxValues-2) + `}`, ""},
		{"one more", `{"a":` + list(strictjson.MaxValues-1) + `}`, "/a/65534"},
		{"members", `{"a":{"b":1},"c":` + list(strictjson.MaxValues-2) + `}`, "/c/65532"},
		{"nothing is read after it", `{"a":` + list(strictjson.MaxValues - 1)[:3*strictjson.MaxValues-6] + `,{},no JSON`, "/a/65534"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := strictjson.Members([]byte(tc.raw))
			for name, err := range map[string]error{"Members": err, "Validate": strictjson.Validate([]byte(tc.raw))} {
				var at *strictjson.Error
				if errors.As(err, &at); (err == nil) != (tc.at == "") || err != nil && (at.Pointer != tc.at || at.Syntax) {
					t.Errorf("%s() = %v, want it refused at %q", name, err, tc.at)
				}
			}
		})
	}
	if _, err := strictjson.Members([]byte(list(2 * strictjson.MaxValues))); err == nil || !strings.Contains(err.Error(), "more than 65536") {
		t.Errorf("Members(a list) = %v", err)
	}
}
