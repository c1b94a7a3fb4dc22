package lists_test

import (
	"slices"
	"strings"
	"testing"

	"a2a-server/internal/lists"
)

func TestMap(t *testing.T) {
	if got := lists.Map([]string{"a", "", "b"}, strings.ToUpper); !slices.Equal(got, []string{"A", "", "B"}) {
		t.Errorf("got %q, want the values in capitals, in their order", got)
	}
	if got := lists.Map([]string{}, strings.ToUpper); got != nil {
		t.Errorf("got %q for an empty list, want nil", got)
	}
}
