package strictjson_test

import (
	"reflect"
	"strings"
	"testing"

	"a2a-server/internal/strictjson"
)

// reads reports whether a reader reads all of raw.
func reads(raw []byte, read func(r strictjson.Reader) bool) bool {
	ok := false
	err := strictjson.Read(raw, func(r strictjson.Reader) bool {
		ok = read(r)
		return ok
	})
	return ok && err == nil
}

// readAny reads a value that begins with kind by its parts, and their values at once.
func readAny(r strictjson.Reader, kind byte) (any, bool) {
	switch kind {
	case '{':
		m := map[string]any{}
		ok := r.Object(func(name []byte) (ok bool) {
			m[string(name)], ok = r.Value()
			return ok
		})
		return m, ok
	case '[':
		a := []any{}
		ok := r.Array(func() bool {
			v, ok := r.Value()
			a = append(a, v)
			return ok
		})
		return a, ok
	case '"':
		return r.Text()
	}
	return r.Value()
}

// What is read by its parts is what is decoded at once.
func FuzzReader(f *testing.F) {
	for _, raw := range []string{
		`{"a":{"b":[1,"x",{"c":null}],"d":""},"e":[]}`, ` [[],{},"\u00e9\n",-1.5e3,true]`, `{"a":1,"a":2}`,
		`"\ud83d\ude00"`, ` [ ] `, `{"a":`, `[`, `{}`, `null`,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		kind := byte(0)
		if text := strings.TrimLeft(string(raw), " \t\r\n"); text != "" {
			kind = text[0]
		}
		var got any
		ok := reads(raw, func(r strictjson.Reader) (ok bool) {
			got, ok = readAny(r, kind)
			return ok
		})
		want, err := strictjson.Decode(raw)
		if err != nil {
			if ok {
				t.Errorf("%q is read as %v; Decode: %v", raw, got, err)
			}
			return
		}
		if !ok || !reflect.DeepEqual(got, want) { // go-cmp takes 2^depth steps
			t.Errorf("%q is read as %v, %v; Decode returns %v", raw, got, ok, want)
		}
	})
}

// An integer is one as it is written: a fraction may round to one.
func TestReaderInteger(t *testing.T) {
	t.Parallel()
	integer := func(raw string) (n int64, ok bool) {
		ok = reads([]byte(raw), func(r strictjson.Reader) (ok bool) {
			n, ok = r.Integer()
			return ok
		})
		return n, ok
	}
	for raw, want := range map[string]int64{`0`: 0, "\n-0\n": 0, `7`: 7, `-12`: -12, `9007199254740991`: 9007199254740991} {
		if n, ok := integer(raw); n != want || !ok {
			t.Errorf("%q is read as %d, %v; want %d", raw, n, ok, want)
		}
	}
	for _, raw := range []string{`1.0`, `1.00000000000000000000001`, `1e2`, `1E0`, `1e-400`, `9007199254740992`, `-`, `"1"`, `null`, `[1]`, ``} {
		if n, ok := integer(raw); ok {
			t.Errorf("%q is read as %d", raw, n)
		}
	}
}

// Raw returns the JSON as it is written, and checks numbers unless they are only copied.
func TestReaderRaw(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{"\n{\"x\": [1, \"]\"]}\n": `{"x": [1, "]"]}`, `9007199254740993`: "", `[1e400]`: "", `[1,]`: ""} {
		for _, anyNumber := range []bool{false, true} {
			want := want
			if anyNumber && want == "" && !strings.Contains(raw, ",") {
				want = raw
			}
			var got []byte
			ok := reads([]byte(raw), func(r strictjson.Reader) (ok bool) {
				got, ok = r.Raw(anyNumber)
				return ok
			})
			if ok != (want != "") || ok && string(got) != want {
				t.Errorf("%s is read as %s, %v with any number %v; want %s", raw, got, ok, anyNumber, want)
			}
		}
	}
}

// A reader refuses what Decode refuses, and values of another kind.
func TestReaderRefuses(t *testing.T) {
	t.Parallel()
	any1 := func(r strictjson.Reader) bool { _, ok := r.Value(); return ok }
	text := func(r strictjson.Reader) bool { _, ok := r.Text(); return ok }
	object := func(r strictjson.Reader) bool { return r.Object(func([]byte) bool { return any1(r) }) }
	array := func(r strictjson.Reader) bool { return r.Array(func() bool { return any1(r) }) }
	for raw, read := range map[string]func(strictjson.Reader) bool{
		`{"a":1,"a":2}`: object, `{"a":1 "b":2}`: object, `{"a":1,}`: object, `{,}`: object, `{"a"}`: object, `{"a":`: object, `{"a":1`: object, `[]`: object, `["a":1}`: object, `null`: object, ``: object,
		`[1 2]`: array, `[1,]`: array, `[,1]`: array, `[1`: array, `{}`: array, `{1]`: array, `[{"a":1,"a":2}]`: array,
		`"\ud800"`: text, `"`: text, `1`: text, `xa"`: text, `tru`: any1, `9007199254740993`: any1, "\"\xff\"": text,
	} {
		if reads([]byte(raw), read) {
			t.Errorf("%q is read", raw)
		}
	}
	deep := strings.Repeat("[", strictjson.MaxDepth) + strings.Repeat("]", strictjson.MaxDepth)
	if reads([]byte("["+deep+"]"), array) {
		t.Errorf("what is nested deeper than %d levels is read", strictjson.MaxDepth)
	}
	if reads([]byte(`[1,2,3]`), func(r strictjson.Reader) bool {
		return r.Array(func() bool { _, ok := r.Value(); return ok && false })
	}) {
		t.Error("an array that is not read to its end is read")
	}
	if reads([]byte(`{"a":1,"b":2}`), func(r strictjson.Reader) bool {
		return r.Object(func(name []byte) bool { _, ok := r.Value(); return ok && string(name) != "a" })
	}) {
		t.Error("an object that is not read to its end is read")
	}
}
