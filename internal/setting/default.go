package setting

import (
	"reflect"
	"strings"
	"time"
)

// Default sets the fields of a struct, and of the structs in it, to the values of their tag default: texts as a
// variable of the environment has them, lists with commas. It panics at a default of another type.
func Default(to any) { defaults(reflect.ValueOf(to).Elem()) }

func defaults(v reflect.Value) {
	for i := range v.NumField() {
		field, text := v.Field(i), v.Type().Field(i).Tag.Get("default")
		if field.Kind() == reflect.Struct {
			defaults(field)
		}
		if text == "" {
			continue
		}
		var err error
		switch to := field.Addr().Interface().(type) {
		case *bool:
			err = Bool(to).UnmarshalText([]byte(text))
		case *int:
			err = Count(to, 0, Unlimited).UnmarshalText([]byte(text))
		case *int64:
			err = Size(to, 0, 1<<44, false).UnmarshalText([]byte(text))
		case *time.Duration:
			err = Duration(to, 0).UnmarshalText([]byte(text))
		case *[]string:
			*to = strings.Split(text, ",")
		default:
			field.SetString(text)
		}
		if err != nil {
			panic("the default of " + v.Type().Field(i).Name + ": " + err.Error())
		}
	}
}
