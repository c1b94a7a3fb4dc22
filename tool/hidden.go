package tool

import (
	"fmt"
	"reflect"
)

// The bounds of the search for tools in the fields of a tool.
const (
	maxDepth = 8    // of structs, slices, arrays and maps in each other
	maxHeld  = 1000 // elements of one of them
)

// checkWrapper returns an error if t holds a tool that is not in its [Chain]: nobody would find
// that tool's gate, and it would run unasked. What a function value holds cannot be seen.
func checkWrapper(t Tool) error {
	var chain []reflect.Value
	for u := range Chain(t) {
		chain = append(chain, reflect.ValueOf(u))
	}
	for _, outer := range chain {
		var hidden reflect.Value
		held(reflect.Indirect(outer), 0, func(inner reflect.Value) bool {
			for _, u := range chain {
				if sameTool(u, inner) {
					return true
				}
			}
			hidden = inner
			return false
		})
		if hidden.IsValid() {
			return fmt.Errorf("%v holds %v and hides its gate: if it wraps that tool, give %v the method Unwrap() tool.Tool, which returns it; if it only uses that tool, hold its method as a function value",
				outer.Type(), hidden.Type(), outer.Type())
		}
	}
	return nil
}

// held calls yield for each tool in the fields of v, until it returns false. It looks into
// structs, slices, arrays and maps, and through interfaces, but not into the tools themselves. An
// embedded struct is a part of the tool that embeds it, which has all of its methods.
func held(v reflect.Value, depth int, yield func(reflect.Value) bool) bool {
	if depth == maxDepth {
		return true
	}
	element := func(e reflect.Value, embedded bool) bool {
		if e.Kind() == reflect.Interface {
			e, embedded = e.Elem(), false
		}
		switch {
		case !e.IsValid() || e.Kind() == reflect.Pointer && e.IsNil():
			return true
		case embedded:
			e = reflect.Indirect(e)
		case isTool(e.Type()):
			return yield(e)
		}
		return held(e, depth+1, yield)
	}
	switch v.Kind() { //nolint:exhaustive // no other kind has elements
	case reflect.Struct:
		for i := range v.NumField() {
			if !element(v.Field(i), v.Type().Field(i).Anonymous) {
				return false
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range min(v.Len(), maxHeld) {
			if !element(v.Index(i), false /* embedded */) {
				return false
			}
		}
	case reflect.Map:
		for i, n := v.MapRange(), 0; n < maxHeld && i.Next(); n++ {
			if !element(i.Value(), false /* embedded */) {
				return false
			}
		}
	}
	return true
}

// isTool reports whether a value of type t, or a pointer to it, is a tool.
func isTool(t reflect.Type) bool {
	tool := reflect.TypeFor[Tool]()
	return t.Implements(tool) || reflect.PointerTo(t).Implements(tool)
}

// sameTool reports whether a tool of a chain is the one that was found in a field. Values that are
// no pointers are compared by their type, since fields may be unexported.
func sameTool(u, inner reflect.Value) bool {
	if u.Kind() == reflect.Pointer && inner.Kind() == reflect.Pointer {
		return u.Pointer() == inner.Pointer() && u.Type() == inner.Type()
	}
	return reflect.Indirect(u).Type() == reflect.Indirect(inner).Type()
}
