package toolset

import (
	"slices"
	"testing"

	"a2a-server/internal/app/config"
)

// Every kind of the configuration has its tools, and every kind of tools has its keys.
func TestKinds(t *testing.T) {
	t.Parallel()
	var got []config.Kind
	for _, k := range kinds() {
		got = append(got, k.Name())
	}
	if want := config.Kinds(); !slices.Equal(got, want) {
		t.Errorf("kinds() = %v, but toolKinds() of internal/app/config = %v; add what is missing", got, want)
	}
}
