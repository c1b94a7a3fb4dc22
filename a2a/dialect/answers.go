package dialect

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
)

// MaxDecisions is how many decisions one message may carry, over all dialects.
const MaxDecisions = 64

// maxViolations is how many mistakes one refusal lists; the rest is counted.
const maxViolations = 16

// reader reads the decisions of one dialect. No answers and no error: there are none
// in it. An error is an *approval.Error.
type reader func(in *incoming) ([]approval.Answer, error)

// readers returns the dialects that name what they decide, in the order in which they
// are tried.
func readers() []reader {
	return []reader{
		readToolApproval,
		readADK,
		readADKRust,
		readKagent,
	}
}

// Answers reads the decisions in a message to a task. approvals are all of the task,
// pending or not: only an id that is in none of them is unknown. No answers and no
// error: the message is no decision. An *approval.Error: it is one, in a known shape,
// and wrong, and none of it counts.
//
// The shapes of decisions are closed, and a message says one thing: a member that is not
// known, and a member or a text part that says something else than the decision beside
// it, is refused with its place. A member that is null is none.
//
// A message may decide in several dialects at once, and about the same approval too; that
// what they say agrees is for approval.Match to see. Text is looked at as a decision only
// when the message is nothing else.
func (p *Presenter) Answers(message *a2a.Message, approvals []*approval.Approval) ([]approval.Answer, error) {
	if message == nil {
		return nil, nil
	}
	in := &incoming{message: message, approvals: approvals, keywords: p.keywords}
	for _, a := range approvals {
		if a.State == approval.Pending {
			in.pending = append(in.pending, a)
		}
	}
	var all []approval.Answer
	for _, read := range readers() {
		answers, err := read(in)
		if err != nil {
			return nil, err
		}
		all = append(all, answers...)
	}
	if len(all) > MaxDecisions {
		return nil, in.tooMany("message", len(all))
	}
	if len(all) == 0 {
		var err error
		if all, err = readTyped(in); err != nil || len(all) == 0 {
			return nil, err
		}
		in.typed = true
	}
	if err := in.contradicted(all); err != nil {
		return nil, err
	}
	if err := in.near(); err != nil {
		return nil, err
	}
	return all, nil
}

// incoming is a message with what is needed to read it.
type incoming struct {
	message            *a2a.Message
	approvals, pending []*approval.Approval
	keywords           bool
	typed              bool // the decision is the text of the message
}

// dataPart is a data part whose data is an object, and where that stands.
type dataPart struct {
	field            string
	metadata, object map[string]any
}

// metadataField is where the payload of an extension stands.
func metadataField(uri string) string { return "message.metadata[" + uri + "]" }

func (in *incoming) dataParts() iter.Seq[dataPart] {
	return func(yield func(dataPart) bool) {
		for i, part := range in.message.Parts {
			if part == nil {
				continue
			}
			object, ok := part.Data().(map[string]any)
			if ok && !yield(dataPart{fmt.Sprintf("message.parts[%d].data", i), part.Metadata, object}) {
				return
			}
		}
	}
}

// contradicted refuses a text part that is a keyword of the other answer. Any other text
// is what a person wrote beside the decision, and decides nothing.
func (in *incoming) contradicted(answers []approval.Answer) error {
	for i, part := range in.message.Parts {
		if part == nil {
			continue
		}
		said, ok := approval.Keyword(part.Text())
		if !ok {
			continue
		}
		for _, answer := range answers {
			if opposed(said, answer.Verb) {
				return in.malformed(answer.ID, approval.Violation{
					Field:       fmt.Sprintf("message.parts[%d].text", i),
					Description: fmt.Sprintf("says %s beside a decision to %s: say one of them", said, answer.Verb),
				})
			}
		}
	}
	return nil
}

// opposed reports whether a keyword, which says approve or reject, says the other thing
// than a decision. What a respond says is its own.
func opposed(said, decided approval.Verb) bool {
	switch decided {
	case approval.Approve, approval.Edit:
		return said == approval.Reject
	case approval.Reject, approval.Cancel:
		return said == approval.Approve
	case approval.Respond:
	}
	return false
}

// agree fills in what only the other says, and reports whether they agree.
func agree(a *string, b string) bool {
	if *a == "" {
		*a = b
	}
	return b == "" || *a == b
}

// malformed says what is wrong with a decision, and how to answer. id may be empty.
func (in *incoming) malformed(id string, violations ...approval.Violation) *approval.Error {
	if n := len(violations); n > maxViolations {
		violations = append(slices.Clone(violations[:maxViolations]), approval.Violation{
			Field: "message", Description: fmt.Sprintf("has %d more problems", n-maxViolations),
		})
	}
	next := howTo(in.approvals)
	if id != "" {
		return approval.Malformed(id, next, violations...)
	}
	what := make([]string, len(violations))
	for i, v := range violations {
		what[i] = v.Field + ": " + v.Description
	}
	return &approval.Error{
		Reason:     approval.ReasonMalformed,
		Message:    fmt.Sprintf("the decisions in this message are not valid: %s; %s", strings.Join(what, "; "), next),
		Violations: violations,
	}
}

// misnamed says where an answer stands that names no approval, and how to answer.
func (in *incoming) misnamed(field string, e *approval.Error) *approval.Error {
	for i := range e.Violations {
		e.Violations[i].Field = field
	}
	e.Message += "; " + howTo(in.approvals)
	return e
}

func (in *incoming) tooMany(field string, n int) *approval.Error {
	return in.malformed("", approval.Violation{
		Field:       field,
		Description: fmt.Sprintf("has %d decisions; at most %d are allowed: send several messages", n, MaxDecisions),
	})
}
