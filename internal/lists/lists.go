// Package lists has what package slices lacks.
package lists

import "slices"

// Map returns the results of f for the values of a list, in their order; nil for an empty list.
func Map[T, U any](list []T, f func(T) U) []U {
	results := slices.Grow([]U(nil), len(list))
	for _, v := range list {
		results = append(results, f(v))
	}
	return results
}
