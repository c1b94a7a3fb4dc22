package strictjson

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// Names that are given twice are found however many there are, and no others are.
func TestManyNames(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 7, 8, 9, 31, 32, 33, 1000, 20_000} {
		var b strings.Builder
		for i := range n {
			b.WriteString(`"k` + strconv.Itoa(i) + `":0,`)
		}
		once := "{" + b.String() + `"z":0}`
		if err := Validate([]byte(once)); err != nil {
			t.Errorf("%d names: %v", n, err)
		}
		twice := "{" + b.String() + `"k` + strconv.Itoa(random.IntN(n)) + `":0}`
		if err := Validate([]byte(twice)); err == nil || !strings.Contains(err.Error(), "duplicate name") {
			t.Errorf("%d names and one of them again: %v", n, err)
		}
		if _, err := Decode([]byte(twice)); err == nil {
			t.Errorf("%d names and one of them again are decoded", n)
		}
	}
}
