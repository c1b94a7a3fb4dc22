package dialect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// shown is an approval with its JSON decoded once, strictly, so that all dialects show the
// value that is hashed, validated and run.
type shown struct {
	*approval.Approval
	hint            string // never empty, with invisible characters escaped
	args            map[string]any
	payload, schema any // nil when there is none

	// options are the decisions that the requester may make as the A2A client, with grants if an approve
	// may make one.
	options []approval.DecisionType
	grants  bool
	equal   []string // ids of other approvals of the question that ask the same, at most maxEqual
}

func show(a *approval.Approval) (*shown, error) {
	s := &shown{Approval: a, hint: visible.Text(a.Question()), args: map[string]any{}}
	if s.hint == "" {
		s.hint = defaultHint(a)
	}
	if len(a.Args) > 0 {
		args, err := strictjson.DecodeObject(a.Args)
		if err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
		s.args = args
	}
	var err error
	if s.payload, err = decode(a.Payload); err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	if s.schema, err = decode(a.Schema); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return s, nil
}

func defaultHint(a *approval.Approval) string {
	name := visible.Line(a.Tool)
	switch {
	case a.Kind == approval.KindQuestion:
		return name + " needs an answer."
	case a.Ask != "":
		return "The outcome of what " + name + " runs elsewhere is unknown. Approve to run it again, reject to give up."
	}
	return "This call of " + name + " was started, and its outcome is unknown. Approve to run it again, reject to give up."
}

// about returns the tool's description of itself, a line for each kind of claim. It omits the
// hint that the call is destructive if the terms say so in a line of their own.
func (s *shown) about() []string {
	if s.About == nil {
		return nil
	}
	declared := slices.DeleteFunc(slices.Clone(s.About.Declared), func(word string) bool {
		return word == "destructive" && s.Terms.Destructive
	})
	var lines []string
	for _, one := range []struct{ label, value string }{
		{"Description given by the tool", s.About.Description},
		{"Declared", strings.Join(declared, ", ")},
		{"Claimed, not verified", strings.Join(s.About.Claimed, ", ")},
	} {
		if one.value != "" {
			lines = append(lines, one.label+": "+visible.Line(one.value))
		}
	}
	return lines
}

// fullHint returns the hint with the tool's description of itself, for dialects with a single
// text for both.
func (s *shown) fullHint() string { return strings.Join(append([]string{s.hint}, s.about()...), "\n") }

// callID returns the id by which clients know the call.
func (s *shown) callID() string { return cmp.Or(s.Alias, s.Call) }

// confirmable reports whether the A2A client may answer a with yes or no.
func confirmable(a *approval.Approval) bool {
	return a.Kind != approval.KindQuestion && !a.Away()
}

// decode decodes strictly. No bytes at all are null.
func decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return strictjson.Decode(raw)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
