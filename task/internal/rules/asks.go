package rules

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
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

// reuse finds the questions among asked that the call has already asked with the same content:
// their approvals remain, so that no person is asked twice. It returns these approvals, with
// nil for a new question, and supersedes pending approvals whose question is dropped or
// changed.
func (d *Draft) reuse(c *fold.Call, asks []ToolQuestion, asked []*approval.Approval) ([]*fold.Approval, error) {
	kept := make([]*fold.Approval, len(asks))
	stays := map[string]bool{}
	for i, q := range asks {
		if a := d.f.Open(c, q.ID); a != nil && sameQuestion(&a.Approval, asked[i]) {
			kept[i], stays[a.ID] = a, true
		}
	}
	for _, o := range c.Open {
		if a := d.f.Approval(o.Approval); a != nil && a.State == approval.Pending && !stays[a.ID] {
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
