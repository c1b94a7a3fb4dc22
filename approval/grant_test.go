package approval

import (
	"testing"
	"time"
)

// A clock that jumps back makes no grant last longer, and revives none that has ended.
func TestGrantCoversNothingBeforeItWasMade(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	g := Grant{V: 1, Scope: GrantTime, Key: "k", Store: "s", Made: made, Until: made.Add(time.Hour)}
	if g.Covers("k", "t", "c", "s", made.Add(-24*time.Hour)) {
		t.Error("the grant covers a call a day before it was made: it lasts a day and an hour")
	}
}
