package functiontool

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"
)

// setter stores a decoded JSON value in a zero value of its Go type. It stores exactly
// what encoding/json would if the value were encoded and decoded again, at a tenth of the
// cost. False means that it does not know how, or that the value does not fit: the caller
// then uses encoding/json and must discard dst.
type setter func(dst reflect.Value, v any) bool

// maxExact is the integer up to which a float64 holds every integer exactly.
const maxExact = 1 << 53

var (
	ofJSON    = reflect.TypeFor[json.Unmarshaler]()
	ofText    = reflect.TypeFor[encoding.TextUnmarshaler]()
	anyNumber = reflect.TypeFor[json.Number]()
)

// setterOf returns nil for a type that decodes itself, refers to itself, or is rare.
// within are the types that it is part of.
func setterOf(t reflect.Type, within ...reflect.Type) setter {
	for _, outer := range within {
		if t == outer {
			return nil
		}
	}
	if decodesItself(t) || t == anyNumber {
		return nil
	}
	within = append(within[:len(within):len(within)], t)
	switch t.Kind() { //nolint:exhaustive // encoding/json does the rest
	case reflect.Bool:
		return orNull(setBool)
	case reflect.String:
		return orNull(setString)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return orNull(setInt)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return orNull(setUint)
	case reflect.Float64:
		return orNull(setFloat)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return setAny
		}
	case reflect.Pointer:
		return setPointer(t, within)
	case reflect.Slice:
		return setSlice(t, within)
	case reflect.Map:
		return setMap(t, within)
	case reflect.Struct:
		return setStruct(t, within)
	}
	return nil
}

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Implements(ofJSON) || t.Implements(ofText) || p.Implements(ofJSON) || p.Implements(ofText)
}

// orNull adds that null leaves a zero value as it is.
func orNull(set setter) setter {
	return func(dst reflect.Value, v any) bool { return v == nil || set(dst, v) }
}

func setBool(dst reflect.Value, v any) bool {
	b, ok := v.(bool)
	if ok {
		dst.SetBool(b)
	}
	return ok
}

func setString(dst reflect.Value, v any) bool {
	s, ok := v.(string)
	if ok = ok && utf8.ValidString(s); ok {
		dst.SetString(s)
	}
	return ok
}

func setInt(dst reflect.Value, v any) bool {
	f, ok := v.(float64)
	if !ok || !(math.Abs(f) <= maxExact) || f != math.Trunc(f) || dst.OverflowInt(int64(f)) {
		return false
	}
	dst.SetInt(int64(f))
	return true
}

func setUint(dst reflect.Value, v any) bool {
	f, ok := v.(float64)
	if !ok || !(f <= maxExact) || math.Signbit(f) || f != math.Trunc(f) || dst.OverflowUint(uint64(f)) {
		return false
	}
	dst.SetUint(uint64(f))
	return true
}

func setFloat(dst reflect.Value, v any) bool {
	f, ok := v.(float64)
	if !ok || math.IsInf(f, 0) || math.IsNaN(f) {
		return false
	}
	dst.SetFloat(f)
	return true
}

func setAny(dst reflect.Value, v any) bool {
	c, ok := copied(v)
	if ok && c != nil {
		dst.Set(reflect.ValueOf(c))
	}
	return ok
}

// copied returns a copy of a JSON value that shares nothing with it.
func copied(v any) (_ any, ok bool) {
	switch v := v.(type) {
	case nil, bool:
		return v, true
	case string:
		return v, utf8.ValidString(v)
	case float64:
		return v, !math.IsInf(v, 0) && !math.IsNaN(v)
	case []any:
		if v == nil {
			return nil, true
		}
		out := make([]any, len(v))
		for i := range v {
			if out[i], ok = copied(v[i]); !ok {
				return nil, false
			}
		}
		return out, true
	case map[string]any:
		if v == nil {
			return nil, true
		}
		out := make(map[string]any, len(v))
		for name, value := range v {
			if out[name], ok = copied(value); !ok || !utf8.ValidString(name) {
				return nil, false
			}
		}
		return out, true
	}
	return nil, false
}

func setPointer(t reflect.Type, within []reflect.Type) setter {
	set := setterOf(t.Elem(), within...)
	if set == nil {
		return nil
	}
	return orNull(func(dst reflect.Value, v any) bool {
		p := reflect.New(t.Elem())
		dst.Set(p)
		return set(p.Elem(), v)
	})
}

func setSlice(t reflect.Type, within []reflect.Type) setter {
	set := setterOf(t.Elem(), within...)
	if set == nil || t.Elem().Kind() == reflect.Uint8 { // bytes are a string in JSON
		return nil
	}
	return orNull(func(dst reflect.Value, v any) bool {
		list, ok := v.([]any)
		if !ok || list == nil {
			return false
		}
		dst.Set(reflect.MakeSlice(t, len(list), len(list)))
		for i := range list {
			if !set(dst.Index(i), list[i]) {
				return false
			}
		}
		return true
	})
}

func setMap(t reflect.Type, within []reflect.Type) setter {
	set := setterOf(t.Elem(), within...)
	if set == nil || t.Key().Kind() != reflect.String || decodesItself(t.Key()) {
		return nil
	}
	return orNull(func(dst reflect.Value, v any) bool {
		members, ok := v.(map[string]any)
		if !ok || members == nil {
			return false
		}
		dst.Set(reflect.MakeMapWithSize(t, len(members)))
		for name, value := range members {
			element := reflect.New(t.Elem()).Elem()
			if !utf8.ValidString(name) || !set(element, value) {
				return false
			}
			dst.SetMapIndex(reflect.ValueOf(name).Convert(t.Key()), element)
		}
		return true
	})
}

// member is a struct field that is encoded in JSON.
type member struct {
	index int
	name  string
	set   setter
}

func setStruct(t reflect.Type, within []reflect.Type) setter {
	var members []member
	names := map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		switch {
		case f.Anonymous:
			return nil
		case !f.IsExported() || tag == "-":
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "" {
			name = f.Name
		}
		m := member{i, name, setterOf(f.Type, within...)}
		if m.set == nil || names[name] || !usualName(name) || !usualOptions(options) {
			return nil
		}
		names[name] = true
		members = append(members, m)
	}
	return orNull(func(dst reflect.Value, v any) bool {
		values, ok := v.(map[string]any)
		if !ok || values == nil {
			return false
		}
		known := 0
		for i := range members {
			if value, has := values[members[i].name]; has {
				known++
				if !members[i].set(dst.Field(members[i].index), value) {
					return false
				}
			}
		}
		return known == len(values)
	})
}

// usualName reports whether encoding/json uses a tag's name unchanged.
func usualName(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// usualOptions reports whether the options of a tag have no effect on decoding.
func usualOptions(options string) bool {
	return options == "" || options == "omitempty" || options == "omitzero"
}
