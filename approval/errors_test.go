package approval

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"a2a-server/internal/golden"
)

//go:generate go test -count=1 -run ^TestErrorsDocument$ . -update

// TestErrorsDocument compares docs/errors.md with all reasons: each has its occasion and the next step.
func TestErrorsDocument(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| reason | when | next step |\n|---|---|---|\n")
	var listed []Reason
	for _, c := range []struct {
		reason     Reason
		when, next string // sentences in Markdown
	}{
		{ReasonUnknown, "No approval of this task has that id.", "Answer an approval in `pending`."},
		{ReasonMalformed, "A known shape is wrong or contradictory, the tool takes no payload, arguments do not fit its schema, a name fits several calls, or an approval is decided in two ways.", "Correct the `fieldViolations`."},
		{ReasonNotAllowed, "This decision, person or way is not allowed.", "Use a decision in `allowed`, or have a permitted person decide; the message has the gate."},
		{ReasonConflict, "It was decided differently; see `by`, `at` and `verb`.", "Nothing: that is final. Read the task's result."},
		{ReasonDecided, "It was decided this way, and its task has ended.", "Nothing. Read the task's result."},
		{ReasonExpired, "Its `deadline` has passed.", "If still wanted, ask again in a new message."},
		{ReasonChanged, "The approval has changed since it was shown.", "Read the task, review the approval (or its `successor`) again, and decide with the given `digest`."},
	} {
		listed = append(listed, c.reason)
		if !strings.HasSuffix(c.when, ".") || !strings.HasSuffix(c.next, ".") {
			t.Errorf("%s: when is %q and next is %q, want sentences", c.reason, c.when, c.next)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.reason, c.when, c.next)
	}
	if diff := cmp.Diff(constants().Reasons, listed, cmpopts.SortSlices(func(a, b Reason) bool { return a < b })); diff != "" {
		t.Errorf("the documented reasons (-want +got):\n%s", diff)
	}
	golden.Section(t, filepath.Join("..", "docs", "errors.md"), "approval errors", b.String())
}
