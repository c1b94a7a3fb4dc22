package dialect

import (
	"bytes"
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
// A message may decide in several dialects at once. What they say of the same approval
// has to agree, and counts once, with the id that came first. Text is looked at only
// when there is nothing else.
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
		return readText(in)
	}
	return in.merge(all)
}

// incoming is a message with what is needed to read it.
type incoming struct {
	message            *a2a.Message
	approvals, pending []*approval.Approval
	keywords           bool
}

// named returns the approvals that id may mean: the one with this id, else those of
// the call with this id, else those of the calls with this alias.
func (in *incoming) named(id string) []*approval.Approval {
	if id == "" {
		return nil
	}
	var byCall, byAlias []*approval.Approval
	for _, a := range in.approvals {
		switch id {
		case a.ID:
			return []*approval.Approval{a}
		case a.Call:
			byCall = append(byCall, a)
		case a.Alias:
			byAlias = append(byAlias, a)
		}
	}
	if byCall != nil {
		return byCall
	}
	return byAlias
}

// one returns the approval that id means, as approval.Match finds it: of those that it
// may mean the newest pending one, else the newest. It is nil when id is unknown, or
// the alias of several calls that wait.
func (in *incoming) one(id string) *approval.Approval {
	var found *approval.Approval
	for _, a := range in.named(id) {
		waits := a.State == approval.Pending
		if found != nil && found.State == approval.Pending {
			if waits && a.Call != found.Call {
				return nil
			}
			if !waits {
				continue
			}
		}
		found = a
	}
	return found
}

// key is equal for two ids that mean the same approval.
func (in *incoming) key(id string) string {
	if a := in.one(id); a != nil {
		return a.ID
	}
	return id
}

// dataPart is a data part whose data is an object, and where that stands.
type dataPart struct {
	field            string
	metadata, object map[string]any
}

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

// merge keeps one answer for each approval, and refuses different ones. A dialect that
// cannot say something (a digest, a payload) does not disagree with one that does.
func (in *incoming) merge(all []approval.Answer) ([]approval.Answer, error) {
	at := make(map[string]int, len(all))
	merged := make([]approval.Answer, 0, len(all))
	for _, b := range all {
		key := in.key(b.ID)
		i, ok := at[key]
		if !ok {
			at[key] = len(merged)
			merged = append(merged, b)
			continue
		}
		a := &merged[i]
		fine := a.Verb == b.Verb && bytes.Equal(a.Args, b.Args) && bytes.Equal(a.Response, b.Response)
		fine = agree(&a.Reason, b.Reason) && agree(&a.Digest, b.Digest) && fine
		if len(a.Payload) == 0 {
			a.Payload = b.Payload
		} else if len(b.Payload) > 0 && !bytes.Equal(a.Payload, b.Payload) {
			fine = false
		}
		if !fine {
			return nil, in.malformed(b.ID, approval.Violation{
				Field:       "message",
				Description: "it is decided twice in this message, and not in the same way: decide each approval once",
			})
		}
	}
	return merged, nil
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
			Field: "message", Description: fmt.Sprintf("has %d more mistakes", n-maxViolations),
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

// unknown says that the task never had an approval of this id.
func (in *incoming) unknown(field, id string) *approval.Error {
	e := approval.Unknown(id, in.pending)
	e.Message += "; " + howTo(in.approvals)
	e.Violations = []approval.Violation{{Field: field, Description: "names no approval and no call of this task"}}
	return e
}

func (in *incoming) tooMany(field string, n int) *approval.Error {
	return in.malformed("", approval.Violation{
		Field:       field,
		Description: fmt.Sprintf("has %d decisions, and %d is the most: send several messages", n, MaxDecisions),
	})
}
