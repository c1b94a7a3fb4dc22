package event

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task/internal/event/eventtest"
)

// filler fills values at random, so that a field that somebody adds is compared too.
type filler struct{ *rand.Rand }

// fill sets v to something at random, in a third of all cases to nothing.
func (r filler) fill(v reflect.Value) {
	if r.IntN(3) == 0 {
		v.SetZero()
		return
	}
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes([]byte([]string{`{"a":1}`, `{ "a" : [ 1, "<" ] }`, `"\u2028 "`, "\"\u2028\"", `null`, ` 1e3`}[r.IntN(6)]))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(r.Int64N(1<<32), r.Int64N(1e9)).UTC()))
		return
	case a2a.PartContent:
		r.content(v)
		return
	}
	switch v.Kind() { //nolint:exhaustive // the others do not occur; they fail
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(r.Int64N(2000) - 1000)
	case reflect.String:
		texts := eventtest.Texts()
		v.SetString(texts[r.IntN(len(texts))])
	case reflect.Interface:
		if value := r.value(0); value != nil {
			v.Set(reflect.ValueOf(value))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
		for i := range v.Len() {
			r.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(12) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			r.fill(key)
			r.fill(value)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[a2a.Part]() {
			r.content(v.FieldByName("Content"))
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Content" {
				r.fill(v.Field(i))
			}
		}
	default:
		panic("filler: no rule for " + v.Type().String())
	}
}

// content sets v to the content of a part.
func (r filler) content(v reflect.Value) {
	contents := []a2a.PartContent{
		nil, a2a.Text(""), a2a.Text("<t>"), a2a.Raw(nil), a2a.Raw{}, a2a.Raw("raw \x00"), a2a.URL(""), a2a.URL("https://example.org/?a&b"),
		a2a.Data{}, a2a.Data{Value: r.value(0)}, a2a.Data{Value: json.RawMessage(`{"tool": "x"}`)},
	}
	if c := contents[r.IntN(len(contents))]; c != nil {
		v.Set(reflect.ValueOf(c))
	}
}

// value returns a value of JSON as Go programs have them.
func (r filler) value(depth int) any {
	n := r.IntN(10)
	if depth > 3 {
		n = r.IntN(7)
	}
	switch n {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return eventtest.Texts()[r.IntN(len(eventtest.Texts()))]
	case 3:
		return r.IntN(1000) - 500
	case 4:
		return math.Float64frombits(r.Uint64()&^(0x7ff<<52) | r.Uint64N(2046)<<52) // any but the infinite
	case 5:
		return float64(r.IntN(100)) / 8
	case 6:
		return []any{nil, []any(nil), map[string]any(nil), json.RawMessage(nil), json.RawMessage(`[ 1 ]`), int64(7), []string{"s"}}[r.IntN(7)]
	case 7:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = r.value(depth + 1)
		}
		return list
	}
	object := map[string]any{}
	for range r.IntN(12) {
		object[eventtest.Texts()[r.IntN(len(eventtest.Texts()))]] = r.value(depth + 1)
	}
	return object
}

// TestAppendLikeMarshal compares what the engine writes itself with json.Marshal.
func TestAppendLikeMarshal(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		&MessageReceived{}, &StepPlanned{}, &CallStarted{}, &CallFinished{}, &approval.Audit{}, &a2a.Message{}, &map[string]any{},
	} {
		name := reflect.TypeOf(v).Elem().Name()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := filler{rand.New(rand.NewPCG(1, 2))} //nolint:gosec // the same each time
			for range 3000 {
				r.fill(reflect.ValueOf(v).Elem())
				if m, is := v.(*MessageReceived); is { // compact, as EncodeMessage returns it
					m.Message, _ = EncodeValue(m.Message)
				}
				want, wantErr := json.Marshal(v)
				var got []byte
				var err error
				switch v := v.(type) {
				case *approval.Audit:
					got, err = AppendAudit(nil, v)
				case *a2a.Message:
					got, err = EncodeMessage(v)
				case *map[string]any:
					got, err = EncodeValue(*v)
				default:
					got, err = Append(nil, v)
				}
				if (err != nil) != (wantErr != nil) {
					t.Fatalf("of %+v: error %v, want %v", v, err, wantErr)
				}
				if diff := eventtest.Diff(string(want), string(got)); err == nil && diff != "" {
					t.Fatalf("of %+v (-want +got):\n%s", v, diff)
				}
			}
		})
	}
}

// What nobody can write is an error, and what is too deep for us is written all the
// same.
func TestEncodeValueLimits(t *testing.T) {
	t.Parallel()
	var deep any
	for range 2 * maxValueDepth {
		deep = []any{deep}
	}
	loop := map[string]any{}
	loop["loop"] = loop
	for _, tc := range []struct {
		name string
		v    any
		want string // "": an error
	}{
		{"deep", deep, strings.Repeat("[", 2*maxValueDepth) + "null" + strings.Repeat("]", 2*maxValueDepth)},
		{"loop", loop, ""},
		{"infinite", map[string]any{"n": math.Inf(1)}, ""},
		{"not a number", []any{math.NaN()}, ""},
		{"function", func() {}, ""},
		{"no JSON", json.RawMessage(`{"a":`), ""},
		{"empty JSON", json.RawMessage{}, ""},
		{"struct", struct{ A int }{1}, `{"A":1}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := EncodeValue(tc.v)
			if string(got) != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("EncodeValue() = %s, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func FuzzEncodeValue(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5e-7,1e21,"<>",null,true],"":{}}`))
	for _, raw := range []string{`-0`, `{ "a": [1, "x y", "\"<b>&\\"] }`, "\"\u2028\"", `"\u2028<"`, `[]`, ` 1`} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if json.Unmarshal(data, &v) != nil {
			return
		}
		want := eventtest.MarshalJSON(t, v)
		got, err := EncodeValue(v)
		if err != nil || string(got) != want {
			t.Errorf("EncodeValue(%s) = %s, %v, want %s", data, got, err, want)
		}
		if got, err = appendRaw(nil, data); err != nil || string(got) != eventtest.MarshalJSON(t, json.RawMessage(data)) {
			t.Errorf("appendRaw(%s) = %s, %v, want %s", data, got, err, eventtest.MarshalJSON(t, json.RawMessage(data)))
		}
	})
}
