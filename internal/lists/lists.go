// Package lists makes lists of lists. It does not know what is in them.
package lists

import "slices"

// Map returns a list with what of returns for each value of list; nil if that is empty.
func Map[T, U any](list []T, of func(T) U) []U {
	all := slices.Grow([]U(nil), len(list))
	for _, v := range list {
		all = append(all, of(v))
	}
	return all
}
