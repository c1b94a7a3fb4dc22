package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
)

// maxInt is the largest integer n such that no other integer rounds to the double n.
const maxInt = 1<<53 - 1

// Numbers decodes a text of others, which need not be unambiguous, with numbers as they are written. more
// reports whether something follows the value.
func Numbers(raw []byte) (v any, more bool, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, false, err
	}
	_, err = d.Token()
	return v, !errors.Is(err, io.EOF), nil
}

// Exact reports whether all integers in a value of encoding/json, with numbers as doubles, are those
// of the text: a larger double may stand for another integer.
func Exact(v any) bool {
	switch v := v.(type) {
	case float64:
		return math.Abs(v) <= maxInt
	case []any:
		return !slices.ContainsFunc(v, func(element any) bool { return !Exact(element) })
	case map[string]any:
		for _, member := range v {
			if !Exact(member) {
				return false
			}
		}
	}
	return true
}
