package tool

import (
	"fmt"
	"reflect"
)

// checkWrapper returns an error if t holds a tool that is not in its [Chain]: that tool's gate
// would not be found, and it would run unasked. It looks at the fields of t and of the structs
// in them whose types are tools, and reads no other field: other fields may change at any
// time. A list or a map of tools is refused by its type. A tool behind a function value, a
// pointer to a plain struct or an interface that is no tool is not seen.
func checkWrapper(t Tool) error {
	var chain []reflect.Value
	for u := range Chain(t) {
		chain = append(chain, reflect.ValueOf(u))
	}
	for _, outer := range chain {
		if hidden := hiddenIn(reflect.Indirect(outer), chain); hidden != nil {
			return fmt.Errorf("%v holds %v and hides its gate: if it wraps that tool, give %v the method Unwrap() tool.Tool, which returns it; if it only uses that tool, hold its method as a function value",
				outer.Type(), hidden, outer.Type())
		}
	}
	return nil
}

// hiddenIn returns the type of a tool in the fields of v that is not in chain, or nil. An embedded
// tool that is no interface is a part of the tool that embeds it, which has all of its methods.
func hiddenIn(v reflect.Value, chain []reflect.Value) reflect.Type {
	if v.Kind() != reflect.Struct {
		return nil
	}
	for i := range v.NumField() {
		field, of := v.Field(i), v.Type().Field(i)
		var hidden reflect.Type
		switch {
		case of.Anonymous && field.Kind() != reflect.Interface:
			hidden = hiddenIn(reflect.Indirect(field), chain)
		case isTool(of.Type):
			hidden = strange(field, chain)
		case field.Kind() == reflect.Struct:
			hidden = hiddenIn(field, chain)
		case listsTools(of.Type):
			hidden = of.Type
		}
		if hidden != nil {
			return hidden
		}
	}
	return nil
}

// strange returns the type of the tool in field if there is one and it is not in chain.
func strange(field reflect.Value, chain []reflect.Value) reflect.Type {
	if field.Kind() == reflect.Interface {
		field = field.Elem()
	}
	if !field.IsValid() || field.Kind() == reflect.Pointer && field.IsNil() {
		return nil
	}
	for _, u := range chain {
		if u.Type() == field.Type() && (!u.Comparable() || u.Equal(field)) {
			return nil
		}
	}
	return field.Type()
}

// listsTools reports whether t is a slice, an array or a map with tools in it.
func listsTools(t reflect.Type) bool {
	switch t.Kind() { //nolint:exhaustive // no other kind has elements
	case reflect.Slice, reflect.Array, reflect.Map:
		return isTool(t.Elem()) || listsTools(t.Elem())
	}
	return false
}

// isTool reports whether a value of type t, or a pointer to it, is a tool.
func isTool(t reflect.Type) bool {
	tool := reflect.TypeFor[Tool]()
	return t.Implements(tool) || reflect.PointerTo(t).Implements(tool)
}
