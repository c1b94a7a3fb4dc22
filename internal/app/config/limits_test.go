package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/internal/app/config"
	"a2a-server/task"
)

// TestLimitsOfTheEngine shows that what the reference calls the default of a limit is
// what the engine takes for it.
func TestLimitsOfTheEngine(t *testing.T) {
	t.Parallel()
	got := load(t, config.Source{}).Limits.Engine.WithDefaults()
	if diff := cmp.Diff(task.Limits{}.WithDefaults(), got); diff != "" {
		t.Errorf("limits without a configuration (-engine's +configuration's):\n%s", diff)
	}
}
