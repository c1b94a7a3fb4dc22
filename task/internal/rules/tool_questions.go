package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"a2a-server/approval"
	"a2a-server/task/internal/fold"
	"a2a-server/tool"
)

// Prefixes of question ids: the id that the tool chose, or a digest of the content with a
// number among equal questions. The prefixes keep both apart from each other, and from the ids
// of [tool.RequestConfirmation].
const (
	askNamed  = "id:"
	askSilent = "content:"
)

// maxAskID bounds [tool.Ask].ID, in bytes.
const maxAskID = 256

// ToolQuestion is a question that a running tool asks.
type ToolQuestion struct {
	ID string // the same in every run of the call
	tool.Question
}

// suspensionAsks returns the questions of a suspension with their identities.
func suspensionAsks(s *tool.Suspension) ([]ToolQuestion, error) {
	var all []ToolQuestion
	named, equal := map[string]bool{}, map[string]int{}
	for _, a := range s.Asks {
		id := askNamed + a.ID
		switch {
		case a.ID == "":
			content, err := json.Marshal(a)
			if err != nil {
				return nil, fmt.Errorf("a question of the tool is not JSON: %w", err)
			}
			sum := sha256.Sum256(content)
			name := hex.EncodeToString(sum[:16])
			equal[name]++
			id = fmt.Sprintf("%s%s.%d", askSilent, name, equal[name])
		case len(a.ID) > maxAskID:
			return nil, fmt.Errorf("the tool asks a question whose ID has %d bytes; at most %d are allowed", len(a.ID), maxAskID)
		case !utf8.ValidString(a.ID):
			return nil, fmt.Errorf("the tool asks a question whose ID %q is not valid UTF-8", a.ID)
		case named[a.ID]:
			return nil, fmt.Errorf("the tool asks two questions with the ID %q; give each its own", a.ID)
		}
		named[a.ID] = true
		all = append(all, ToolQuestion{ID: id, Question: a})
	}
	return all, nil
}

// askOf builds the approval for a question that a running tool asked. It is not bound to
// a digest yet.
func askOf(c *fold.Call, q ToolQuestion) (*approval.Approval, error) {
	a := &approval.Approval{Kind: approval.KindQuestion, Args: c.Args, Hint: q.Hint, Ask: q.ID, AskKind: string(q.Kind)}
	switch q.Kind {
	case tool.AskConfirm:
		a.Kind = approval.KindCall
	case tool.AskOutcome:
		a.Kind = approval.KindOutcome
	case tool.AskQuestion, tool.AskAuth:
	case tool.AskForm:
		if q.Schema == nil {
			return nil, fmt.Errorf("the tool asks for a form without a schema")
		}
	default:
		return nil, fmt.Errorf("the tool asks a question of kind %q; use confirm, outcome, question, form or auth", q.Kind)
	}
	var err error
	if q.Payload != nil {
		if a.Payload, err = json.Marshal(q.Payload); err != nil {
			return nil, fmt.Errorf("the payload of the tool's question is not JSON: %w", err)
		}
	}
	if q.Schema != nil {
		if _, err := tool.CompileSchema(q.Schema); err != nil {
			return nil, fmt.Errorf("the schema of the tool's question: %w", err)
		}
		if a.Schema, err = json.Marshal(q.Schema); err != nil {
			return nil, fmt.Errorf("the schema of the tool's question: %w", err)
		}
	}
	return a, nil
}

// toolApprovals builds the approvals for the questions of a run, bound to the call that ran, without
// writing any.
func toolApprovals(b basis, c *fold.Call, e *Execution, asks []ToolQuestion) ([]*approval.Approval, error) {
	x := examined{checked: e.checked}
	var err error
	if x.args, err = tool.DecodeArgs(x.raw); err != nil { // the tool may have modified its arguments
		return nil, err
	}
	made := make([]*approval.Approval, 0, len(asks))
	for _, q := range asks {
		a, err := askOf(c, q)
		if err != nil {
			return nil, err
		}
		a.Terms = askTerms(b, c, &x, &q.Question)
		if err := fill(b, c, &x, a); err != nil {
			return nil, err
		}
		made = append(made, a)
	}
	return made, nil
}

// allFit numbers the new approvals in made, those without a kept approval, and returns an
// error if any of them could not be shown.
func allFit(b basis, made []*approval.Approval, kept []*fold.Approval) error {
	var fresh []*approval.Approval
	for i, a := range made {
		if kept[i] != nil {
			continue
		}
		number(b, a, len(fresh))
		if err := fits(b, a, fresh...); err != nil {
			return err
		}
		fresh = append(fresh, a)
	}
	return nil
}

// reuse finds the questions among asked that the call has already asked with the same content:
// their approvals remain, so that no person is asked twice. It returns these approvals, with
// nil for a new question, and supersedes pending approvals whose question is dropped or
// changed.
func reuse(add additions, b basis, c *fold.Call, asks []ToolQuestion, asked []*approval.Approval) (additions, []*fold.Approval) {
	kept := make([]*fold.Approval, len(asks))
	stays := map[string]bool{}
	for i, q := range asks {
		if a := b.Open(c, q.ID); a != nil && sameQuestion(&a.Approval, asked[i]) {
			kept[i], stays[a.ID] = a, true
		}
	}
	for _, o := range c.Open {
		if a := b.Approval(o.Approval); a != nil && a.State == approval.Pending && !stays[a.ID] {
			add = supersede(add, b, a, "the tool does not ask this any longer")
		}
	}
	return add, kept
}

// sameQuestion reports whether two questions of a call show the same and are bound to the same, so that
// a takes the place of b. A question that has become destructive, or refuses text now, is another.
func sameQuestion(a, b *approval.Approval) bool {
	return a.Digest == b.Digest && a.TakesPayload == b.TakesPayload &&
		(a.Terms.Destructive || !b.Terms.Destructive) && (a.Terms.NoText || !b.Terms.NoText)
}
