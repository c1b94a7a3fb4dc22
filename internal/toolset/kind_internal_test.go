package toolset

import (
	"testing"

	"a2a-server/internal/app/config"
)

// Every kind of the configuration has its tools.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, name := range config.Kinds() {
		if k, err := kindOf(name); err != nil || k.Name() != name {
			t.Errorf("kindOf(%s) = %v, %v", name, k, err)
		}
	}
}
