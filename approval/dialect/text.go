package dialect

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// Limits for the requesters of a call: characters per name, and names.
const (
	maxPerson = 200
	maxChain  = 8
)

// text returns the question as text for people: after a message that decided nothing, the
// reason; the words to type; the approvals. Every line that can hold text from outside begins
// with a word of ours or with ">", so that a hint cannot fake a line of ours.
func (p *Presenter) text(all []*shown, elsewhere []tool.Waiting, no *a2a.Message) (string, error) {
	pending := values(all, func(s *shown) *approval.Approval { return s.Approval })
	var b strings.Builder
	if no != nil {
		b.WriteString(p.why(no, pending) + "\n\n")
	}
	if len(answerable(pending)) > 0 {
		b.WriteString(p.toType(pending) + "\n\n")
		if len(elsewhere) > 0 {
			b.WriteString(waiting(nil, elsewhere) + "\n\n")
		}
	} else {
		b.WriteString(waiting(all, elsewhere) + "\n\n")
	}
	for _, s := range all {
		if err := s.write(&b); err != nil {
			return "", fmt.Errorf("write approval %s: %w", s.ID, err)
		}
		b.WriteByte('\n')
	}
	if how := howTo(pending); len(answerable(pending)) > 0 {
		b.WriteString(strings.ToUpper(how[:1]) + how[1:] + ".")
	}
	return inert(strings.TrimRight(b.String(), "\n")), nil
}

func (s *shown) write(b *strings.Builder) error {
	id, name := visible.Line(s.ID), visible.Line(s.Tool)
	switch s.Kind {
	case approval.KindCall:
		fmt.Fprintf(b, "Approval %s: may %s run?\n", id, name)
	case approval.KindOutcome:
		if s.Ask != "" {
			fmt.Fprintf(b, "Approval %s: the outcome of what %s runs elsewhere is unknown. Run it again?\n", id, name)
			break
		}
		fmt.Fprintf(b, "Approval %s: %s was started, and its outcome is unknown. Run it again?\n", id, name)
	case approval.KindQuestion:
		fmt.Fprintf(b, "Question %s, asked by %s:\n", id, name)
	}
	if by := s.requester(); by != "" {
		fmt.Fprintf(b, "Requested by: %s\n", by)
	}
	for _, line := range s.about() {
		fmt.Fprintf(b, "%s\n", line)
	}
	hint := s.hint
	if s.Kind == approval.KindCall { // its arguments have a line of their own
		hint = visible.Text(s.Words())
	}
	if hint != "" {
		for line := range strings.SplitSeq(hint, "\n") {
			fmt.Fprintf(b, "> %s\n", line)
		}
	}
	extras := []struct {
		label string
		value any
		show  bool
	}{
		{"Arguments", s.args, true},
		{"Payload", s.payload, s.payload != nil},
		{"Answers must match this schema", s.schema, s.schema != nil},
	}
	for _, v := range extras {
		if !v.show {
			continue
		}
		raw, err := strictjson.Plain(v.value)
		if err != nil {
			return err
		}
		// JSON has invisible characters only in strings, so escapes are valid here.
		fmt.Fprintf(b, "%s: %s\n", v.label, visible.Line(string(raw)))
	}
	if len(s.equal) > 0 {
		fmt.Fprintf(b, "Equal to: %s, which %s; each approval runs its own call\n", visible.Line(strings.Join(s.equal, ", ")), map[bool]string{true: "waits, too", false: "wait, too"}[len(s.equal) == 1])
	}
	if s.Supersedes != "" {
		fmt.Fprintf(b, "Replaces: %s\n", visible.Line(s.Supersedes))
	}
	if s.Terms.Destructive {
		b.WriteString("Caution: this call is marked as destructive.\n")
	}
	if s.Deadline != nil {
		fmt.Fprintf(b, "Deadline: %s, after which %s\n", stamp(*s.Deadline), afterwards(s.Terms.OnExpiry))
	}
	if t := s.Tally(); t != nil {
		fmt.Fprintf(b, "Votes: %s\n", t)
	}
	if s.Away() {
		fmt.Fprintf(b, "Decided by: %s, not in this conversation\n", s.Awaited())
		return nil
	}
	verbs := values(s.Decisions(), func(v approval.DecisionType) string { return string(v) + meaning(s.Kind, v) })
	fmt.Fprintf(b, "Decisions: %s\n", strings.Join(verbs, ", "))
	return nil
}

// maxWaiting is how many approvals, and decisions elsewhere, the first sentence of a question names.
const maxWaiting = 4

// waiting returns the first sentence of a question that this client does not answer.
func waiting(all []*shown, elsewhere []tool.Waiting) string {
	var list, agents []string
	for _, s := range all[:min(len(all), maxWaiting)] {
		wait := "approval"
		switch {
		case s.AskKind == "auth":
			wait = "a sign-in"
		case s.Kind == approval.KindQuestion:
			wait = "an answer"
		case s.Kind == approval.KindOutcome:
			wait = "a decision"
		}
		wait += " by " + s.Awaited()
		if s.Deadline != nil {
			wait += " until " + stamp(*s.Deadline)
		}
		list = append(list, wait)
	}
	if more := len(all) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	for _, w := range elsewhere[:min(len(elsewhere), maxWaiting)] {
		wait := visible.Line(w.Agent) + " waits for " + visible.Line(waitsFor(w))
		if !w.Expires.IsZero() {
			wait += " until " + stamp(w.Expires)
		}
		agents = append(agents, wait)
	}
	if more := len(elsewhere) - len(agents); more > 0 {
		agents = append(agents, fmt.Sprintf("%d more wait", more))
	}
	if len(list) > 0 {
		agents = slices.Insert(agents, 0, "Waiting for "+strings.Join(list, ", and for "))
	}
	return strings.Join(agents, ", and ") + "; the result follows by itself."
}

// requester names the requester of the call, and its chain, as far as they are known.
func (s *shown) requester() string {
	by := s.Requester
	if by.IsZero() {
		return ""
	}
	text := visible.Shorten(visible.Line(by.Subject), maxPerson)
	for i, acts := range by.Chain {
		if i == maxChain {
			return text + fmt.Sprintf(" and %d more", len(by.Chain)-i)
		}
		text += ", through " + visible.Shorten(visible.Line(acts), maxPerson)
	}
	return text
}

func meaning(k approval.Kind, v approval.DecisionType) string {
	switch {
	case v == approval.Edit:
		return " (run with other arguments)"
	case v == approval.Cancel:
		return " (the whole task)"
	case v == approval.Respond && k == approval.KindOutcome:
		return " (say what the result is)"
	case v == approval.Reject && k == approval.KindOutcome:
		return " (give up)"
	}
	return ""
}

// maxBlanks is how many fields of a form an example has.
const maxBlanks = 8

// maxBlank is how long the name of such a field may be, in characters.
const maxBlank = 64

// blank returns an example of an answer to a question with a schema, which may be empty: if
// that is a form, its required fields, else all of them, without values.
func blank(schema json.RawMessage) any {
	var form struct {
		Type       any
		Required   []string
		Properties map[string]json.RawMessage
	}
	if json.Unmarshal(schema, &form) != nil || form.Type != "object" {
		return "..."
	}
	names := form.Required
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(form.Properties))
	}
	fields := map[string]string{}
	for _, name := range names[:min(len(names), maxBlanks)] {
		fields[visible.Clip(name, maxBlank)] = "..."
	}
	return fields
}

func afterwards(e approval.OnExpiry) string {
	switch e {
	case approval.ExpiryCancels:
		return "the task is canceled"
	case approval.ExpiryKeeps:
		return "it stays open"
	case approval.ExpiryRejects:
	}
	return "it counts as rejected"
}

// answerable returns the approvals that the conversation can answer.
func answerable(approvals []*approval.Approval) []*approval.Approval {
	var open []*approval.Approval
	for _, a := range approvals {
		if a.State == approval.Pending && !a.Away() && len(a.Decisions()) > 0 {
			open = append(open, a)
		}
	}
	return open
}

// howTo returns how to answer the pending approvals with JSON.
func howTo(approvals []*approval.Approval) string {
	open := answerable(approvals)
	if len(open) == 0 {
		return "nothing in this task waits for an answer from this conversation"
	}
	first := open[0]
	decision := map[string]any{"id": first.ID, "decision": string(first.Decisions()[0])}
	if first.Digest != "" {
		decision["digest"] = first.Digest
	}
	switch first.Decisions()[0] {
	case approval.Respond:
		decision["response"] = blank(first.Schema)
	case approval.Edit:
		decision["arguments"] = map[string]any{}
	case approval.Approve, approval.Reject, approval.Cancel:
	}
	example, err := strictjson.Plain(map[string]any{"type": typeResponse, "decisions": []any{decision}})
	if err != nil {
		return "answer by the ids of the approvals"
	}
	text := "answer with JSON such as " + visible.Line(string(example)) + " in a data part"
	if first.RefusesText() == "" {
		text += ", or as the whole text of a message"
	}
	if len(open) > 1 {
		text += "; it may have an entry for each id, and approvals without an entry stay pending"
	}
	return text
}
