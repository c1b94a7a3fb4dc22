package functiontool

import "reflect"

// Direct returns what decodes arguments into a new value of type t without
// encoding/json, nil when that is not done.
func Direct(t reflect.Type) func(args map[string]any) (v any, ok bool) {
	set := setterOf(t)
	if set == nil {
		return nil
	}
	return func(args map[string]any) (any, bool) {
		v := reflect.New(t).Elem()
		ok := set(v, args)
		return v.Interface(), ok
	}
}
