// Package lists has what package slices lacks.
package lists

import "slices"

// Strings returns the strings in a list that comes from JSON or from Go, or a string alone.
func Strings(value any) (all []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []string:
		return v
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// Map returns the results of f for the values of a list, in their order; nil for an empty list.
func Map[T, U any](list []T, f func(T) U) []U {
	results := slices.Grow([]U(nil), len(list))
	for _, v := range list {
		results = append(results, f(v))
	}
	return results
}
