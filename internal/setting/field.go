package setting

import (
	"cmp"
	"net/netip"
	"reflect"
	"strings"
	"time"
)

// Field returns the value of a field of a struct, which is a bool, a number, a size, a duration, a network or a text,
// with the syntax and the bounds in its tags:
//
//	oneof     a noun, a colon and the only words that are allowed
//	min, max  the bounds of a number, a size or a duration
//	or        another value that a size or a duration may have: 0, or never, which is the tag never
func Field(v reflect.Value, tag reflect.StructTag) Value {
	noun, listed, _ := strings.Cut(tag.Get("oneof"), ": ")
	words := strings.Split(cmp.Or(listed, "true, false"), ", ")
	_, or := tag.Lookup("or")
	switch to := v.Addr().Interface().(type) {
	case *bool:
		return either(to, words[0], words[1])
	case *int:
		return Count(to, int(bound(tag, "min", 0)), int(bound(tag, "max", unlimited)))
	case *int64:
		return size(to, bound(tag, "min", 0), bound(tag, "max", 1<<44), or)
	case *time.Duration:
		if or {
			return deadline(to, time.Duration(bound(tag, "never", 0)))
		}
		return Duration(to, time.Duration(bound(tag, "min", 0)))
	case *netip.Prefix:
		return network(to)
	}
	to, _ := v.Addr().Convert(reflect.TypeFor[*string]()).Interface().(*string)
	if listed != "" {
		return Choice(to, noun, words...)
	}
	return Text(to, "a text")
}

// bound returns the number, size or duration in a tag; none: there is no such tag.
func bound(tag reflect.StructTag, name string, none int64) int64 {
	text, has := tag.Lookup(name)
	var n int64
	var d time.Duration
	switch {
	case !has:
		return none
	case size(&n, -1, 1<<44, true).UnmarshalText([]byte(text)) == nil:
		return n
	case Duration(&d, 0).UnmarshalText([]byte(text)) == nil:
		return int64(d)
	}
	panic(name + " is " + text)
}

// Default sets the fields of a struct, and of the structs in it, to the values of their tag default: texts as a
// variable of the environment has them, lists of texts with commas. It panics at a default of another type.
func Default(to any) { defaults(reflect.ValueOf(to).Elem()) }

func defaults(v reflect.Value) {
	for f, field := range v.Fields() {
		text := f.Tag.Get("default")
		switch {
		case field.Kind() == reflect.Struct:
			defaults(field)
		case text == "":
		case field.Kind() == reflect.Slice:
			field.Set(reflect.ValueOf(strings.Split(text, ",")))
		default:
			if err := Field(field, f.Tag).UnmarshalText([]byte(text)); err != nil {
				panic("the default of " + f.Name + ": " + err.Error())
			}
		}
	}
}
