// Package suggest finds the most likely correction of a misspelled name. It does not know the
// meaning of the names.
package suggest

import "strings"

// DidYouMean returns "; did you mean …?" with the candidate most like name, and "" without a
// similar candidate. Case, dashes and underscores make no difference. The number of wrong
// letters may be a quarter of the last part of name: after its last dot, without prefix.
func DidYouMean(name, prefix string, candidates []string) string {
	if len(name) > 64 {
		return ""
	}
	own := strings.TrimPrefix(name[strings.LastIndexByte(name, '.')+1:], prefix)
	best, least := "", min(len(own), max(1, len(own)/4)+1) // a single letter is never corrected
	for _, c := range candidates {
		if d := distance(plain(name), plain(c)); d < least {
			best, least = c, d
		}
	}
	if best == "" {
		// The last part of a key may be all that a user remembers.
		for _, c := range candidates {
			if strings.HasSuffix(c, "."+name) {
				best = c
				break
			}
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// plain makes publicUrl and public-url the same as public_url.
func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// distance is how many bytes must be changed, added, removed or swapped with their
// neighbour to get from a to b.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
