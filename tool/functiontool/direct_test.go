package functiontool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

type label string

type leaf struct {
	Name  label `json:"name"`
	Count *int8 `json:"count,omitempty"`
}

// every has a field of each type that is decoded directly.
type every struct {
	Bool   bool              `json:"bool"`
	Text   string            `json:"text,omitempty"`
	Int    int               `json:"int,omitzero"`
	Small  int8              `json:"small"`
	Count  uint              `json:"count"`
	Few    uint8             `json:"few"`
	Number float64           `json:"number"`
	Any    any               `json:"any"`
	Leaf   leaf              `json:"leaf"`
	Maybe  *leaf             `json:"maybe"`
	Leaves []leaf            `json:"leaves"`
	Deep   [][]*float64      `json:"deep"`
	Named  map[label]leaf    `json:"named"`
	Lists  map[string][]bool `json:"lists"`
	Plain  string
	Not    string `json:"-"`
	hidden int    //nolint:unused // encoding/json does not see it
}

func TestDirectTypes(t *testing.T) {
	t.Parallel()
	type itself struct {
		Next *itself `json:"next"`
	}
	type embedded struct{ leaf }
	type quoted struct {
		N int `json:"n,string"`
	}
	tagged := func(tags ...reflect.StructTag) reflect.Type { // what vet would not let pass
		var fields []reflect.StructField
		for i, tag := range tags {
			fields = append(fields, reflect.StructField{Name: string(rune('A' + i)), Type: reflect.TypeFor[int](), Tag: tag})
		}
		return reflect.StructOf(fields)
	}
	for _, tt := range []struct {
		name string
		of   reflect.Type
		want bool
	}{
		{"every", reflect.TypeFor[every](), true},
		{"a map", reflect.TypeFor[map[string]any](), true},
		{"nothing", reflect.TypeFor[struct{}](), true},
		{"itself", reflect.TypeFor[itself](), false},
		{"embedded", reflect.TypeFor[embedded](), false},
		{"a time", reflect.TypeFor[struct{ At time.Time }](), false},
		{"pointers to times", reflect.TypeFor[struct{ At []*time.Time }](), false},
		{"raw JSON", reflect.TypeFor[struct{ Raw json.RawMessage }](), false},
		{"a number's text", reflect.TypeFor[struct{ N json.Number }](), false},
		{"bytes", reflect.TypeFor[struct{ Data []byte }](), false},
		{"an array", reflect.TypeFor[struct{ Pair [2]int }](), false},
		{"float32", reflect.TypeFor[struct{ F float32 }](), false},
		{"an interface", reflect.TypeFor[struct{ E error }](), false},
		{"keys that are integers", reflect.TypeFor[struct{ M map[int]int }](), false},
		{"a quoted number", reflect.TypeFor[quoted](), false},
		{"two names", tagged(`json:"a"`, `json:"b"`), true},
		{"a name twice", tagged(`json:"a"`, `json:"a"`), false},
		{"a name and a field's", tagged(``, `json:"A"`), false},
		{"an odd name", tagged(`json:"a\"b"`), false},
	} {
		if got := functiontool.Direct(tt.of) != nil; got != tt.want {
			t.Errorf("%s is decoded directly: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestDirect compares with encoding/json: what is stored directly is what that would
// store, and what that refuses is not stored directly.
func TestDirect(t *testing.T) {
	t.Parallel()
	direct := functiontool.Direct(reflect.TypeFor[every]())
	stored, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		fits := rapid.Bool().Draw(t, "fits")
		args, _ := valueOf(reflect.TypeFor[every](), fits).Draw(t, "args").(map[string]any)
		if args == nil {
			return // arguments are an object
		}
		before, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		v, ok := direct(args)
		got, _ := v.(every)
		var want every
		d := json.NewDecoder(bytes.NewReader(before))
		d.DisallowUnknownFields()
		err = d.Decode(&want)
		if !ok {
			refused++
			return
		}
		stored++
		if err != nil {
			t.Fatalf("%s was stored directly; encoding/json says %v", before, err)
		}
		if !reflect.DeepEqual(got, want) || math.Signbit(got.Number) != math.Signbit(want.Number) {
			t.Fatalf("%s\n was stored as %+v\n           want %+v", before, got, want)
		}
		scribble(reflect.ValueOf(&got).Elem())
		if after, err := json.Marshal(args); err != nil || !bytes.Equal(before, after) {
			t.Fatalf("what is stored shares with the arguments: %s became %s (%v)", before, after, err)
		}
	})
	t.Logf("stored %d, left to encoding/json %d", stored, refused)
	if stored == 0 || refused == 0 {
		t.Error("nothing was stored, or nothing refused: the test has compared nothing")
	}
}

// TestDirectValues does the same for every type of one field and values of each kind.
func TestDirectValues(t *testing.T) {
	t.Parallel()
	values := []any{nil, true, "x", "\xff", []any{}, []any{"\xff"}, []any(nil), map[string]any{}, map[string]any{"\xff": 1.0}, map[string]any(nil), 1, int64(1), json.Number("1"), math.MaxFloat64, -129.0, 255.0}
	for _, f := range oddNumbers {
		values = append(values, f)
	}
	all := reflect.TypeFor[every]()
	for i := range all.NumField() {
		if !all.Field(i).IsExported() {
			continue
		}
		one := reflect.StructOf([]reflect.StructField{{Name: "V", Type: all.Field(i).Type}})
		direct := functiontool.Direct(one)
		for _, value := range values {
			args := map[string]any{"V": value}
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := direct(args)
			want := reflect.New(one)
			err = json.Unmarshal(raw, want.Interface())
			if ok && (err != nil || !reflect.DeepEqual(got, want.Elem().Interface())) {
				t.Errorf("%#v is stored as %+v, want %+v (%v)", value, got, want.Elem(), err)
			}
		}
		for _, never := range []float64{math.NaN(), math.Inf(1)} {
			if got, ok := direct(map[string]any{"V": never}); ok {
				t.Errorf("%v is stored as %+v; JSON has no such number", never, got)
			}
		}
	}
}

// valueOf draws values for a type: such as fit it, or some that do not.
func valueOf(t reflect.Type, fits bool) *rapid.Generator[any] {
	return rapid.Custom(func(r *rapid.T) any {
		if !fits && rapid.IntRange(0, 60).Draw(r, "odd") == 0 {
			return odd().Draw(r, "value")
		}
		switch t.Kind() { //nolint:exhaustive // those of every
		case reflect.Bool:
			return rapid.Bool().Draw(r, "bool")
		case reflect.String:
			return text(fits).Draw(r, "text")
		case reflect.Float64:
			return rapid.Float64().Draw(r, "number")
		case reflect.Int, reflect.Int8, reflect.Uint, reflect.Uint8:
			switch {
			case !fits && rapid.IntRange(0, 9).Draw(r, "odd number") == 0:
				return rapid.SampledFrom(oddNumbers).Draw(r, "number")
			case t.Kind() == reflect.Int || t.Kind() == reflect.Int8:
				return float64(rapid.Int8().Draw(r, "int"))
			}
			return float64(rapid.Uint8().Draw(r, "uint"))
		case reflect.Pointer:
			if rapid.IntRange(0, 5).Draw(r, "null") == 0 {
				return nil
			}
			return valueOf(t.Elem(), fits).Draw(r, "pointer")
		case reflect.Slice:
			return rapid.SliceOfN(valueOf(t.Elem(), fits), 0, 3).Draw(r, "list")
		case reflect.Map:
			return rapid.MapOfN(text(fits), valueOf(t.Elem(), fits), 0, 3).Draw(r, "map")
		case reflect.Struct:
			members := map[string]any{}
			for i := range t.NumField() {
				f := t.Field(i)
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if name == "" {
					name = f.Name
				}
				if name != "-" && f.IsExported() && rapid.IntRange(0, 3).Draw(r, "has") > 0 {
					members[name] = valueOf(f.Type, fits).Draw(r, name)
				}
			}
			if !fits && rapid.IntRange(0, 30).Draw(r, "unknown") == 0 {
				members[rapid.SampledFrom([]string{"BOOL", "Name", "hidden", "Not", "-", ""}).Draw(r, "name")] = odd().Draw(r, "unknown value")
			}
			return members
		}
		if fits {
			return rapid.SampledFrom([]any{nil, true, "x", -0.5, []any{1.0, []any{}}, map[string]any{"a": map[string]any{"b": nil}}}).Draw(r, "any")
		}
		return odd().Draw(r, "any")
	})
}

func text(valid bool) *rapid.Generator[string] {
	some := []string{"", "<&>\u2028", "\uFFFD", "\x00\t\"\\"}
	if !valid {
		some = append(some, "\xff", "a\xc3")
	}
	return rapid.OneOf(rapid.String(), rapid.SampledFrom(some))
}

var oddNumbers = []float64{0, math.Copysign(0, -1), 1.5, -1, 128, 256, 1 << 53, 1<<53 + 2, 1e21, 1e300, 5e-324}

// odd draws any JSON value, and numbers of Go that are none as they are decoded.
func odd() *rapid.Generator[any] {
	return rapid.Custom(func(r *rapid.T) any {
		switch rapid.IntRange(0, 7).Draw(r, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(r, "bool")
		case 2:
			return text(false /* valid */).Draw(r, "text")
		case 3:
			return rapid.SampledFrom(oddNumbers).Draw(r, "number")
		case 4:
			return rapid.SliceOfN(odd(), 0, 2).Draw(r, "list")
		case 5:
			return rapid.MapOfN(text(false /* valid */), odd(), 0, 2).Draw(r, "map")
		case 6:
			return []any(nil)
		default:
			return json.Number("17")
		}
	})
}

// scribble changes whatever v shares with others.
func scribble(v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // those of every
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
			v.Index(i).SetZero()
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			scribble(v.MapIndex(k))
			v.SetMapIndex(k, reflect.Value{})
		}
	case reflect.Struct:
		for i := range v.NumField() {
			scribble(v.Field(i))
		}
	}
}

// called is a tool.Context that has nothing but values.
type called struct {
	tool.Context
	values context.Context //nolint:containedctx // what it has
}

func (c called) Value(key any) any { return c.values.Value(key) }

type bounded struct {
	Amount int `json:"amount" jsonschema:"minimum=1"`
}

// TestChecked: arguments that were checked for the tool are not checked again; all
// others are.
func TestChecked(t *testing.T) {
	t.Parallel()
	pay, err := functiontool.New(functiontool.Config{Name: "pay"}, returnsArgs[bounded])
	if err != nil {
		t.Fatal(err)
	}
	compile := func(schema map[string]any) *tool.Schema {
		s, err := tool.CompileSchema(schema)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	check := func(s *tool.Schema, args map[string]any) *tool.Checked {
		c, err := s.Check(args)
		if err != nil {
			t.Fatal(err)
		}
		return &c
	}
	its := compile(pay.Schema())
	anything := compile(map[string]any{"type": "object"})
	wrong := map[string]any{"amount": 0.0}
	changed := map[string]any{"amount": 5.0}
	proof := check(its, changed)
	changed["amount"] = 0.0 // which nobody may do; here it shows that the proof counted

	for _, tt := range []struct {
		name    string
		proof   *tool.Checked
		args    map[string]any
		refused bool
	}{
		{name: "no proof", args: wrong, refused: true},
		{name: "an empty proof", proof: &tool.Checked{}, args: wrong, refused: true},
		{name: "of other arguments", proof: check(its, map[string]any{"amount": 5.0}), args: wrong, refused: true},
		{name: "for another schema", proof: check(anything, wrong), args: wrong, refused: true},
		{name: "no arguments", proof: check(its, map[string]any{"amount": 5.0}), args: nil, refused: true},
		{name: "of these for this", proof: proof, args: changed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			if tt.proof != nil {
				ctx = tool.ContextWithCallValues(ctx, &tool.CallValues{Checked: tt.proof})
			}
			_, err := pay.Call(called{values: ctx}, tt.args)
			if _, refused := errors.AsType[*tool.InvalidError](err); refused != tt.refused {
				t.Errorf("Call() = %v, want an *InvalidError: %v", err, tt.refused)
			}
		})
	}
	if _, err := its.Check(wrong); err == nil {
		t.Error("Check() of wrong arguments is no error")
	}
}
