package dialect

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
)

// MaxDecisions is the maximum number of decisions in a message, over all dialects.
const MaxDecisions = 64

// maxViolations is how many violations an error lists; further violations are only counted.
const maxViolations = 16

// reader reads the decisions of a dialect. It returns no answers and no error when the message
// has none. Its errors are *approval.Error.
type reader func(in *incoming) ([]approval.Decision, error)

// Answers reads the decisions in a message to a task. approvals must be all approvals of
// the task, pending or not: an id that none of them has is unknown. Without answers and
// without an error, the message is not a decision. An *approval.Error means that it is a
// decision in a known shape but invalid, and that none of it counts.
//
// The shapes of decisions are closed, and a message must not contradict itself: an unknown
// member, and a member or text part that contradicts the decision next to it, is an error
// that names its place; so is a data part that is a question and an answer at once. A null member counts as missing.
//
// A function response that will be continued decides nothing: the response that is sent later,
// without that mark, is the whole decision. Next to a decision it is an error.
//
// A message may decide in several dialects at once, even about the same approval;
// approval.Match checks that they agree. Text is read as a decision only when the message
// has nothing else, and is not marked with [approval.RemarkKey]; see readTyped. At most [MaxDecisions] decisions are allowed in a message.
func (p *Presenter) Answers(message *a2a.Message, approvals []*approval.Approval) ([]approval.Decision, error) {
	if message == nil {
		return nil, nil
	}
	return p.incoming(message, approvals).answers()
}

func (p *Presenter) incoming(message *a2a.Message, approvals []*approval.Approval) *incoming {
	in := &incoming{message: message, approvals: approvals, keywords: p.keywords}
	for _, a := range approvals {
		if a.State == approval.Pending {
			in.pending = append(in.pending, a)
		}
	}
	return in
}

// answers is [Presenter.Answers].
func (in *incoming) answers() ([]approval.Decision, error) {
	if err := in.twofold(); err != nil {
		return nil, err
	}
	var all []approval.Decision
	for _, d := range dialects() {
		answers, err := in.read(d)
		if err != nil {
			return nil, err
		}
		all = append(all, answers...)
	}
	if len(all) > MaxDecisions {
		return nil, in.tooMany("message", len(all))
	}
	if len(all) > 0 && len(in.continued) > 0 {
		return nil, in.wrong("", in.continued[0]+".will_continue", "must not be true next to a decision: send the decision alone, without it")
	}
	remark := in.message.Metadata[approval.RemarkKey]
	marked := remark != nil
	if marked && (remark != true || len(all) > 0) {
		return nil, in.wrong("", metadataField(approval.RemarkKey), "must be left out, or true in a message without a decision")
	}
	if len(all) == 0 && !marked {
		var err error
		if all, err = readTyped(in); err != nil {
			return nil, err
		}
		in.typed = true
	}
	if len(all) == 0 {
		return nil, nil
	}
	if err := in.contradicted(all); err != nil {
		return nil, err
	}
	if err := in.near(); err != nil {
		return nil, err
	}
	return all, nil
}

// incoming is a message with the context to read it.
type incoming struct {
	message            *a2a.Message
	approvals, pending []*approval.Approval
	keywords           bool
	typed              bool     // the decision is the text of the message
	continued          []string // paths of responses that decide nothing yet: more follows
}

// dataPart is a data part whose data is an object.
type dataPart struct {
	index            int // among the parts of the message
	metadata, object map[string]any
}

// field returns the path of the object.
func (p *dataPart) field() string { return fmt.Sprintf("message.parts[%d].data", p.index) }

// payload returns the payload of an extension in the message's metadata; nil: there is none.
func (in *incoming) payload(uri string) (*closed, error) {
	v := in.message.Metadata[uri]
	if v == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	object, is := v.(map[string]any)
	if !is {
		return nil, in.wrong("", metadataField(uri), "must be an object")
	}
	return &closed{field: metadataField(uri), object: object}, nil
}

// metadataField returns the path of an extension's payload.
func metadataField(uri string) string { return "message.metadata[" + uri + "]" }

func (in *incoming) dataParts() iter.Seq[dataPart] {
	return func(yield func(dataPart) bool) {
		for i, part := range in.message.Parts {
			if part == nil {
				continue
			}
			object, ok := part.Data().(map[string]any)
			if ok && !yield(dataPart{i, part.Metadata, object}) {
				return
			}
		}
	}
}

// contradicted refuses a text part that is, or has next to a code fence, a word for the
// opposite of a decision. Any other text is a remark, and decides nothing.
func (in *incoming) contradicted(answers []approval.Decision) error {
	for i, part := range in.message.Parts {
		if part == nil {
			continue
		}
		for _, text := range around(part.Text()) {
			said, ok := approval.ReadWord(text)
			if !ok {
				continue
			}
			for _, answer := range answers {
				if opposed(said.Type, answer.Type) {
					return in.wrong(answer.ID, fmt.Sprintf("message.parts[%d].text", i),
						fmt.Sprintf("says %s next to a decision to %s: send only one of them", said.Type, answer.Type))
				}
			}
		}
	}
	return nil
}

// opposed reports whether a word, which approves or rejects, contradicts a decision.
// Nothing contradicts respond.
func opposed(said, decided approval.DecisionType) bool {
	switch decided {
	case approval.Approve, approval.Edit:
		return said == approval.Reject
	case approval.Reject, approval.Cancel:
		return said == approval.Approve
	case approval.Respond:
	}
	return false
}

// agree sets an empty *a to b, and reports whether the two are then equal or b is empty.
func agree(a *string, b string) bool {
	if *a == "" {
		*a = b
	}
	return b == "" || *a == b
}

// malformed returns the error for an invalid decision, with how to answer. id may be empty.
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
	what := values(violations, func(v approval.Violation) string { return v.Field + ": " + v.Description })
	return &approval.Error{
		Reason:     approval.ReasonMalformed,
		Message:    fmt.Sprintf("the decisions in this message are not valid: %s; %s", strings.Join(what, "; "), next),
		Violations: violations,
	}
}

// wrong is malformed with one violation.
func (in *incoming) wrong(id, field, description string) *approval.Error {
	return in.malformed(id, approval.Violation{Field: field, Description: description})
}

// misnamed adds to e where the answer is that names no approval, and how to answer.
func (in *incoming) misnamed(field string, e *approval.Error) *approval.Error {
	for i := range e.Violations {
		e.Violations[i].Field = field
	}
	e.Message += "; " + howTo(in.approvals)
	return e
}

func (in *incoming) tooMany(field string, n int) *approval.Error {
	return in.wrong("", field, fmt.Sprintf("has %d decisions; at most %d are allowed: send several messages", n, MaxDecisions))
}
