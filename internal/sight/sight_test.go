package sight_test

import (
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/internal/golden"
	"a2a-server/internal/sight"
)

//go:generate go test -count=1 -run ^TestTable$ . -update

// TestTable compares the table of docs/security.md with the sights.
func TestTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| reader | where | arguments | question | digest | messages, results | with `mask_task` |\n|---|---|---|---|---|---|---|\n")
	levels := map[sight.Level]string{0: "none", sight.Masked: "masked", sight.Whole: "whole"}
	for r, reader := range []string{sight.Requester: "requester", sight.Decider: "decider", sight.Overseer: "viewer, operator, other approver", sight.Route: "route"} {
		for s, surface := range []string{sight.Task: "task", sight.Approval: "approval", sight.List: "lists, feed, calls", sight.Message: "messages"} {
			sees := sight.Of(sight.Reader(r), sight.Surface(s)) //nolint:gosec // there are four
			if sees == (sight.Sight{}) {
				continue
			}
			words := []string{reader, surface}
			for _, level := range []sight.Level{sees.Arguments, sees.Question, sees.Digest, sees.Conversation, sees.Kept} {
				words = append(words, levels[level])
			}
			b.WriteString("| " + strings.Join(words, " | ") + " |\n")
		}
	}
	golden.Section(t, filepath.Join("..", "..", "docs", "security.md"), "sight", b.String())
}
