package task

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	"a2a-server/approval"
	"a2a-server/task/internal/event"
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
		all = append(all, ToolQuestion{ID: id, Ask: a})
	}
	return all, nil
}

// open returns the approval of a question that the call asked before it was resumed, if the
// tool has not received the answer: pending, or decided while the tool ran. It returns nil
// without such a question.
func (f *Fold) open(c *call, ask string) *pendingApproval {
	for _, o := range c.Open {
		if o.Ask != ask {
			continue
		}
		if a := f.approval(o.Approval); a != nil && a.State != approval.Superseded {
			return a
		}
	}
	return nil
}

// reuse finds the questions among asked that the call has already asked with the same content:
// their approvals remain, so that no person is asked twice. It returns these approvals, with
// nil for a new question, and supersedes pending approvals whose question is dropped or
// changed.
func (d *Draft) reuse(c *call, asks []ToolQuestion, asked []*approval.Approval) ([]*pendingApproval, error) {
	kept := make([]*pendingApproval, len(asks))
	stays := map[string]bool{}
	for i, q := range asks {
		if a := d.f.open(c, q.ID); a != nil && sameQuestion(&a.Approval, asked[i]) {
			kept[i], stays[a.ID] = a, true
		}
	}
	for _, o := range c.Open {
		if a := d.f.approval(o.Approval); a != nil && a.State == approval.Pending && !stays[a.ID] {
			if err := d.supersede(a, "the tool does not ask this any longer"); err != nil {
				return nil, err
			}
		}
	}
	return kept, nil
}

// sameQuestion reports whether two approvals show the same and are bound to the same.
func sameQuestion(a, b *approval.Approval) bool {
	x, errX := shown(a)
	y, errY := shown(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// shown returns the content that identifies a question, decoded: it is the same before and after
// a round trip through the log, and whatever the order of members.
func shown(a *approval.Approval) (v any, err error) {
	raw, err := json.Marshal([]any{a.Kind, a.AskKind, a.Hint, a.Args, a.Payload, a.Schema, a.Definition, a.Digest, a.TakesPayload})
	if err != nil {
		return nil, err
	}
	decode := json.NewDecoder(bytes.NewReader(raw))
	decode.UseNumber()
	err = decode.Decode(&v)
	return v, err
}

// resumed folds that a call is entered with the answers so far. Pending approvals remain open.
func (f *Fold) resumed(c *call) {
	c.Fresh, c.Open = 0, nil
	for _, ask := range c.Asks {
		if a := f.approval(ask.Approval); a != nil && a.State == approval.Pending {
			c.Open = append(c.Open, ask)
			continue
		}
		c.Answered = append(c.Answered, ask)
		c.Fresh++
	}
	c.Asks = nil
}

// suspended folds that a call is suspended with asks. A question that was answered while
// the tool ran, and that it does not ask now, counts as answered before: if the tool asks
// for the same confirmation later, it has it.
func (f *Fold) suspended(c *call, asks []event.SuspendedAsk) {
	again := map[string]bool{}
	for _, ask := range asks {
		again[ask.Approval] = true
	}
	for _, ask := range c.Open {
		if a := f.approval(ask.Approval); a != nil && a.State != approval.Pending && a.State != approval.Superseded && !again[ask.Approval] {
			c.Answered = append(c.Answered, ask)
		}
	}
	c.Asks, c.Open = asks, nil
}

// undecided reports whether a call has a pending confirmation: an earlier decision does not
// answer it.
func (f *Fold) undecided(c *call) bool {
	return slices.ContainsFunc(slices.Concat(c.Asks, c.Open), func(ask event.SuspendedAsk) bool {
		a := f.approval(ask.Approval)
		return a != nil && a.State == approval.Pending && a.AskKind == string(tool.AskConfirm)
	})
}

// waitsMeanwhile reports whether the task waits for input although it has a turn: each of its
// running calls is held, or was woken by its timer while the task waited and one of its
// questions is still open. A tool that checks its work from time to time does not change the
// task's state each time.
func (f *Fold) waitsMeanwhile() bool {
	n := 0
	for id := range f.Running() {
		n++
		c := f.call(id)
		if c.Held == "" && (!f.saysItWaits() || !slices.ContainsFunc(c.Open, func(o event.SuspendedAsk) bool {
			a := f.approval(o.Approval)
			return a != nil && a.State == approval.Pending
		})) {
			return false
		}
	}
	return n > 0
}

// saysItWaits reports whether the task's state is input-required or auth-required.
func (f *Fold) saysItWaits() bool {
	return f.Header.State == StateInputRequired || f.Header.State == StateAuthRequired
}
