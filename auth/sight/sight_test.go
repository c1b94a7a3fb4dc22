package sight_test

import (
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/auth/sight"
	"a2a-server/internal/golden"
)

//go:generate go test -count=1 -run ^TestTable$ . -update

// TestTable compares the table of docs/security.md with the sights.
func TestTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| reader | where | arguments | question | digest | messages, results | with `mask_task` |\n|---|---|---|---|---|---|---|\n")
	for _, r := range sight.Readers() {
		for _, s := range sight.Surfaces() {
			sees := sight.Of(r, s)
			if sees == (sight.Sight{}) {
				continue
			}
			words := []string{r.String(), s.String()}
			for _, level := range []sight.Level{sees.Arguments, sees.Question, sees.Digest, sees.Conversation, sees.Kept} {
				words = append(words, level.String())
			}
			b.WriteString("| " + strings.Join(words, " | ") + " |\n")
		}
	}
	golden.Section(t, filepath.Join("..", "..", "docs", "security.md"), "sight", b.String())
}
