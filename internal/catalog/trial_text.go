package catalog

import (
	"fmt"
	"strings"

	"a2a-server/approval"
	"a2a-server/internal/visible"
)

// Text returns e for people.
func (e *Explanation) Text() string {
	var b strings.Builder
	verdict := map[approval.Action]string{approval.ActionAllow: "runs without an approval", approval.ActionAsk: "has to be approved", approval.ActionDeny: "is denied"}[e.Action]
	fmt.Fprintf(&b, "The call %s%s.\n", verdict, around(": ", e.Reason, ""))
	b.WriteString("\nGates about the tool:\n")
	for _, r := range e.Rules {
		applies := "does not apply"
		if r.Applies {
			applies = "applies"
		}
		fmt.Fprintf(&b, "  %s %s%s: %s, %s\n", r.Action, visible.Line(r.Name), around(" (", r.Place, ")"), applies, visible.Line(r.Why))
	}
	if e.Others > 0 {
		fmt.Fprintf(&b, "  and %d about other tools\n", e.Others)
	}
	if e.Action == approval.ActionAsk {
		b.WriteString("\nThe approval:\n")
		for _, line := range e.Terms {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		b.WriteString("\nThe question:\n")
		for line := range strings.SplitSeq(visible.Text(e.Hint), "\n") {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.String()
}

// around returns a text between two others; "" for no text.
func around(before, text, after string) string {
	if text == "" {
		return ""
	}
	return before + visible.Line(text) + after
}
